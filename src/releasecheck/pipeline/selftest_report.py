"""What trying the gates on unchanged runs came to: a report for people and programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.stats import plain, show, two_digits, wilson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.model.gate import GateSpec

SURE: Final = 0.95
"""Of the intervals around rates, whatever the suite's own confidence is."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, of the rounds in which it could."""

    count: int
    rounds: int

    @property
    def value(self) -> float | None:
        """None where it never could."""
        return self.count / self.rounds if self.rounds else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's."""
        return wilson(self.count, self.rounds, SURE)

    def below(self, promised: float) -> bool | None:
        """Whether it is no more than promised, as far as so many rounds tell."""
        return None if self.interval is None else self.interval[0] <= promised

    def above(self, promised: float) -> bool | None:
        """Whether it is no less than promised, as far as so many rounds tell."""
        return None if self.interval is None else self.interval[1] >= promised

    def to_json(self) -> dict[str, Json]:
        """Value and interval."""
        low, high = self.interval or (None, None)
        return {"rate": self.value, "ci_low": low, "ci_high": high}

    @override
    def __str__(self) -> str:
        """`31.4 % (28.6 to 34.3)`."""
        if self.interval is None or self.value is None:
            return "unknown"
        low, high = self.interval
        return f"{show(self.value, percent=True)} ({100 * low:.1f} to {100 * high:.1f})"


