"""The real workflow files, run by act, artifacts passing between jobs (contract section 7).

Everything between the event and the comment is the real thing but GitHub itself: the REST interface is the
fake of `tests/githubfake.py`, which serves the artifacts that act's own server stores.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.acting import action_alone, repository
from tests.githubfake import FakeGitHub
from tests.judgeserver import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.acting import Repository

pytestmark = pytest.mark.timeout(300)
CALLER = """\
name: check
on: [push, pull_request]
jobs:
  check:
    uses: ./.github/workflows/release-check.yml
"""
ANSWER = "import json, sys; print(json.dumps(json.load(sys.stdin)['input']))"
KILLED = """\
import json, os, signal, sys
case = json.load(sys.stdin)
if case["id"] == "c2":
    os.kill(os.getppid(), signal.SIGKILL)
print(json.dumps(case["input"]))
"""


def config(*, shards: int, least: float = 0.5, python: str = "answer.py") -> str:
    """A suite whose target repeats its input."""
    return f"""\
version: 1
suite: demo
cases: [{{path: cases.jsonl}}]
shards: {shards}
target: {{id: t, type: command, run: [python3, {python}], format: json, concurrency: 1}}
judges: [{{id: exact, type: exact}}]
gates: [{{id: all, metric: exact, min: {least}}}]
baseline: {{path: baseline, on_missing: refuse}}
"""


def cases(expected: int, total: int = 6) -> str:
    """So many cases, of which `expected` can be answered."""
    return "".join(
        json.dumps({"id": f"c{n}", "input": str(n), "expected": str(n) if n < expected else "?"})
        + "\n"
        for n in range(total)
    )


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    artifacts = tmp_path / "artifacts"
    with FakeGitHub("octo/app", act_folder=artifacts) as github:
        made = repository(tmp_path / "repo", github, artifacts, action_alone(tmp_path / "action"))
        made.write(".github/workflows/check.yml", CALLER)
        made.write("answer.py", ANSWER)
        yield made


def pull_request(repo: Repository, base: str, head: str) -> dict[str, Any]:
    """The event of a pull request within the repository."""
    there = repo.github.repository
    name = {"full_name": there.name, "id": there.id, "fork": False, "default_branch": "main"}
    there.refs["heads/topic"] = head
    number = there.add_pull(7, head, base, head_ref="topic").number
    return {
        "action": "synchronize",
        "number": number,
        "repository": name,
        "pull_request": {
            "number": number,
            "draft": False,
            "base": {"sha": base, "ref": "main", "repo": name},
            "head": {"sha": head, "ref": "topic", "repo": name},
        },
    }


def finish_alone(plan: str) -> str:
    """A workflow of one job that decides on an earlier one's plan."""
    return f"""\
name: again
on: [push]
jobs:
  finish:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1
      - uses: releasecheck/releasecheck@v1
        with: {{stage: finish, plan-artifact: {plan}, plan-result: success}}
"""


def test_workflow__pull_request_that_weakens_its_own_gate(repo: Repository) -> None:
    """Plan, two shards, finish and publish; the base commit's gate decides and the comment says so (G-27).

    The change makes half of the answers wrong and lowers the gate that would have caught it.
    """
    repo.write("releasecheck.yaml", config(shards=2, least=0.9))
    repo.write("cases.jsonl", cases(6))
    base = repo.commit("base")
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("releasecheck.yaml", config(shards=2, least=0.1))
    repo.write("cases.jsonl", cases(3))
    head = repo.commit("weaker")
    done = repo.act("pull_request", pull_request(repo, base, head))
    assert done.code != 0
    plan12 = next(name for name in done.names() if "-plan-" in name).split("-")[-2]
    assert done.names() == [
        f"releasecheck-plan-demo-{plan12}-a1",
        f"releasecheck-published-demo-{plan12}-a1",
        f"releasecheck-scorecard-demo-{plan12}-a1",
        f"releasecheck-scorecard-demo-{plan12}-a1.html",
        f"releasecheck-shard-demo-{plan12}-0-a1",
        f"releasecheck-shard-demo-{plan12}-1-a1",
    ]
    # act gives its steps a terminal, where words have colours.
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.job("finish"))
    assert re.search(r"block +all +mean >= 0\.9", said)
    assert "exit status 1" in done.job("finish")
    (comment,) = repo.github.repository.comments
    assert "does not apply" in comment.body
    assert "all" in comment.body


