"""Judges that answer after their shards have ended: waited for in `finish`, or carried on by a re-run.

Contract sections 5 and 7; S1-04 to S1-06, S1-09 to S1-11, S1-19, S1-25, S1-44, C-13, C-36, G-02, G-03, G-12, G-13.
"""

from __future__ import annotations

import io
import json
import signal
import time
import zipfile
from datetime import timedelta
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from releasecheck.drivers.github.beat import BeatOptions, Where, sweep
from releasecheck.drivers.github.rest import GitHubClient
from releasecheck.scorecard.numbers import moment
from releasecheck.settle import moment_of, text_of
from tests.e2e.forge import rewrite_ledger
from tests.e2e.forks import Fork
from tests.e2e.site import SCORECARD, SHARD, artifacts, bundle, card, names, unpacked
from tests.fakes import FakeClock
from tests.githubfake import stamp, utc_now
from tests.judgeserver import JudgeServer, by_equality
from tests.staging import JOBS, Fate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from releasecheck.drivers.github.beat import Swept
    from tests.e2e.program import Running
    from tests.e2e.site import Site
    from tests.githubfake import Stored
    from tests.staging import Play, Ran

pytestmark = pytest.mark.timeout(300)
DEADLINE_S: Final = 600.0
FIRST, SECOND = "results/finish.attempt-1.jsonl", "results/finish.attempt-2.jsonl"


@pytest.fixture
def judge(site: Site) -> Iterator[JudgeServer]:
    """A judge that owes every score of the suite, and has none before it is told to."""
    with JudgeServer(after=None) as server:
        deferring(site, server)
        yield server


def deferring(site: Site, server: JudgeServer, interval: str = "1s", deadline: str = "10m") -> str:
    """Let a judge that answers later decide; returns the commit."""
    return site.change(
        judges=[
            {"id": "exact", "type": "exact"},
            {"id": "grounded", "type": "http", "url": server.url},
        ],
        gates=[{"id": "quality", "metric": "grounded", "min": 0.9}],
        settle={"interval": interval, "deadline": deadline},
    )


def records(files: Mapping[str, bytes], name: str, kind: str = "") -> list[dict[str, Any]]:
    """Records of a ledger file; of one kind, where it is named."""
    rows = [json.loads(line) for line in files[name].splitlines()]
    return [row for row in rows if not kind or row["record"] == kind]


def scorecards(play: Play) -> list[Stored]:
    """Bundles that were uploaded, oldest first."""
    return [one for one in artifacts(play, SCORECARD) if not one.name.endswith(".html")]


