"""Pull requests from forks: recorded without trust, judged without running anything of theirs (P-11, G-26, G-27).

Trap 28. Both workflows are the starters that `init --github` writes.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import stat
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forks import Fork, starter
from tests.e2e.site import PLAN, SHARD, card, unpacked
from tests.githubfake import zipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.forks import Played
    from tests.e2e.site import Site
    from tests.githubfake import Stored


@pytest.fixture
def fork(site: Site) -> Fork:
    """Against a main whose rules are strict."""
    site.change(expect_cases=4)
    return Fork(site)


def test_pair__a_good_change_turns_the_status_green(fork: Fork) -> None:
    """Recorded with a token that cannot write; judged with ours; the target is asked once only."""
    recorded = fork.record()
    assert recorded.results == {"plan": "success", "shard": "success"}, recorded.log
    assert sorted(fork.site.asked().values()) == [1, 1, 1, 1]
    assert fork.statuses() == []
    done = fork.judge(recorded.play.run)
    assert done.results == {
        "plan": "success", "shard": "success", "finish": "success", "publish": "success",
    }, done.log  # fmt: skip
    assert fork.site.asked() == {}
    states = fork.statuses()
    assert [state for state, _ in states] == ["pending", "success"]
    made = card(done.play)
    assert made["adopted"]["run_id"].endswith(str(recorded.play.run.id))
    assert made["policy"]["mode"] == "own"
    (comment,) = fork.site.github.repository.comments
    assert comment.issue == 7
    (row,) = [one for one in fork.site.github.repository.statuses if one["state"] == "success"]
    assert f"/actions/runs/{done.play.run.id}/" in row["target_url"]


def test_pair__a_change_cannot_weaken_its_own_gate(fork: Fork) -> None:
    """It lowers the gate and gives wrong answers: the rules of main block it (G-27)."""
    fork.site.answers.wrong |= {f"q{n}" for n in range(4)}
    fork.change(gates=[{"id": "quality", "metric": "exact", "min": 0}])
    recorded = fork.record()
    assert recorded.results["shard"] == "success", recorded.log
    done = fork.judge(recorded.play.run)
    assert card(done.play)["verdict"] == "block"
    assert [state for state, _ in fork.statuses()] == ["pending", "failure"]
    assert done.results["finish"] == "failure"
    assert done.results["publish"] == "success"


def test_pair__dropping_cases_is_no_way_to_pass(fork: Fork) -> None:
    fork.change(2, expect_cases=2)
    done = fork.judge(fork.record().play.run)
    assert "expect_cases pins 4 cases, and the adopted plan holds 2" in done.log
    assert [state for state, _ in fork.statuses()] == ["pending", "error"]


def test_pair__part_of_the_suite_is_no_way_to_pass(fork: Fork) -> None:
    """The stranger's workflow records one easy case, as a preview does."""
    fork.change()
    recorded = fork.record()
    (plan,) = found(recorded, PLAN)
    body = json.loads(unpacked(plan)["plan.json"])
    assert body["mode"] == "full"
    change_plan(recorded, lambda found: found.update(mode="preview"))
    done = fork.judge(recorded.play.run)
    assert [state for state, _ in fork.statuses()][-1] == "error", done.log


def test_pair__a_recording_that_failed_is_an_error(fork: Fork) -> None:
    """Nothing was uploaded: the status says so, and nothing is green (trap 10)."""
    fork.change()
    run = fork.site.github.repository.add_run(
        event="pull_request", head_sha=fork.head, head_repository="stranger/app",
        conclusion="failure",
    )  # fmt: skip
    done = fork.judge(run)
    assert done.results["plan"] == done.results["finish"] == "failure"
    assert done.results["shard"] == "skipped"
    assert [state for state, _ in fork.statuses()] == ["pending", "error"]
    assert "has no artifact with a plan" in done.log


