"""What a comparison of runs found, as documents and as words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.model.plan import Mode
    from releasecheck.model.scorecard import CaseChanges, Flips, Metric, Outcome

Seen: TypeAlias = Literal["pass", "fail", "no score", "absent"]
SHOWN_IDS = 20


def label_of(at: int) -> str:
    """`A` for the first run, `Z` for the 26th, then `A2`."""
    turn, letter = divmod(at, 26)
    return chr(ord("A") + letter) + (str(turn + 1) if turn else "")


@dataclass(frozen=True, slots=True)
class RunSeen:
    """One of the runs."""

    label: str
    path: str
    run_id: str
    suite: str
    mode: Mode
    at: str | None
    """When it was finalized; None: it is open."""
    commit: str | None
    verdict: Outcome | None
    overridden: bool
    cases: int
    models: tuple[str, ...]
    """That answered, where its results say so."""
    metrics: tuple[Metric, ...]

    def to_json(self) -> dict[str, Json]:
        """All but its metrics, which stand in the pairs."""
        return {
            "label": self.label,
            "path": self.path,
            "run_id": self.run_id,
            "suite": self.suite,
            "mode": self.mode,
            "finalized_at": self.at,
            "commit": self.commit,
            "verdict": self.verdict,
            "overridden": self.overridden,
            "cases": self.cases,
            "models": list(self.models),
        }


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """One metric on both sides."""

    base: Metric | None
    candidate: Metric | None
    delta: float | None = None
    """Candidate minus base over the same cases; None where `why` says that there is none."""
    around: tuple[float, float] | None = None
    """The interval of the difference, where it has one."""
    over: int | None = None
    """Scores that the difference is over, where they are not all of both sides."""
    base_over: float | None = None
    candidate_over: float | None = None
    """What it is the difference of."""
    why: str = ""
    """Why there is no difference."""

    @property
    def some(self) -> Metric:
        """Either side."""
        some = self.candidate or self.base
        assert some is not None  # noqa: S101 - made from at least one side
        return some

    @property
    def measured(self) -> bool:
        """Whether either side has a value."""
        return any(
            side is not None and side.value is not None for side in (self.base, self.candidate)
        )

    def to_json(self) -> dict[str, Json]:
        """Both sides and the difference."""
        return {
            "metric": self.some.metric,
            "split": self.some.split,
            "stat": self.some.stat,
            "base": None if self.base is None else self.base.model_dump(mode="json"),
            "candidate": None if self.candidate is None else self.candidate.model_dump(mode="json"),
            "delta": self.delta,
            "delta_ci_low": None if self.around is None else self.around[0],
            "delta_ci_high": None if self.around is None else self.around[1],
            "shared_scores": self.over,
            "why": self.why or None,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a candidate differs from a base."""

    base: str
    candidate: str
    metrics: tuple[MetricDifference, ...]
    flips: dict[str, Flips]
    cases: CaseChanges
    judges_changed: tuple[str, ...]
    models: str = ""
    """That another model answered; empty where the same did, or one side does not say."""
    notes: tuple[str, ...] = ()
    """What else must be known."""

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "base": self.base,
            "candidate": self.candidate,
            "metrics": [metric.to_json() for metric in self.metrics],
            "flips": {judge: found.model_dump(mode="json") for judge, found in self.flips.items()},
            "cases": self.cases.model_dump(mode="json"),
            "judges_changed": list(self.judges_changed),
            "models": self.models or None,
            "notes": list(self.notes),
        }

    def said(self) -> Iterator[str]:
        """What does not compare, and what else must be known, in sentences."""
        yield from self.notes
        for judge in self.judges_changed:
            yield f"judge {judge} changed: its scores do not compare"
        cases = self.cases
        if cases.changed or cases.added or cases.removed:
            yield (
                f"the cases differ: {cases.same + len(cases.renamed)} in common, {len(cases.changed)} changed, "
                f"{len(cases.added)} added, {len(cases.removed)} removed; differences are over those in common"
            )
        if self.models:
            yield self.models


@dataclass(frozen=True, slots=True)
class CaseCell:
    """What a judge said of a case in one run."""

    seen: Seen
    why: str
    """Why it does not compare with the first run; empty where it does."""


@dataclass(frozen=True, slots=True)
class CaseAcross:
    """One case under one judge in every run."""

    case: str
    judge: str
    cells: tuple[CaseCell, ...]

    @property
    def flipped(self) -> bool:
        """Whether it passes in one run and fails in another that compares with it."""
        return {"pass", "fail"} <= {cell.seen for cell in self.cells if not cell.why}

    @property
    def kinds(self) -> tuple[str, ...]:
        """Words to filter by."""
        seen = {cell.seen for cell in self.cells}
        found = ["flip"] if self.flipped else []
        found += ["fail"] if "fail" in seen else []
        found += ["none"] if "no score" in seen else []
        found += ["unlike"] if any(cell.why for cell in self.cells) else []
        return tuple(found)

    @property
    def rank(self) -> int:
        """What a reader looks for first comes first."""
        order = ("flip", "none", "fail", "unlike")
        return next(at for at, kind in enumerate(order) if kind in self.kinds)


@dataclass(frozen=True, slots=True)
class CasesAcross:
    """Every (case, judge) that does not pass in all runs."""

    rows: tuple[CaseAcross, ...]
    passing: int
    """(case, judge)s that pass in every run."""


@dataclass(frozen=True, slots=True)
class Several:
    """Runs compared with the first of them."""

    runs: tuple[RunSeen, ...]
    pairs: tuple[Comparison, ...]
    cases: CasesAcross

    def to_json(self) -> dict[str, Json]:
        """The first pair, with `runs`; all pairs where there are more than two runs."""
        found = {**self.pairs[0].to_json(), "runs": [run.to_json() for run in self.runs]}
        if len(self.pairs) > 1:
            found["pairs"] = [pair.to_json() for pair in self.pairs]
        return found


def flip_lines(pair: Comparison) -> Iterator[str]:
    """Flipped cases of each judge that a gate names."""
    for judge, found in sorted(pair.flips.items()):
        yield (
            f"{judge}: {count(len(found.new_failures), 'case')} newly failing, "
            f"{count(len(found.new_passes), 'case')} newly passing"
        )
        for title, ids in (("fails", found.new_failures), ("passes", found.new_passes)):
            yield from (f"  now {title}: {case}" for case in ids[:SHOWN_IDS])
            if len(ids) > SHOWN_IDS:
                yield f"  now {title}: {len(ids) - SHOWN_IDS} more, in --json"