def put(one: Stored, files: Mapping[str, bytes]) -> None:
    """Exchange what is in an artifact."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    one.data = buffer.getvalue()
    one.digest = "sha256:" + sha256(one.data).hexdigest()


def rewritten(
    data: bytes,
    change: Callable[[dict[str, Any]], object],
    folder: Path,
    name: str = "finish.attempt-1.jsonl",
) -> bytes:
    """A ledger file with other records and digests that match them."""
    path = folder / name
    path.write_bytes(data)
    rewrite_ledger(path, change)
    return path.read_bytes()


def deadlines_at(play: Play, moment: float, folder: Path) -> None:
    """As if the deadlines that the first `finish` fixed were at this moment: time that passed."""
    one = scorecards(play)[-1]
    files = unpacked(one)

    def change(row: dict[str, Any]) -> None:
        if row["record"] == "deadline":
            row["deadline"] = text_of(moment)

    put(one, files | {FIRST: rewritten(files[FIRST], change, folder)})


def hours_pass(play: Play, hours: float, folder: Path) -> None:
    """As if all that is on record had been recorded so much earlier."""

    def change(row: dict[str, Any]) -> None:
        for key in {"at", "deadline"} & row.keys():
            row[key] = text_of(moment_of(row[key]) - 3600 * hours)

    for one in (*artifacts(play, SHARD), *scorecards(play)):
        files = unpacked(one)
        ours = [name for name in files if ".attempt-" in name]
        put(one, files | {n: rewritten(files[n], change, folder, Path(n).name) for n in ours})


def wait_until(done: Callable[[], bool]) -> None:
    """Look now and then; a test that waits for ever is ended by its time-out."""
    while not done():
        time.sleep(0.02)


def waiting_run(site: Site, judge: JudgeServer, **inputs: Any) -> Play:
    """A run whose `finish` asked once and left."""
    play = site.push(**{"wait": False, **inputs})
    ran = play.attempt()
    assert ran["finish"].outputs["exit-code"] == "5", ran["finish"].log
    assert [len(one["output"]) for one in judge.asked] == [2, 2, 2, 2]
    site.asked()
    judge.collected.clear()
    return play


def finished(ran: Mapping[str, Ran]) -> tuple[str, str]:
    """What the job `finish` tells: exit code and verdict."""
    outputs = ran["finish"].outputs
    return outputs["exit-code"], outputs.get("verdict", "")


def test_finish__waits_for_what_a_judge_owes(site: Site, judge: JudgeServer) -> None:
    """S1-02: shards end without the scores, and their cases are no reason to run them again."""
    judge.after = 3  # a shard asks once before it ends, and finish as soon as it begins
    play = site.push()
    ran = play.attempt()
    assert {one.result for one in ran.values()} == {"success"}, ran["finish"].log
    assert finished(ran) == ("0", "pass")
    assert "2 to come from judges that answer later" in ran["shard (0)"].log
    assert "waiting for scores: 4 of judge grounded until" in ran["finish"].log
    assert card(play)["counts"]["scored"] == 8
    assert records(bundle(play), FIRST, "end")[0]["stopped"] is None


def test_no_wait__ends_with_5_and_says_until_when(site: Site, judge: JudgeServer) -> None:
    """S1-10, S1-19, G-03, C-13: red, and by no word measured; every surface says what is still to come and until when."""
    base = site.head
    site.repository.git("checkout", "-q", "-b", "topic-7")
    site.change(batch=5)
    play = site.pull(base, wait=False)
    ran = play.attempt()
    assert finished(ran) == ("5", "")
    assert (ran["finish"].result, ran["publish"].result) == ("failure", "success")
    made, files = card(play), bundle(play)
    assert (made["verdict"], made["exit_code"], made["counts"]["pending"]) == (None, 5, 4)
    (waits,) = made["waiting"]
    (fixed,) = records(files, FIRST, "deadline")
    assert (waits["judge"], waits["pending"]) == ("grounded", 4)
    assert waits["deadline"] == fixed["deadline"]
    assert len(fixed["tickets"]) == 4
    assert records(files, FIRST, "end")[0]["stopped"] == "waiting"
    for text in (ran["publish"].summary, site.comments[0], ran["finish"].log):
        assert moment(waits["deadline"]) in text
        assert "grounded still owes 4" in text
    for text in (ran["publish"].summary, site.comments[0]):
        assert "## … Waiting for scores (small)" in text
        assert "Blocked" not in text
        assert "Passed" not in text
    (said,) = [one for one in ran["publish"].commands if "title=" in one.properties]
    assert (said.name, said.properties) == ("warning", "title=small%3A Waiting for scores")
    assert moment(waits["deadline"]) in said.data
    judge.after = 1
    assert finished(play.rerun("failed")) == ("0", "pass")
    (comment,) = site.comments
    assert "## ✔ Passed (small)" in comment
    assert "Waiting" not in comment


def test_rerun__completes_what_waited(site: Site, judge: JudgeServer) -> None:
    """S1-11, S1-44, C-13: only tickets are asked for; the deadline stays, and nothing is answered or judged again."""
    play = waiting_run(site, judge, **{"badge-branch": "badges"})
    assert (badge(site)["message"][:19], badge(site)["color"]) == (
        "waiting for scores ",
        "lightgrey",
    )
    assert names(play, "releasecheck-baseline-") == []
    before = unpacked(scorecards(play)[0])
    tickets = records(before, FIRST, "deadline")[0]["tickets"]
    judged = len(judge.asked)
    judge.after = 1
    again = play.rerun("failed")
    assert set(again) == {"finish", "publish"}
    assert finished(again) == ("0", "pass"), again["finish"].log
    assert site.asked() == {}
    assert len(judge.asked) == judged
    assert sorted(chain(*judge.collected)) == sorted(tickets)
    after = bundle(play)
    assert after[FIRST] == before[FIRST]
    assert records(after, SECOND, "deadline") == []
    assert len(records(after, SECOND, "score")) == 4
    assert (badge(site)["message"][:5], badge(site)["color"]) == ("pass ", "brightgreen")
    assert len(names(play, "releasecheck-baseline-")) == 1


def badge(site: Site) -> dict[str, Any]:
    """What the badge says now."""
    found: dict[str, Any] = json.loads(site.github.repository.files("badges")["small/badge.json"])
    return found


@pytest.mark.soak
def test_rerun__that_waits_again_keeps_the_first_deadline(site: Site, judge: JudgeServer) -> None:
    """S1-04, G-02: a re-run does not give a judge more time."""
    play = waiting_run(site, judge)
    until = card(play)["waiting"][0]["deadline"]
    assert finished(play.rerun("failed")) == ("5", "")
    assert card(play)["waiting"][0]["deadline"] == until
    judge.after = 1
    assert finished(play.rerun("failed")) == ("0", "pass")


@pytest.mark.soak
def test_time_budget__of_finish_ends_first(site: Site, judge: JudgeServer) -> None:
    """C-10, C-13: finish leaves before GitHub would end its job, and the workflow tells it when."""
    (step,) = [one for one in JOBS["finish"]["steps"] if one.get("id") == "finish"]
    assert step["with"]["time-budget"] == "${{ inputs.time-budget }}"
    play = site.push()
    ran = play.attempt(finish=Fate(given={"time-budget": "2s"}))
    assert finished(ran) == ("5", ""), ran["finish"].log
    assert records(bundle(play), FIRST, "end")[0]["stopped"] == "waiting"
    judge.after = 1
    assert finished(play.rerun("failed")) == ("0", "pass")


@pytest.mark.soak
def test_shard_lost__beside_scores_that_are_owed(site: Site, judge: JudgeServer) -> None:
    """Contract, Exit codes: 5 goes before 2; the re-run runs the shard and asks for both shards' tickets."""
    play = site.push(wait=False)
    ran = play.attempt(shard_1=Fate(never=True))
    assert finished(ran) == ("5", "")
    assert card(play)["counts"]["missing"] == 4
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("0", "pass"), again["finish"].log
    assert site.asked() == {f"c{n}#t0": 1 for n in range(4)}


