"""How each no-regression gate came to its outcome, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.numbers import NOTHING, shown
from releasecheck.scorecard.texts import shorten
from releasecheck.stats import count, plain, risk_of, show, two_digits

if TYPE_CHECKING:
    from releasecheck.model.scorecard import BaselineUsed, GateResult, Scorecard

_CONFIDENCE: Final = 0.95
"""Where a scorecard has no metric that says it."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One no-regression gate."""

    gate: str
    against: str
    """`baseline rc-1 at 77ab12c`."""
    compared: str
    """`84 shared cases`, or `NOTHING`."""
    decides: str
    """`blocks when worse by more than 0.02`."""
    evidence: str
    """What the cases say: the test's p, or a bound; empty where the number alone decides."""
    sees: str
    """How much worse it must get to be noticed; the same words whichever way is worse."""
    warning: str
    """That it cannot see what it is to prevent; empty where it can."""
    new_failures: tuple[str, ...]
    new_passes: tuple[str, ...]

    @property
    def flips(self) -> str:
        """`9 new failures, 2 new passes`; empty where nothing changed."""
        parts = (
            (len(self.new_failures), "new failure", "new failures"),
            (len(self.new_passes), "new pass", "new passes"),
        )
        return ", ".join(count(number, one, many) for number, one, many in parts if number)

    @property
    def sentence(self) -> str:
        """Everything but the gate's name and its cases."""
        where = "" if self.compared == NOTHING else f", {self.compared}"
        rest = "".join(f"; {part}" for part in (self.evidence, self.sees, self.warning) if part)
        return f"against the {self.against}{where}: {self.decides}{rest}"


def comparison_rows(card: Scorecard) -> tuple[ComparisonRow, ...]:
    """The no-regression gates in the order of the suite."""
    return tuple(_row(card, gate) for gate in card.gates if gate.decide is not None)


def _row(card: Scorecard, gate: GateResult) -> ComparisonRow:
    used = card.anchor if gate.against == "anchor" else card.baseline
    done = gate.compared is not None and gate.outcome in ("pass", "block")
    return ComparisonRow(
        gate=gate.id,
        against=_against(gate, used),
        compared=count(gate.compared, "shared case") if done and gate.compared else NOTHING,
        decides=_decides(card, gate) + _or_flips(gate),
        evidence=_evidence(card, gate) if done else "nothing was compared",
        sees=_sees(gate) if done else "",
        warning=_warning(gate) if done else "",
        new_failures=gate.new_failures,
        new_passes=gate.new_passes,
    )


def _against(gate: GateResult, used: BaselineUsed | None) -> str:
    what = gate.against or "baseline"
    if used is None:
        return f"{what}, and there is none"
    return f"{what} {used.run_id}" + (f" at {used.commit[:12]}" if used.commit else "")


def confidence(card: Scorecard) -> float:
    """How sure the suite wants its intervals and tests to be."""
    return card.metrics[0].confidence if card.metrics else _CONFIDENCE


def _decides(card: Scorecard, gate: GateResult) -> str:
    limit = gate.threshold or 0.0
    beyond = f"worse by more than {plain(limit)}" if limit else "worse at all"
    match gate.decide:
        case "significant":
            return f"blocks when {beyond}, and chance does not explain it (p below {plain(_most(card))})"
        case "non-inferior":
            sure = show(confidence(card), percent=True)
            return f"blocks unless the cases show, with {sure} confidence, that it is not {beyond}"
        case _:
            return f"blocks when {beyond}"


def _or_flips(gate: GateResult) -> str:
    # The limit stands in the rule alone, as `no regression beyond 0.02, at most 3 new failures`.
    most = gate.rule.partition(", at most ")[2]
    return f", or at more than {shorten(most, 80)}" if most else ""


def _most(card: Scorecard) -> float:
    return risk_of(confidence(card))


def _evidence(card: Scorecard, gate: GateResult) -> str:
    match gate.decide:
        case "significant" if gate.p_value is not None:
            decides = gate.p_value if gate.p_adjusted is None else gate.p_adjusted
            text = f"p {show(gate.p_value, _most(card))}"
            if decides != gate.p_value:
                text += f", {show(decides, _most(card))} corrected for the other gates"
            # A p of exactly 1 says that nothing got worse, and "100 % of runs" would say it badly.
            if decides < 1:
                text += f": chance alone would bring this in {show(decides, _most(card), percent=True)} of runs"
            return text
        case "non-inferior" if gate.drop_bound is not None:
            sure = show(confidence(card), percent=True)
            size = shown(gate.metric, abs(gate.drop_bound), [gate.threshold])
            worst = (
                (f"at worst {size} worse" if gate.drop_bound > 0 else f"at least {size} better")
                if gate.drop_bound
                else "at worst no worse"
            )
            return f"{worst}, with {sure} confidence"
        case "point":
            return "no test: the number alone decides"
        case _:
            return "no test is known for this statistic"


def _sees(gate: GateResult) -> str:
    seen = gate.min_detectable_drop
    if seen is None:
        return "would not notice however much worse" if gate.resolvable_drop is not None else ""
    if seen == 0:
        return "would block four of five runs in which nothing changed"
    return f"notices {two_digits(seen)} worse or more, in four of five runs"


def _warning(gate: GateResult) -> str:
    told, limit = gate.resolvable_drop, gate.threshold
    if told is None or not limit or told <= limit:
        return ""
    return (
        f"too few or too noisy cases to tell {plain(limit)} worse from no change, only {two_digits(told)} or more: "
        "have more cases or trials, or a larger max_drop"
    )