def test_pair__a_lost_shard_is_an_error(fork: Fork) -> None:
    """Trap 1: what a stranger left out is missing, and the target is not called to fill it in."""
    fork.change()
    recorded = fork.record()
    run = recorded.play.run
    run.artifacts.remove(found(recorded, SHARD)[1])
    fork.site.asked()
    done = fork.judge(run)
    assert card(done.play)["verdict"] == "blocked_missing"
    assert [state for state, _ in fork.statuses()] == ["pending", "error"]
    assert fork.site.asked() == {}


def test_pair__without_permission_to_say_pending_nothing_is_judged(fork: Fork) -> None:
    """A green status of an earlier run would stand for this one."""
    recorded = fork.record()
    fork.site.github.fail_next("POST", "/statuses/", 403)
    done = fork.judge(recorded.play.run)
    assert done.results["plan"] == "failure"
    assert "statuses: write" in done.log
    assert [state for state, _ in fork.statuses()] == ["error"]


def test_publish__everything_before_it_was_lost(fork: Fork) -> None:
    """No output of any job arrived: the suite's name is that of the default branch's config."""
    done = fork.judge(fork.record().play.run)
    given = {"stage": "publish", "status": "true", "adopt-run": "1"}
    ran = done.play.act("publish", given, done.play.folder / "again")
    assert ran.result == "failure"
    assert fork.statuses()[-1][0] == "error"


def test_pair__other_events_are_nobody_s_status(fork: Fork) -> None:
    fork.change()
    done = fork.judge(fork.record().play.run, event="push")
    assert set(done.results.values()) == {"skipped"}
    assert fork.statuses() == []


def found(played: Played, start: str) -> list[Stored]:
    """Artifacts that a run left, by name."""
    return sorted(
        (one for one in played.play.run.artifacts if one.name.startswith(start)),
        key=lambda one: one.name,
    )


def put(one: Stored, data: bytes) -> None:
    """What a stranger uploads instead; its digest is of what it uploads."""
    one.data, one.digest = data, "sha256:" + hashlib.sha256(data).hexdigest()


def change_plan(played: Played, change: Callable[[dict[str, Any]], object]) -> None:
    """Write into the recorded plan."""
    (one,) = found(played, PLAN)
    files = unpacked(one)
    plan = json.loads(files["plan.json"])
    change(plan)
    put(one, zipped({**files, "plan.json": json.dumps(plan)}))


def change_lines(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Played], None]:
    """Change the records of the first shard; its end, which holds counts and digest, may be left out."""

    def spoil(played: Played) -> None:
        one = found(played, SHARD)[0]
        ((name, data),) = [
            (name, data) for name, data in unpacked(one).items() if name.endswith(".jsonl")
        ]
        lines = [json.loads(line) for line in data.splitlines()]
        lines = [line for line in lines if line["record"] != "end"]
        change(lines)
        put(one, zipped({name: "".join(json.dumps(line) + "\n" for line in lines)}))

    return spoil


def score_of(output: dict[str, Any], case: str) -> dict[str, Any]:
    """A score of the stranger's own."""
    return {
        "record": "score", "case": case, "trial": 0, "judge": "exact",
        "output_digest": output["output_digest"], "state": "scored", "value": 1.0, "reason": None,
        "failure": None, "ticket": None, "usage": {"tokens": None, "cost_usd": None}, "revision": 1,
        "at": output["at"],
    }  # fmt: skip


def forged(lines: list[dict[str, Any]]) -> None:
    """For a pair that was never planned."""
    lines.append(score_of(next(one for one in lines if one["record"] == "output"), "nobody-s"))


def forged_planned(lines: list[dict[str, Any]]) -> None:
    """Full marks for every answer."""
    lines += [score_of(one, one["case"]) for one in lines if one["record"] == "output"]


def extra(lines: list[dict[str, Any]]) -> None:
    """A case that was not planned."""
    output = next(line for line in lines if line.get("record") == "output")
    lines.insert(2, {**output, "case": "one-more"})