# When the time is over.


@pytest.mark.soak
def test_deadline__passes_while_finish_waits(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """S1-05, S1-06, S1-09: what did not come is missing by name and number, and never a pass."""
    play = waiting_run(site, judge)
    play.inputs["wait"] = True
    soon = Fate(before={"stage": lambda: deadlines_at(play, utc_now().timestamp() + 6, tmp_path)})
    again = play.rerun("failed", finish=soon)
    assert finished(again) == ("2", "blocked_missing"), again["finish"].log
    assert "no score from judge:grounded for 4 of 4 cases" in again["finish"].log
    made = card(play)
    assert (made["counts"]["missing"], made["counts"]["pending"]) == (4, 0)
    assert {row["reason"] for row in records(bundle(play), SECOND, "score")} == {"deadline"}
    assert "no score from judge:grounded for 4 of 4 cases" in again["publish"].summary


def overdue(site: Site, judge: JudgeServer, tmp_path: Path, minutes: float) -> Play:
    """A run that was left waiting, and came back to this long after its deadline."""
    play = waiting_run(site, judge)
    deadlines_at(play, utc_now().timestamp() - 60 * minutes, tmp_path)
    return play


def test_overdue__one_last_question_after_a_planned_pause(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """C-13, G-02: half an hour late is within the grace of a planned pause, and the score says so."""
    play = overdue(site, judge, tmp_path, 30)
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("0", "pass"), again["finish"].log
    scores = records(bundle(play), SECOND, "score")
    assert len(scores) == 4
    assert all("resumed_after_deadline" in row["notes"] for row in scores)


@pytest.mark.soak
def test_overdue__and_still_nothing(site: Site, judge: JudgeServer, tmp_path: Path) -> None:
    """C-13, G-02: asked once more, then closed; the run is decided, without a verdict."""
    play = overdue(site, judge, tmp_path, 30)
    again = play.rerun("failed")
    assert finished(again) == ("2", "blocked_missing"), again["finish"].log
    assert len(list(chain(*judge.collected))) == 4
    assert {row["reason"] for row in records(bundle(play), SECOND, "score")} == {"interrupted"}
    assert json.loads(bundle(play)["manifest.json"])["finalized_at"]


@pytest.mark.soak
def test_overdue__beyond_every_grace(site: Site, judge: JudgeServer, tmp_path: Path) -> None:
    """C-13, G-02: two hours late nobody is asked any more, whatever is there."""
    play = overdue(site, judge, tmp_path, 120)
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("2", "blocked_missing"), again["finish"].log
    assert judge.collected == []


def test_overdue__a_score_of_after_the_deadline_is_late(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """S1-25, G-13: kept, shown and never counted."""
    play = overdue(site, judge, tmp_path, 30)
    made = text_of(utc_now().timestamp())
    judge.after = 1
    judge.score = lambda asked: {**by_equality(asked), "at": made}
    again = play.rerun("failed")
    assert finished(again) == ("2", "blocked_missing"), again["finish"].log
    assert [row["value"] for row in records(bundle(play), SECOND, "late")] == [1.0] * 4
    assert card(play)["counts"]["missing"] == 4


def test_overdue__a_shard_that_runs_again_does_not_ask(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """S1-25: a shard does not see what `finish` fixed, and takes nothing for tickets that may be over."""
    site.answers.status = {"q1": 503}
    play = site.push(wait=False)
    assert finished(play.attempt()) == ("5", "")
    hours_pass(play, 3, tmp_path)
    site.answers.status, judge.after, judge.collected = {}, 1, []
    again = play.rerun("failed")
    assert "shard (1)" in again
    assert finished(again) == ("2", "blocked_missing"), again["finish"].log
    fresh = judge.ticket_of("c1")
    assert judge.collected == [[fresh]]
    assert card(play)["counts"]["missing"] == 3


# The beat.


def swept(site: Site, later: timedelta) -> Swept:
    """One sweep, at a later time."""
    clock = FakeClock(utc_now() + later)
    where = Where(repository=site.github.repository.name, server_url=site.github.server_url)
    with GitHubClient(
        site.github.api_url, site.github.token, clock=clock, sleep=clock.advance
    ) as client:
        return sweep(client, where, BeatOptions(), clock)


def kinds(found: Swept) -> list[str]:
    """What was made of each run."""
    return [one.kind for one in found.findings]


def test_beat__leaves_it_alone_until_it_is_due(site: Site, judge: JudgeServer) -> None:
    """C-36, trap 29: hours of waiting count no attempt; the run turns green where it was red.

    The next question lies beyond the time of a job, so that finish leaves at once though it may wait.
    """
    deferring(site, judge, interval="2h", deadline="4h")
    play = site.push()
    assert finished(play.attempt()) == ("5", "")
    assert kinds(swept(site, timedelta(minutes=30))) == ["waiting"]
    assert play.run.attempt == 1
    for attempt in (2, 3, 4):  # as many as it tries where nothing comes of it
        assert kinds(swept(site, timedelta(hours=2, minutes=1))) == ["rerun"]
        assert play.run.attempt == attempt
        assert finished(play.rerun_began("failed")) == ("5", "")
        assert kinds(swept(site, timedelta(minutes=30))) == ["waiting"]
    judge.after = 1
    assert kinds(swept(site, timedelta(hours=2, minutes=1))) == ["rerun"]
    ran = play.rerun_began("failed")
    assert finished(ran) == ("0", "pass"), ran["finish"].log
    assert play.run.conclusion == "success"
    assert kinds(swept(site, timedelta(hours=3))) == []
    assert site.asked() == {f"c{n}#t0": 1 for n in range(4)}


# Ends that nobody planned.


def test_killed_while_it_waits__what_is_there_is_uploaded(site: Site, judge: JudgeServer) -> None:
    """C-13, G-02: the finish file has no end, and its deadline holds all the same."""
    play = site.push()
    ran = play.attempt(finish=Fate(meanwhile=while_it_waits(judge, signal.SIGKILL)))
    assert finished(ran) == ("4", ""), ran["finish"].log
    assert "No verdict: this run decided nothing" in ran["publish"].summary
    files = bundle(play)
    (fixed,) = records(files, FIRST, "deadline")
    assert records(files, FIRST, "end") == []
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("0", "pass"), again["finish"].log
    assert records(bundle(play), SECOND, "deadline") == []
    assert records(bundle(play), FIRST, "deadline") == [fixed]


@pytest.mark.soak
def test_machine_lost_while_it_waits__begins_anew(site: Site, judge: JudgeServer) -> None:
    """C-13, G-02: nothing was uploaded; the shards' records are enough to go on."""
    play = site.push()
    lost = Fate(meanwhile=while_it_waits(judge, signal.SIGKILL), lost=True)
    ran = play.attempt(finish=lost)
    assert ran["finish"].result == "failure"
    assert scorecards(play) == []
    judge.after = 1
    assert finished(play.rerun("failed")) == ("0", "pass")
    assert site.asked() == {f"c{n}#t0": 1 for n in range(4)}


def test_cancelled_while_it_waits__keeps_what_there_is(site: Site, judge: JudgeServer) -> None:
    """C-12, P-10: the wait is broken off at once, the bundle is uploaded, and nothing is published."""
    play = site.push()
    cancelled = Fate(meanwhile=while_it_waits(judge, None), cancel=True)
    ran = play.attempt(finish=cancelled)
    assert ran["finish"].outputs["exit-code"] == "130", ran["finish"].log
    assert ran["publish"].result == "cancelled"
    assert card(play)["exit_code"] == 5
    assert records(bundle(play), FIRST, "end")[0]["stopped"] == "interrupted"
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("0", "pass"), again["finish"].log
    assert {one.result for one in again.values()} == {"success"}


def while_it_waits(judge: JudgeServer, number: signal.Signals | None) -> Callable[[Running], None]:
    """Signal `finish` once it has asked twice; a shard asks once."""
    asked = 4  # two shards, once each, and finish

    def meanwhile(running: Running) -> None:
        wait_until(lambda: len(judge.collected) >= asked)
        if number is not None:
            running.signal(number)

    return meanwhile


# Files that no `finish` wrote.


def forged_score(row: dict[str, Any], **given: Any) -> bytes:
    """A full mark, as a line of a finish file."""
    score = {
        "record": "score", "case": row["case"], "trial": 0, "judge": "grounded",
        "output_digest": row["output_digest"], "state": "scored", "value": 1.0, "reason": None,
        "failure": None, "ticket": row["ticket"],
        "usage": {"tokens": None, "cost_usd": None}, "revision": 1, "at": row["at"],
    }  # fmt: skip
    return json.dumps(score | given).encode() + b"\n"


def owed_rows(play: Play) -> list[dict[str, Any]]:
    """Every pending score that a shard recorded."""
    found = []
    for one in artifacts(play, SHARD):
        for name, data in unpacked(one).items():
            rows = records({name: data}, name, "score")
            found += [row for row in rows if row["state"] == "pending"]
    assert len(found) == 4
    return found


def never_deferred(play: Play) -> bytes:
    return b"".join(forged_score(row, judge="exact", ticket=None) for row in owed_rows(play))


def never_given(play: Play) -> bytes:
    return b"".join(forged_score(row, ticket="t-invented") for row in owed_rows(play))


def of_another_output(play: Play) -> bytes:
    other = "sha256:" + "e" * 64
    return b"".join(forged_score(row, output_digest=other) for row in owed_rows(play))


def without_ticket(play: Play) -> bytes:
    return b"".join(forged_score(row, ticket=None) for row in owed_rows(play))


def outputs(play: Play) -> bytes:
    (data,) = unpacked(artifacts(play, SHARD)[0]).values()
    lines = [line for line in data.splitlines() if json.loads(line)["record"] == "output"]
    return b"\n".join(lines) + b"\n"


@pytest.mark.parametrize(
    "more",
    [
        never_given,
        *(
            pytest.param(one, marks=pytest.mark.soak)
            for one in (never_deferred, of_another_output, without_ticket, outputs)
        ),
    ],
)
def test_forged_finish_file__answers_nothing_and_is_not_read(
    site: Site, judge: JudgeServer, tmp_path: Path, more: Callable[[Play], bytes]
) -> None:
    """G-26: what travels as an artifact may close what a shard left open, and nothing else."""
    play = waiting_run(site, judge)
    one = scorecards(play)[0]
    files = unpacked(one)
    head, _, rest = files[FIRST].partition(b"\n")
    put(one, files | {FIRST: rewritten(head + b"\n" + more(play) + rest, lambda _: None, tmp_path)})
    again = play.rerun("failed")
    assert finished(again) == ("5", ""), again["finish"].log
    assert f"{one.name} is not read" in again["finish"].log
    assert "finish.attempt-1.jsonl" in again["finish"].log
    assert card(play)["counts"]["pending"] == 4


@pytest.mark.soak
@pytest.mark.parametrize(
    ("minutes", "why"), [(-5, "was there at"), (5, "was not there before")], ids=["early", "late"]
)
def test_forged_finish_file__when_no_finish_ran(
    site: Site, judge: JudgeServer, tmp_path: Path, minutes: int, why: str
) -> None:
    """G-26: right answers to tickets that were given, uploaded by a shard's job.

    They are there before that shard's own artifact, or after the next attempt has begun.
    """
    play = waiting_run(site, judge)
    one = scorecards(play)[0]
    files = unpacked(one)
    head, _, rest = files[FIRST].partition(b"\n")
    answers = b"".join(forged_score(row) for row in owed_rows(play))
    put(one, files | {FIRST: rewritten(head + b"\n" + answers + rest, lambda _: None, tmp_path)})
    one.created_at = stamp(utc_now() + timedelta(minutes=minutes))
    again = play.rerun("failed")
    assert finished(again) == ("5", ""), again["finish"].log
    assert f"{one.name} is not read: it {why} {one.created_at}" in again["finish"].log
    assert card(play)["counts"]["pending"] == 4


@pytest.mark.soak
def test_forged_finish_file__of_an_attempt_to_come(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """Trap 6, G-26: an artifact of the first attempt holds no file of the second one."""
    play = waiting_run(site, judge)
    one = scorecards(play)[0]
    files = unpacked(one)
    later = rewritten(
        files[FIRST], lambda row: row.update(attempt=2) if "attempt" in row else None, tmp_path
    )
    put(one, files | {SECOND: later})
    again = play.rerun("failed")
    assert finished(again) == ("5", ""), again["finish"].log
    assert f"{one.name} is not read: it holds finish.attempt-2.jsonl" in again["finish"].log


@pytest.mark.soak
def test_forged_finish_file__two_of_one_attempt(
    site: Site, judge: JudgeServer, tmp_path: Path
) -> None:
    """C-18: one name and other bytes cannot both be true; nobody chooses between them."""
    play = waiting_run(site, judge)
    one = scorecards(play)[0]
    play.run.add_artifact(f"{one.name}-u2", one.data)
    deadlines_at(play, utc_now().timestamp() + 86_400, tmp_path)
    judge.after = 1
    again = play.rerun("failed")
    assert finished(again) == ("4", ""), again["finish"].log
    assert "finish.attempt-1.jsonl" in again["finish"].log


@pytest.mark.soak
@pytest.mark.parametrize("with_answers", [True, False])
def test_forged_bundle__that_says_it_was_decided(
    site: Site, judge: JudgeServer, tmp_path: Path, *, with_answers: bool
) -> None:
    """C-17, G-26: a decision counts only where it follows from records that answer what was asked."""
    donor = waiting_run(site, judge)
    judge.after = 1
    donor.rerun("failed")
    decided = bundle(donor)
    judge.after, judge.collected = None, []
    play = waiting_run_again(site)
    one = scorecards(play)[0]
    files = unpacked(one)
    # A whole decision beside records of ours: with answers to tickets nobody was given, or with none.
    kept = {name: data for name, data in decided.items() if not name.startswith(("plan/", "res"))}
    forged = files | kept | {"results.jsonl": decided["results.jsonl"]}
    if with_answers:
        head, _, rest = files[FIRST].partition(b"\n")
        rows = never_given(play)
        forged[FIRST] = rewritten(head + b"\n" + rows + rest, lambda _: None, tmp_path)
    put(one, forged)
    again = play.rerun("failed")
    code, verdict = finished(again)
    assert (code, verdict) == (("5", "") if with_answers else ("4", "")), again["finish"].log
    said = f"{one.name} is not read" if with_answers else "counts.pending: found 0, expected 4"
    assert said in again["finish"].log


def waiting_run_again(site: Site) -> Play:
    """Another run that waits, of the same commit."""
    play = site.push(wait=False)
    assert finished(play.attempt()) == ("5", "")
    return play


# Pull requests from forks.


@pytest.mark.soak
def test_fork_pair__finish_waits_on_our_side(site: Site, judge: JudgeServer) -> None:
    """P-11: recorded outputs are judged with our secret; what the judge owes is waited for there."""
    judge.after = 3
    fork = Fork(site)
    recorded = fork.record()
    assert recorded.results == {"plan": "success", "shard": "success"}, recorded.log
    assert judge.asked == []
    done = fork.judge(recorded.play.run)
    assert set(done.results.values()) == {"success"}, done.log
    assert [state for state, _ in fork.statuses()] == ["pending", "success"]
    assert card(done.play)["counts"]["scored"] == 8


def test_fork_pair__the_status_waits_too(site: Site, judge: JudgeServer) -> None:
    """P-11: pending, with how many scores are to come and until when; a required status lets nothing through."""
    deferring(site, judge, interval="2h", deadline="4h")
    fork = Fork(site)
    done = fork.judge(fork.record().play.run)
    assert done.results["finish"] == "failure"
    state, description = fork.statuses()[-1]
    (waits,) = card(done.play)["waiting"]
    until = waits["deadline"][:16].replace("T", " ")
    assert state == "pending"
    assert description.startswith(f"Waiting for 4 scores until {until} UTC (grounded) · run ")
    assert moment_of(waits["deadline"]) > utc_now().timestamp() + 3 * 3600
    assert kinds(swept(site, timedelta(minutes=30))) == ["waiting"]
    judge.after = 1
    assert kinds(swept(site, timedelta(hours=2, minutes=1))) == ["rerun"]
    fork.judge_again(done)
    assert set(done.results.values()) == {"success"}, done.log
    assert fork.statuses()[-1][0] == "success"
    assert len(judge.asked) == 4
