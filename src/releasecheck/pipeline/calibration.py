"""What labels and a judge's scores say about the judge: a report for people and programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from releasecheck.model.judge import pass_mark, value_passes
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Scored
from releasecheck.pipeline.calibrating import used
from releasecheck.stats import plain, show, wilson
from releasecheck.stats.agreement import Kappa, Mark, best_mark, kappa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.pipeline.calibrating import Answer, Outcome

FEW: Final = 20
"""Labels below which a report warns: the interval is then wider than most differences that matter."""
SHOWN: Final = 20
"""Disagreements that the report for people shows."""
WIDTH: Final = 80
CONFIDENCE: Final = 0.95


class Split(NamedTuple):
    """One output about which judge and human disagree."""

    id: str
    value: float
    label: bool | float
    passes: bool
    """By the judge."""
    distance: float
    """How far the judge is from agreeing."""
    reason: str | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge held against labels."""

    judge: PlannedJudge
    labels: int
    labelled: tuple[int, int]
    """Labels that pass and that fail; both 0 where no pass mark says what a number means."""
    table: tuple[tuple[int, int], tuple[int, int]] | None
    """Judge in rows, human in columns, passing first; None without a pass mark."""
    kappa: Kappa | None
    why_no_kappa: str | None
    best: Mark | None
    why_no_best: str | None
    disagreements: tuple[Split, ...]
    """Worst first."""
    unscored: tuple[tuple[str, str, str], ...]
    """Id, state and why of every label without a score."""
    scored: int
    usage: Mapping[str, float | None]
    unreachable: str | None
    """Why nothing was scored, where nothing of the judge answered."""

    @property
    def agreed(self) -> int | None:
        """Scored outputs on which both say the same."""
        return None if self.table is None else self.table[0][0] + self.table[1][1]

    @property
    def exit_code(self) -> int:
        """0 did it, 2 some labels got no score, 4 the judge could not be reached at all."""
        if self.unreachable is not None:
            return 4
        without = [state for _, state, _ in self.unscored if state != "not-applicable"]
        return 2 if without or not self.scored else 0

    def warnings(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        if self.scored < FEW:
            yield f"only {self.scored} scored labels; below {FEW} these figures say little"
        if self.why_no_kappa is not None:
            yield f"kappa is undefined: {self.why_no_kappa}"
        if self.why_no_best is not None:
            yield f"no pass_at is proposed: {self.why_no_best}"

    def to_json(self) -> Json:
        """The report as a document."""
        spec, n = self.judge.spec, self.scored
        agreed = self.agreed
        interval = None if agreed is None else wilson(agreed, n, CONFIDENCE)
        return {
            "schema": "releasecheck/calibration@1",
            "judge": spec.id,
            "type": spec.type,
            "judge_digest": self.judge.digest,
            "better": spec.better,
            "pass_at": pass_mark(spec),
            "confidence": CONFIDENCE,
            "labels": {"n": self.labels, "pass": self.labelled[0], "fail": self.labelled[1]},
            "scores": {"scored": n, **_states(self)},
            "agreement": None
            if agreed is None or not n
            else {
                "n": n,
                "agreed": agreed,
                "value": agreed / n,
                "ci_low": None if interval is None else interval[0],
                "ci_high": None if interval is None else interval[1],
            },
            "kappa": None
            if self.kappa is None
            else {
                "value": self.kappa.value,
                "standard_error": self.kappa.error,
                "ci_low": self.kappa.low,
                "ci_high": self.kappa.high,
            },
            "confusion": None
            if self.table is None
            else {
                "judge_pass_human_pass": self.table[0][0],
                "judge_pass_human_fail": self.table[0][1],
                "judge_fail_human_pass": self.table[1][0],
                "judge_fail_human_fail": self.table[1][1],
            },
            "best_pass_at": None
            if self.best is None
            else {"value": self.best.value, "agreed": self.best.agreed, "n": n},
            "disagreements": [one._asdict() for one in self.disagreements],
            "unscored": [
                {"id": name, "state": state, "reason": why} for name, state, why in self.unscored
            ],
            "usage": dict(self.usage),
            "warnings": list(self.warnings()),
        }

    def lines(self) -> Iterator[str]:
        """The report for a person, at most 80 columns wide."""
        spec = self.judge.spec
        mark = pass_mark(spec)
        passes = "no pass_at" if mark is None else f"pass_at {plain(mark)}"
        yield _cut(f"judge       {spec.id} ({spec.type}), {passes}, better: {spec.better}")
        split = f": {self.labelled[0]} pass, {self.labelled[1]} fail" if any(self.labelled) else ""
        yield f"labels      {self.labels}{split}"
        states = ", ".join(f"{count} {state}" for state, count in _states(self).items() if count)
        yield f"scored      {self.scored} of {self.labels}" + (f"; {states}" if states else "")
        yield from self._figures()
        for warning in self.warnings():
            yield from _wrapped(f"note        {warning}", 12)
        if self.disagreements:
            yield ""
            yield f"disagreements ({len(self.disagreements)}), worst first"
            for one in self.disagreements[:SHOWN]:
                judge = f"judge {plain(one.value)} {_word(one.passes)}"
                why = f": {one.reason}" if one.reason else ""
                yield from _wrapped(
                    f"  {_name(one.id)}  {judge}, human {_human(one.label)}{why}", 6
                )
            if len(self.disagreements) > SHOWN:
                yield f"  ... and {len(self.disagreements) - SHOWN} more; --json has them all"
        if self.unscored:
            yield ""
            yield f"without a score ({len(self.unscored)})"
            for name, state, why in self.unscored[:SHOWN]:
                yield from _wrapped(f"  {_name(name)}  {state}: {why}", 6)
            if len(self.unscored) > SHOWN:
                yield f"  ... and {len(self.unscored) - SHOWN} more; --json has them all"

    def _figures(self) -> Iterator[str]:
        agreed, n = self.agreed, self.scored
        if agreed is not None and n:
            found = wilson(agreed, n, CONFIDENCE)
            between = "" if found is None else f" (95 % interval {_percent(found)})"
            yield f"agreement   {agreed} of {n} = {show(agreed / n, percent=True)}{between}"
        if self.kappa is not None:
            low, high = self.kappa.low, self.kappa.high
            between = " (no interval: nothing differs)"
            if low is not None and high is not None:
                between = f" (95 % interval {low:.3f} to {high:.3f})"
            yield f"kappa       {self.kappa.value:.3f}{between}"
        if self.table is not None and n:
            yield ""
            yield "              human: pass  human: fail"
            for name, row in zip(("pass", "fail"), self.table, strict=True):
                yield f"judge: {name}  {row[0]:>11}  {row[1]:>11}"
            yield ""
        if self.best is not None:
            yield _cut(f"best        pass_at {plain(self.best.value)} {self._gain(self.best)}")

    def _gain(self, best: Mark) -> str:
        agrees = f"agrees with {best.agreed} of {self.scored}"
        agreed = self.agreed
        if agreed is None:
            return f"{agrees}, found on these very labels"
        if best.agreed == agreed:
            return f"{agrees}; none agrees more often"
        return f"{agrees}, {best.agreed - agreed} more than now, found on these very labels"


def calibration(judge: PlannedJudge, outcomes: Sequence[Outcome]) -> Calibration:
    """Hold scores against labels; whatever got no score is counted and named."""
    spec = judge.spec
    passing = [_label_passes(judge, one.label.label) for one in outcomes]
    pairs = [
        (one, one.answer, label)
        for one, label in zip(outcomes, passing, strict=True)
        if isinstance(one.answer, Scored)
    ]
    known = [(answer.value, label) for _, answer, label in pairs if label is not None]
    mark = pass_mark(spec)
    table = None
    splits: list[Split] = []
    if mark is not None:
        counts: Counter[tuple[bool, bool]] = Counter()
        for one, answer, label in pairs:
            passes = bool(value_passes(spec, answer.value))
            counts[passes, bool(label)] += 1
            if passes is not label:
                said = one.label.label
                distance = abs(answer.value - (mark if isinstance(said, bool) else said))
                splits.append(
                    Split(one.label.id, answer.value, said, passes, distance, answer.reason)
                )
        table = (
            (counts[True, True], counts[True, False]),
            (counts[False, True], counts[False, False]),
        )
    labels = {label for _, label in known}
    why = None if len(labels) > 1 else _one_class(labels)
    found = None if table is None or why is not None else kappa(table, CONFIDENCE)
    why_no_kappa = why
    if table is None:
        why_no_kappa = "the judge has no pass_at, so that its scores neither pass nor fail"
    elif why is None and found is None:
        word = _word(bool(sum(table[0])))
        why_no_kappa = f"the judge {word} every output, so that nothing is beyond chance"
    return Calibration(
        judge=judge,
        labels=len(outcomes),
        labelled=(passing.count(True), passing.count(False)),
        table=table,
        kappa=found,
        why_no_kappa=why_no_kappa,
        best=None
        if why is not None
        else best_mark([v for v, _ in known], [bool(x) for _, x in known], spec.better, mark),
        why_no_best=why,
        disagreements=tuple(sorted(splits, key=lambda one: (-one.distance, one.id))),
        unscored=tuple(
            (one.label.id, *_why(one.answer))
            for one in outcomes
            if not isinstance(one.answer, Scored)
        ),
        scored=len(pairs),
        usage=used(outcomes),
        unreachable=None if pairs else _unreachable(outcomes),
    )


def _label_passes(judge: PlannedJudge, label: bool | float) -> bool | None:  # noqa: FBT001 - a value
    return label if isinstance(label, bool) else value_passes(judge.spec, label)


def _one_class(labels: set[bool]) -> str:
    if not labels:
        return "no label has a score that can be held against it"
    return (
        f"all scored labels {'pass' if labels == {True} else 'fail'}; label some of the other kind"
    )


def _why(answer: Answer) -> tuple[str, str]:
    match answer:
        case JudgeFailed(failure):
            return "failed", f"{failure.code}: {failure.message or ''}"
        case Missing(reason, failure):
            said = "" if failure is None else f"; the judge last failed with {failure.code}"
            return "missing", f"{reason}{said}"
        case NotApplicable(reason):
            return "not-applicable", reason
        case Scored():  # asked only of those without a score
            return "scored", ""


def _unreachable(outcomes: Sequence[Outcome]) -> str | None:
    failures = [
        one.answer.failure for one in outcomes if isinstance(one.answer, JudgeFailed | Missing)
    ]
    if not failures or len(failures) < len(outcomes):
        return None
    first = failures[0]
    if all(one is not None and one.cls == "infra" for one in failures) and first is not None:
        return first.message or first.code
    return None


def _states(found: Calibration) -> dict[str, int]:
    counts = Counter(state for _, state, _ in found.unscored)
    return {state: counts[state] for state in ("failed", "missing", "not-applicable")}


def _percent(found: tuple[float, float]) -> str:
    return f"{show(found[0], percent=True)} to {show(found[1], percent=True)}"


def _word(passes: bool) -> str:  # noqa: FBT001 - a value
    return "passes" if passes else "fails"


def _human(label: bool | float) -> str:  # noqa: FBT001 - a value
    return _word(label) if isinstance(label, bool) else plain(label)


def _name(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."


def _wrapped(text: str, indent: int) -> list[str]:
    """At most three lines; what the judge wrote stays behind an indent, so that it draws no report of its own."""
    start = text[: len(text) - len(text.lstrip())]
    return textwrap.wrap(
        " ".join(text.split()) if "\n" in text else text.lstrip(),
        WIDTH,
        initial_indent=start,
        subsequent_indent=" " * indent,
        max_lines=3,
        placeholder=" ...",
    )


def _cut(text: str) -> str:
    line = " ".join(text.split()) if "\n" in text else text
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
