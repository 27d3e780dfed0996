"""A suite of what a log holds: its cases, a target that gives its answers, judges that give its scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.config.fields import CaseReader
from releasecheck.config.rows import Row, Rows
from releasecheck.errors import Problem
from releasecheck.importers.imported import CONFIG, Imported, Mapped, config_bytes, lines_bytes
from releasecheck.importers.replay import (
    SCORES,
    Answered,
    Reply,
    Score,
    replay_files,
    replay_target,
    scores_file,
)
from releasecheck.model.nearest import listing
from releasecheck.model.suite import CaseFiles
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from releasecheck.canonical import Json

CASES: Final = "cases.jsonl"
BASELINE: Final[dict[str, str]] = {"path": "baseline", "on_missing": "bootstrap"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One kind of score in a log, as a judge."""

    name: str
    """In the log."""
    judge: str
    """Its id here."""
    yes_no: bool = False
    """Whether it says right or wrong, so that 1 passes."""
    lower: bool = False
    """Whether a lower value is better."""

    def section(self) -> dict[str, Json]:
        """The judge in the suite: the same for every log with this score, so that two logs can be compared."""
        found: dict[str, Json] = {"id": self.judge, "type": "precomputed", "path": SCORES}
        if self.yes_no:
            found |= {"pass_at": 1, "scale": [0, 1]}
        if self.lower:
            found["better"] = "lower"
        return found

    def mapped(self, kind: str, times: int) -> Mapped:
        """What became of it, in words."""
        marks = [
            text for text, on in (("1 passes", self.yes_no), ("lower is better", self.lower)) if on
        ]
        return Mapped(
            f"{kind} {self.name}",
            f"judge {self.judge} ({', '.join(['precomputed', *marks])})",
            times,
        )


@dataclass(slots=True)
class Recording:
    """What was read of a log so far."""

    cases: dict[str, dict[str, Json]] = field(default_factory=dict)
    """Rows of the cases file by id, in the log's order."""
    replies: list[Reply] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    trials: int = 1


def case_problems(fields: dict[str, Json], path: str, line: int | None) -> list[Problem]:
    """What keeps a row from being a case, at the place where the other tool wrote it."""
    rows = Rows(path)
    CaseReader(CaseFiles(path=CASES, empty_input="run"), rows, path, csv=False).case(
        Row(fields, line or 0)
    )
    return [
        problem if line is not None else Problem(problem.message, path, key=problem.key)
        for problem in rows.problems
    ]


def no_worse(judges: Iterable[str]) -> list[Json]:
    """A gate for each judge that needs no number anybody would have to invent."""
    return [
        {"id": f"{id_}-no-worse", "metric": id_, "no_regression": {"max_drop": 0}} for id_ in judges
    ]


GATE_NOTE: Final = (
    "no threshold was invented: each gate blocks when its mean falls below the baseline's; set `max_drop`, or "
    "`decide: significant`, to allow for chance, and add `min` where a number is owed"
)
FIRST_RUN_NOTE: Final = (
    "the first run has no baseline and is neutral (on_missing: bootstrap); make it the baseline with "
    "`releasecheck baseline promote`"
)


def recorded_suite(
    name: str,
    head: Iterable[str],
    recording: Recording,
    metrics: Sequence[Metric],
    *,
    kind: str,
    mapped: Iterable[Mapped],
    notes: Iterable[str],
) -> Imported:
    """The suite with all its files; `kind` is what the other tool calls its scores."""
    rows = list(recording.cases.values())
    case_files: dict[str, Json] = {"path": CASES}
    if any(isinstance(row["input"], str) and not row["input"].strip() for row in rows):
        case_files["empty_input"] = "run"
    suite: dict[str, Json] = {
        "version": 1,
        "suite": name,
        "cases": [case_files],
        "expect_cases": len(rows),
        "trials": recording.trials,
        "target": replay_target(),
        "judges": [metric.section() for metric in metrics],
        "gates": no_worse(metric.judge for metric in metrics),
        "baseline": dict(BASELINE),
    }
    # What could not be scored has no value, and a line of a failed call has no answer it is about.
    held = [score for score in recording.scores if isinstance(score.reply.recorded, Answered)]
    files = {
        CONFIG: config_bytes(suite, head),
        CASES: lines_bytes(rows),
        SCORES: scores_file(held),
        **replay_files(recording.replies),
    }
    per_judge = {metric.judge: 0 for metric in metrics}
    for score in held:
        per_judge[score.judge] += score.value is not None
    return Imported(
        files,
        (*mapped, *(metric.mapped(kind, per_judge[metric.judge]) for metric in metrics)),
        (*notes, *_counts(recording, per_judge), GATE_NOTE, FIRST_RUN_NOTE),
    )


def _counts(recording: Recording, per_judge: dict[str, int]) -> list[str]:
    """What the log does not hold: it stays missing here, and the gates refuse with the count."""
    planned = len(recording.cases) * recording.trials
    failed = len([reply for reply in recording.replies if not isinstance(reply.recorded, Answered)])
    absent = planned - len(recording.replies)
    found = []
    if failed:
        found.append(
            f"{count(failed, 'answer')} failed in the log and will fail here: gates then refuse (blocked_missing) "
            "unless they say `on_target_failure: count_as_fail`"
        )
    if absent:
        found.append(f"{count(absent, 'trial')} of {planned} are not in the log and will fail here")
    for judge, given in per_judge.items():
        if missing := planned - failed - absent - given:
            found.append(
                f"{judge}: the log has no value for {count(missing, 'answer')}; they stay missing, and its gate "
                "refuses (blocked_missing)"
            )
    return found


def unknown_names(option: str, named: Iterable[str], found: Collection[str]) -> list[Problem]:
    """Names given on the command line that the file does not have: a misspelt one would change nothing, unseen."""
    return [
        Problem(f"{option} {name}: there is no such score; found {listing(sorted(found))}")
        for name in named
        if name not in found
    ]
