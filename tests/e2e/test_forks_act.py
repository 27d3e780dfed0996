"""Both workflows for pull requests from forks under act, from the files that `init --github` writes (P-11)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.acting import action_alone, repository
from tests.e2e.faulty import cli
from tests.githubfake import FakeGitHub

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.timeout(300), pytest.mark.soak]
RECORDED, JUDGED = 1, 2
"""Numbers of the two workflow runs."""
SUITE = """\
version: 1
suite: demo
cases: [{path: cases.jsonl}]
expect_cases: 2
target: {id: t, type: command, run: [python3, answer.py], format: json, concurrency: 1}
judges: [{id: exact, type: exact}]
gates: [{id: all, metric: exact, min: 1}]
"""
ANSWER = "import json, sys; print(json.dumps(json.load(sys.stdin)['input']))"


def test_pair__under_act(tmp_path: Path) -> None:
    """A fork mends a program of ours; part 1 records what it answers, part 2 judges that and nothing else.

    What is on main cannot answer at all, so a part 2 that ran the target would end red.
    """
    artifacts = tmp_path / "artifacts"
    with FakeGitHub("octo/app", act_folder=artifacts) as github:
        repo = repository(tmp_path / "repo", github, artifacts, action_alone(tmp_path / "action"))
        workflows = repo.folder / ".github/workflows"
        (workflows / "release-check.yml").unlink()
        done = cli("init", repo.folder, "--github", cwd=tmp_path)
        assert done.code == 0, done
        for name in ("record", "judge"):
            (workflows / f"releasecheck-{name}.yml.example").rename(workflows / f"{name}.yml")
        repo.write("releasecheck.yaml", SUITE)
        rows = [{"id": f"c{n}", "input": f"{n}", "expected": f"{n}"} for n in range(2)]
        repo.write("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        repo.write("answer.py", "raise SystemExit('the program of main was run')")
        base = repo.commit("base")
        repo.git("checkout", "-q", "-b", "topic")
        repo.write("answer.py", ANSWER)
        head = repo.commit("mended")
        fork, home = github.add_repository("stranger/app"), github.repository
        home.add_pull(7, head, base, head_ref="topic", head_repository=fork.name)
        ours = {"full_name": home.name, "id": home.id, "default_branch": "main"}
        theirs = {"full_name": fork.name, "id": fork.id}
        for number in (RECORDED, JUDGED):
            home.add_run(id=number, event="pull_request", head_sha=head)

        github.read_only = True
        repo.environment["GITHUB_RUN_ID"] = str(RECORDED)
        recorded = repo.act(
            "pull_request",
            {
                "action": "opened", "number": 7, "repository": ours,
                "pull_request": {
                    "number": 7, "base": {"sha": base, "ref": "main", "repo": ours},
                    "head": {"sha": head, "ref": "topic", "repo": theirs},
                },
            },
            workflow=".github/workflows/record.yml",
        )  # fmt: skip
        assert recorded.code == 0, recorded.log
        github.read_only = False

        repo.git("checkout", "-q", "main")
        repo.environment["GITHUB_RUN_ID"] = str(JUDGED)
        judged = repo.act(
            "workflow_run",
            {
                "action": "completed", "repository": ours,
                "workflow_run": {
                    "id": RECORDED, "run_attempt": 1, "event": "pull_request", "conclusion": "success",
                    "head_sha": head, "head_branch": "topic", "head_repository": theirs,
                    "pull_requests": [], "path": ".github/workflows/record.yml",
                },
            },
            workflow=".github/workflows/judge.yml",
        )  # fmt: skip
        assert judged.code == 0, judged.log
        said = [(one["sha"], one["context"], one["state"]) for one in home.statuses]
        assert said == [
            (head, "releasecheck/demo", "pending"), (head, "releasecheck/demo", "success"),
        ]  # fmt: skip
        (comment,) = home.comments
        assert comment.issue == 7
        kinds = {
            (path.parent.parent.name, path.stem.split("-")[1])
            for path in artifacts.glob("*/*/*.zip")
        }
        assert kinds == {
            ("1", "plan"), ("1", "shard"),
            ("2", "plan"), ("2", "shard"), ("2", "scorecard"), ("2", "published"),
        }  # fmt: skip
