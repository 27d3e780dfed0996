"""The runs compared with: what is the same on both sides, which cases differ, and where a chain of runs drifts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.numbers import NOTHING, change, shown
from releasecheck.scorecard.verdict import SIGNS
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.scorecard import (
        Axis,
        BaselineUsed,
        CaseChanges,
        GateResult,
        Scorecard,
    )
    from releasecheck.scorecard.verdict import Tone

_ANSWERS: Final[dict[str, tuple[str, Tone]]] = {
    "held": ("the same", "good"),
    "differs": ("differs", "warn"),
    "unknown": ("not known", "neutral"),
}
_ASKED: Final = {
    "cases": "Cases",
    "judges": "Judges",
    "target": "Target",
    "policy": "Gates",
}


@dataclass(frozen=True, slots=True)
class AxisRow:
    """One thing that may differ between the two sides."""

    what: str
    word: str
    tone: Tone
    sign: str
    note: str


@dataclass(frozen=True, slots=True)
class CaseList:
    """Cases that are not the same on both sides."""

    title: str
    """`1 case changed`."""
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A run compared with."""

    title: str
    """`Baseline` or `Anchor`."""
    run_id: str
    commit: str | None
    why: str
    counts: str
    """`82 cases unchanged, 1 changed`."""
    axes: tuple[AxisRow, ...]
    lists: tuple[CaseList, ...]
    rejudged: tuple[str, ...]

    @property
    def differs(self) -> str:
        """`cases (1 case changed), target (its settings differ)`; empty where everything is the same."""
        return ", ".join(
            f"{row.what.lower()} ({row.note})" for row in self.axes if row.tone == "warn"
        )


@dataclass(frozen=True, slots=True)
class DriftRow:
    """One gated metric now, against the baseline, and against the anchor."""

    what: str
    """`exact, mean in all`."""
    value: str
    baseline: str
    since_baseline: str
    anchor: str
    since_anchor: str


def earlier_runs(card: Scorecard) -> tuple[EarlierRun, ...]:
    """The baseline, then the anchor."""
    sides = (("Baseline", card.baseline), ("Anchor", card.anchor))
    return tuple(_run(title, used) for title, used in sides if used is not None)


def _run(title: str, used: BaselineUsed) -> EarlierRun:
    return EarlierRun(
        title=title,
        run_id=used.run_id,
        commit=used.commit,
        why=used.why,
        counts=case_counts(used.cases),
        axes=tuple(map(_axis, used.axes)),
        lists=tuple(_lists(used.cases)),
        rejudged=tuple(
            f"{judge} is another judge now, and scored {count(number, 'stored answer')} of it anew"
            for judge, number in sorted(used.rejudged.items())
        ),
    )


def _axis(axis: Axis) -> AxisRow:
    word, tone = _ANSWERS[axis.answer]
    if (axis.axis, axis.answer) == ("target", "held"):
        word = "the same settings"  # The program behind them may be another one: that is what is checked.
    return AxisRow(_ASKED[axis.axis], word, tone, SIGNS[tone], axis.note)


def case_counts(cases: CaseChanges) -> str:
    """`82 cases unchanged, 1 changed, 2 added`."""
    parts = (
        (len(cases.changed), "changed"),
        (len(cases.added), "added"),
        (len(cases.removed), "removed"),
        (len(cases.renamed), "renamed"),
    )
    more = "".join(f", {number:,} {how}" for number, how in parts if number)
    return f"{count(cases.same, 'case')} unchanged{more}"


def _lists(cases: CaseChanges) -> Iterator[CaseList]:
    renamed = tuple(f"{before} → {after}" for before, after in cases.renamed)
    for ids, how in (
        (cases.removed, "removed"),
        (cases.changed, "changed"),
        (renamed, "renamed"),
        (cases.added, "added"),
    ):
        if ids:
            yield CaseList(f"{count(len(ids), 'case')} {how}", ids)


def drift_rows(card: Scorecard) -> tuple[DriftRow, ...]:
    """Metrics that are gated against an anchor; none without one.

    A chain of drops that are each small enough for a baseline, which moves along, adds up against the anchor.
    """
    compared: dict[tuple[str, str, str], dict[str, GateResult]] = {}
    for gate in card.gates:
        if gate.against is not None and gate.value is not None and gate.baseline_value is not None:
            compared.setdefault((gate.metric, gate.split, gate.stat), {}).setdefault(
                gate.against, gate
            )
    return tuple(
        _drift(key, sides.get("baseline"), sides["anchor"])
        for key, sides in compared.items()
        if "anchor" in sides
    )


def _drift(key: tuple[str, str, str], near: GateResult | None, far: GateResult) -> DriftRow:
    metric, split, stat = key
    before = None if near is None else near.baseline_value
    return DriftRow(
        what=f"{metric}, {stat} in {split}",
        value=shown(metric, far.value, [far.baseline_value if far.delta else None]),
        baseline=shown(metric, before),
        since_baseline=NOTHING if near is None else change(metric, near.delta, [near.threshold]),
        anchor=shown(metric, far.baseline_value, [far.value if far.delta else None]),
        since_anchor=change(metric, far.delta, [far.threshold]),
    )