@pytest.mark.soak
def test_workflow__one_shard_that_passes_and_finish_alone_again(repo: Repository) -> None:
    """One artifact of a kind, then the finish job by itself decides the same (traps 2, 3; C-16)."""
    repo.write("releasecheck.yaml", config(shards=1))
    repo.write("cases.jsonl", cases(6))
    repo.commit("base")
    done = repo.act()
    assert done.code == 0, done.log[-3000:]
    plan = next(name for name in done.names() if "-plan-" in name)
    repo.write(".github/workflows/again.yml", finish_alone(plan))
    repo.environment["GITHUB_RUN_ATTEMPT"] = "2"
    again = repo.act(workflow=".github/workflows/again.yml")
    assert again.code == 0, again.log[-3000:]
    assert "pass: every gate held" in again.log


@pytest.mark.soak
def test_workflow__killed_shard_and_one_that_never_uploads(repo: Repository) -> None:
    """What was recorded before the kill counts, what is lost is named, and nothing passes (traps 1, 9)."""
    repo.write("answer.py", KILLED)
    repo.write("releasecheck.yaml", config(shards=2))
    repo.write("cases.jsonl", cases(6))
    repo.commit("base")
    repo.environment["TEST_LOSE"] = "-1-a1"
    done = repo.act()
    assert done.code != 0
    finish = done.job("finish")
    assert "exit status 2" in finish, finish
    assert "no score from judge:exact for" in finish
    assert not any("-1-a1" in name and "shard" in name for name in done.names())
    assert any("-0-a1" in name and "shard" in name for name in done.names())


@pytest.mark.soak
def test_workflow__judge_that_answers_after_the_shards(repo: Repository) -> None:
    """S1-02, S1-10, C-13: finish waits and passes; one that may not ends with 5, and finish alone completes it."""
    repo.write("cases.jsonl", cases(6))
    with JudgeServer(after=3) as judge:  # asked by the shard, by finish, and once more
        deferring = config(shards=1).replace(
            "{id: exact, type: exact}", "{id: late, type: http, url: URL}"
        )
        deferring = deferring.replace("URL", judge.url).replace("metric: exact", "metric: late")
        repo.write("releasecheck.yaml", deferring + "settle: {interval: 1s, deadline: 10m}\n")
        repo.commit("base")
        done = repo.act()
        assert done.code == 0, done.log[-3000:]
        assert "waiting for scores: 6 of judge late until" in done.job("finish")
        assert "pass: every gate held" in done.job("finish")
        judge.after, known = None, done.names()
        repo.write("cases.jsonl", cases(5))
        repo.write(".github/workflows/check.yml", f"{CALLER}    with: {{wait: false}}\n")
        repo.commit("another plan, which nobody waits for")
        left = repo.act()
        assert left.code != 0
        finish = left.job("finish")
        assert "exit status 5" in finish, finish
        assert "late still owes 6" in finish
        assert "Waiting for scores" in left.job("publish")
        judge.after, judged = 1, len(judge.asked)
        (plan,) = [n for n in left.names() if "-plan-" in n and n not in known]
        repo.write(".github/workflows/again.yml", finish_alone(plan))
        repo.environment["GITHUB_RUN_ATTEMPT"] = "2"
        again = repo.act(workflow=".github/workflows/again.yml")
        assert again.code == 0, again.log[-3000:]
        assert "pass: every gate held" in again.log
        assert len(judge.asked) == judged