@dataclass(slots=True)
class Tally:
    """What one gate came to, round by round."""

    rounds: int = 0
    blocked: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """By outcome."""
    refusal: str | None = None
    """The first one's reason."""
    drops: list[float] = field(default_factory=list)
    """How much worse the candidate was, in the rounds that were compared."""
    values: list[float] = field(default_factory=list)
    new_failures: list[int] = field(default_factory=list)

    @property
    def rate(self) -> Rate:
        """Of the rounds that came to a decision."""
        return Rate(self.blocked, self.rounds - sum(self.refused.values()))

    def to_json(self) -> dict[str, Json]:
        """Counts and the rate."""
        return {
            "rounds": self.rounds,
            "blocked": self.blocked,
            "refused": dict(sorted(self.refused.items())),
            "refusal": self.refusal,
            **self.rate.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Planted:
    """A gate held against a candidate that is worse by a known amount."""

    what: str
    """Which drop: `max_drop`, or what the suite is said to see."""
    drop: float
    tally: Tally
    promised: float | None
    """How often it should be found."""
    why: str | None
    """Why there was none."""

    def to_json(self) -> dict[str, Json]:
        """The entry of a report."""
        rate = self.tally.rate
        return {
            "what": self.what,
            "drop": self.drop,
            "promised": self.promised,
            "kept": None if self.promised is None else rate.above(self.promised),
            "why": self.why,
            **self.tally.to_json(),
        }

    def line(self, word: str) -> str:
        """`a true drop of 0.02 (max_drop) is found in 52.1 % (49.0 to 55.2)`."""
        start = f"a true {word} of {two_digits(self.drop)} ({self.what})"
        if self.why is not None and not self.tally.rounds:
            return f"{start} could not be planted: {self.why}"
        if not self.tally.rate.rounds:
            return f"{start}: refused in every round"
        text = f"{start} is found in {self.tally.rate}"
        if self.promised is not None:
            text += f", {show(self.promised, percent=True)} was promised"
        if self.why is not None:
            text += f"; planted in {self.tally.rounds} rounds alone, in others {self.why}"
        return text


@dataclass(frozen=True, slots=True)
class Tried:
    """One gate, tried."""

    gate: GateSpec
    against: str | None
    lower_is_better: bool
    tally: Tally
    promised: float | None
    """The largest part of unchanged runs that it is to block; None where it promises nothing."""
    usual: float
    """What a test at the suite's confidence would promise."""
    planted: tuple[Planted, ...]

    @property
    def kept(self) -> bool | None:
        """Whether it kept its promise; None without one, or without a decision."""
        return None if self.promised is None else self.tally.rate.below(self.promised)

    @property
    def noisy(self) -> bool:
        """Whether it surely blocks more unchanged runs than a test would."""
        return self.tally.rate.below(self.promised or self.usual) is False

    def to_json(self) -> dict[str, Json]:
        """The entry of a report."""
        rule = self.gate.no_regression
        return {
            "gate": self.gate.id,
            "metric": self.gate.metric,
            "stat": self.gate.stat,
            "against": self.against,
            "decide": None if rule is None else rule.decide,
            **self.tally.to_json(),
            "promised": self.promised,
            "kept": self.kept,
            "advice": self.advice,
            "planted": [one.to_json() for one in self.planted],
        }

    def lines(self) -> Iterator[str]:
        """What happened, for people."""
        tally = self.tally
        if tally.rate.rounds:
            text = f"{self.gate.id}: blocks {tally.rate} of unchanged runs"
            if self.promised is not None:
                text += f", at most {show(self.promised, percent=True)} was promised"
        else:
            text = f"{self.gate.id}: decided nothing"
        yield text
        for outcome, count in sorted(tally.refused.items()):
            yield f"  {outcome} in {count} of {tally.rounds} rounds: {tally.refusal}"
        word = "rise" if self.lower_is_better else "drop"
        for one in self.planted:
            yield f"  {one.line(word)}"

    @property
    def advice(self) -> str | None:
        """What to do about it; None where nothing is wrong."""
        gate, tally, rule = self.gate, self.tally, self.gate.no_regression
        if not tally.rate.rounds:
            return f"{gate.id} refused in every round, so nothing was tried: {tally.refusal}"
        if not self.noisy:
            return None
        blocks = f"blocks {show(tally.rate.value or 0.0, percent=True)} of unchanged runs"
        if gate.require is not None:
            return f"{gate.id} {blocks}: some of its cases fail now and then; `releasecheck gate flaky` names them"
        if rule is None:
            side, bound = ("min", gate.min) if gate.min is not None else ("max", gate.max)
            reached = _quantile(tally.values, self.usual if side == "min" else 1 - self.usual)
            return (
                f"{gate.id} {blocks}: {side} {plain(bound or 0.0)} is where noise alone carries {gate.stat} to; "
                f"{side} {two_digits(reached, up=side == 'max')} would leave room for it"
            )
        reached = max(0.0, _quantile(tally.drops, 1 - self.usual))
        room = two_digits(reached, up=True)
        if rule.decide == "non-inferior":
            return (
                f"{gate.id} {blocks}: so few or noisy cases cannot show that no more than "
                f"{plain(rule.max_drop)} was lost; use more cases or trials, or a larger max_drop"
            )
        few, many = "", 0
        if rule.max_new_failures is not None:
            many = int(_quantile([float(one) for one in tally.new_failures], 1 - self.usual))
            few = f", max_new_failures {max(many, rule.max_new_failures)}"
            if many > rule.max_new_failures and reached <= rule.max_drop:
                # Not the drop: a test of it would change nothing.
                return (
                    f"{gate.id} {blocks}: max_new_failures {rule.max_new_failures} is fewer than noise alone brings; "
                    f"use more trials, or max_new_failures {many}"
                )
        if rule.decide == "significant":
            return f"{gate.id} {blocks}, more than it promises: allow max_drop {room}{few}"
        return (
            f"{gate.id} {blocks}: `point` with max_drop {plain(rule.max_drop)} is within its noise; use "
            f"`decide: significant`, more cases or trials, or max_drop {room}{few}"
        )


@dataclass(frozen=True, slots=True)
class SelfTest:
    """The gates of a suite, tried on runs without a change."""

    suite: str
    runs: tuple[str, ...]
    way: str
    way_words: str
    cases: int
    of: int
    trials: int
    seed: int
    confidence: float
    any_gate: Tally
    gates: tuple[Tried, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "schema": "releasecheck/self-test@1",
            "suite": self.suite,
            "runs": list(self.runs),
            "way": self.way,
            "way_words": self.way_words,
            "cases": self.cases,
            "cases_of": self.of,
            "trials": self.trials,
            "seed": self.seed,
            "confidence": self.confidence,
            "verdict": self.any_gate.to_json(),
            "gates": [gate.to_json() for gate in self.gates],
            "notes": list(self.notes),
        }

    def lines(self) -> Iterator[str]:
        """The report for people: what it comes to, why, what to do."""
        yield self._headline()
        yield f"tried     {self.any_gate.rounds} rounds, seed {self.seed}: {self.way_words}"
        yield f"over      {self.cases} of the suite's {self.of} cases, of {_runs(self.runs)}"
        for gate in self.gates:
            yield from gate.lines()
        for note in self.notes:
            yield f"note      {note}"
        for gate in self.gates:
            if gate.advice is not None:
                yield f"do        {gate.advice}"

    def _headline(self) -> str:
        tally = self.any_gate
        refused = sum(tally.refused.values())
        if not tally.rate.rounds:
            return f"the gates of {self.suite} decide nothing about an unchanged run"
        text = f"an unchanged run of {self.suite} is blocked in {tally.rate} of rounds"
        if refused:
            text += f", and gets no verdict in {refused} of {tally.rounds}"
        bad = [gate.gate.id for gate in self.gates if gate.noisy]
        idle = [gate.gate.id for gate in self.gates if not gate.tally.rate.rounds]
        text += f": {', '.join(bad)} will cry wolf" if bad else ": no gate cries wolf"
        return f"{text}, but {', '.join(idle)} decided nothing" if idle else text


def _runs(runs: tuple[str, ...]) -> str:
    return f"run {runs[0]}" if len(runs) == 1 else f"{len(runs)} runs"


def _quantile(values: list[float], share: float) -> float:
    """The smallest of the values that no more than 1 - share of them exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