def foreign(lines: list[dict[str, Any]]) -> None:
    lines[0]["plan_digest"] = "sha256:" + "f" * 64


def zip_with(name: str, mode: int = 0o644) -> Callable[[Played], None]:
    """One more entry in the first shard's archive."""

    def spoil(played: Played) -> None:
        one = found(played, SHARD)[0]
        buffer = io.BytesIO(one.data)
        with zipfile.ZipFile(buffer, "a") as archive:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | mode if mode < 0o10000 else mode) << 16
            archive.writestr(entry, "/etc/passwd")
        put(one, buffer.getvalue())

    return spoil


def bomb(played: Played) -> None:
    one = found(played, SHARD)[0]
    put(one, zipped({"shard-0000.attempt-1.jsonl": b"0" * 200_000_000}))


def plan_file(name: str) -> Callable[[Played], None]:
    return lambda played: change_plan(played, lambda plan: plan["shards"][0].update(file=name))


def second_plan(played: Played) -> None:
    (one,) = found(played, PLAN)
    other = one.name.replace(one.name.split("-")[-2], "0" * 12)
    played.play.run.add_artifact(other, unpacked(one))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        pytest.param(change_lines(foreign), "f" * 12, id="foreign digest"),
        pytest.param(change_lines(extra), "one-more", id="extra case"),
        pytest.param(change_lines(forged), "score of case 'nobody-s'", id="forged score"),
        pytest.param(zip_with("../../evil.sh"), "evil.sh", id="path"),
        pytest.param(zip_with("link.jsonl", stat.S_IFLNK | 0o777), "link.jsonl", id="link"),
        pytest.param(zip_with("releasecheck.yaml"), "releasecheck.yaml", id="another file"),
        pytest.param(bomb, "shard-0000.attempt-1.jsonl", id="bomb"),
        pytest.param(plan_file("../../../etc/passwd"), "number or file", id="plan names files"),
        pytest.param(second_plan, "several plans", id="two plans"),
    ],
)
def test_pair__a_poisoned_recording_is_refused_by_name(
    fork: Fork, spoil: Callable[[Played], None], says: str
) -> None:
    """G-26: whatever a stranger's job uploads is data that may have been made up."""
    fork.change()
    recorded = fork.record()
    spoil(recorded)
    done = fork.judge(recorded.play.run)
    states = [state for state, _ in fork.statuses()]
    assert states[0] == "pending"
    assert states[-1] == "error", done.log
    assert "success" not in states
    assert says in done.log, done.log
    assert fork.site.asked().keys() <= {f"c{n}#t0" for n in range(4)}


def test_pair__forged_scores_of_planned_pairs_count_for_nothing(fork: Fork) -> None:
    fork.site.answers.wrong |= {f"q{number}" for number in range(4)}
    fork.change()
    recorded = fork.record()
    change_lines(forged_planned)(recorded)
    done = fork.judge(recorded.play.run)
    assert "2 other records were left out" in done.log
    assert card(done.play)["verdict"] == "block"
    assert [state for state, _ in fork.statuses()] == ["pending", "failure"]


def test_judge__runs_nothing_of_the_head() -> None:
    """No script, no ref, no path of the event: checkout of the default branch, and our action."""
    jobs = starter("forks-judge.yml")["jobs"]
    for job in jobs.values():
        for step in job["steps"]:
            assert "run" not in step
            if step["uses"].startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}
        assert job["permissions"].get("contents") == "read"
    filled = re.findall(r"\$\{\{\s*(.*?)\s*\}\}", json.dumps(jobs))
    assert {one for one in filled if "github." in one} == {"github.event.workflow_run.id"}


def test_record__has_no_secret_and_writes_nothing() -> None:
    text = json.dumps(starter("forks-record.yml")["jobs"])
    assert "secrets" not in text
    assert "write" not in text
