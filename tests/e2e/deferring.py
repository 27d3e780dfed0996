"""The two ways to a scorecard, for tests of judges that answer later: one process, or jobs on many machines."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from tests.e2e.suites import CONFIG, http_suite, ledger, lines, scorecard

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.e2e.program import Done, Program
    from tests.e2e.suites import Answers, Suite

Way: TypeAlias = Literal["run", "shards"]
WAYS: Final[tuple[Way, ...]] = ("run", "shards")
HASTEN: Final = {"hasten": True}
"""Pauses take no time; what servers take is real."""
SCORED: Final = ("scored", 1.0)
WRONG: Final = ("scored", 0.0)
MISSING: Final = ("missing", None)
FAILED: Final = ("failed", None)


def slow(url: str, name: str = "slow", **spec: Any) -> dict[str, Any]:
    """A judge of a config, under the terms that `settle` has by default."""
    return {"id": name, "type": "http", "url": url, **spec}


def deferred_suite(
    folder: Path, answers: Answers, *judges: Mapping[str, Any], cases: int = 6, **changes: Any
) -> Suite:
    """A suite in two shards, with a gate `has-ID` for each judge that any measured answer passes."""
    gates = [{"id": f"has-{judge['id']}", "metric": judge["id"], "min": 0} for judge in judges]
    settings = {"shards": 2, "judges": [dict(judge) for judge in judges], "gates": gates}
    return http_suite(folder, answers, cases, **(settings | changes))


@dataclass
class Settled:
    """How it ended, and what is there."""

    done: Done
    """Of the command that decided."""
    out: Path

    @property
    def card(self) -> dict[str, Any]:
        """The scorecard."""
        return scorecard(self.out)

    def scores(self, judge: str) -> dict[str, tuple[str, float | None]]:
        """Case -> state and value."""
        found = {}
        for row in lines(self.out / "results.jsonl"):
            score = row["scores"][judge]
            found[row["case"]] = score["state"], score["value"]
        return found

    def records(self, judge: str, kind: str = "score") -> list[dict[str, Any]]:
        """Records of a judge, in all ledger files."""
        rows = ledger(self.out / "results")
        return [row for row in rows if (row["record"], row.get("judge")) == (kind, judge)]

    def ended(self, judge: str, case: str) -> dict[str, Any]:
        """The one record that ended a score."""
        (found,) = [
            row for row in self.records(judge) if row["case"] == case and row["state"] != "pending"
        ]
        return found

    def incomplete(self, judge: str) -> dict[str, Any] | None:
        """What the scorecard says is not there of a judge."""
        found = [entry for entry in self.card["incomplete"] if entry["judge"] == judge]
        return found[0] if found else None

    def gate(self, name: str) -> dict[str, Any]:
        """One gate."""
        (found,) = [gate for gate in self.card["gates"] if gate["id"] == name]
        return dict(found)


def shards(program: Program, suite: Suite, *, hasten: bool = True) -> Path:
    """Plan and run every shard as jobs do, and carry plan and results to another folder."""
    here, there = suite.folder, suite.folder.parent / f"{suite.folder.name}-elsewhere"
    done = program("plan", CONFIG, "--out", "plan", cwd=here)
    assert done.code == 0, done
    fault = HASTEN if hasten else None
    started = [
        program.start(
            *("shard", "--plan", "plan", "--index", str(index), "--out", f"results/{index}"),
            cwd=here,
            fault=fault,
        )
        for index in range(len(list((here / "plan").glob("cases-*.jsonl"))))
    ]
    for running in started:
        ended = running.wait()
        assert ended.code in (0, 2), ended
    for name in ("plan", "results"):
        shutil.copytree(here / name, there / name)
    return there


def settled(
    way: Way, program: Program, suite: Suite, *more: str, hasten: bool = True, ahead_s: float = 0.0
) -> Settled:
    """Go one of the ways to its end; `more` is for the command that decides."""
    fault = {"hasten": True, "ahead_s": ahead_s} if hasten else None
    if way == "run":
        done = program("run", CONFIG, "--out", "out", *more, cwd=suite.folder, fault=fault)
        return Settled(done, suite.folder / "out")
    there = shards(program, suite, hasten=hasten)
    done = finish(program, there, *more, fault=fault)
    return Settled(done, there / "out")


def finish(
    program: Program, there: Path, *more: str, fault: Mapping[str, Any] | None = None
) -> Done:
    """The finish job."""
    return program(
        *("finish", "--plan", "plan", "--results", "results", "--out", "out", *more),
        cwd=there,
        fault=fault,
    )
