"""No regression: both sides over their shared cases, and three ways to decide on the drop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import numpy as np

from releasecheck.gates.evidence import Refusal, lost_note
from releasecheck.gates.outcome import Decision
from releasecheck.stats import (
    aggregate_cases,
    case_means,
    count,
    exact,
    names,
    plain,
    risk_of,
    show,
    to_float,
    verdicts,
    yes_or_no,
)
from releasecheck.stats.clusters import chosen, clipped, cluster_sums
from releasecheck.stats.lattice import p_no_drop
from releasecheck.stats.paired import (
    drop_bound,
    drop_bound_yes_no,
    not_inferior,
)
from releasecheck.stats.power import detectable_drop, from_pairs, resolvable_drop

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from releasecheck.gates.evidence import Shared
    from releasecheck.gates.subject import Subject
    from releasecheck.model.gate import GateSpec, NoRegression
    from releasecheck.model.table import CaseRow, Floats, Indices
    from releasecheck.stats.power import Spread


@dataclass(frozen=True, slots=True)
class Level:
    """How sure a test has to be."""

    confidence: float
    """Of the suite, one-sided."""
    alpha: float
    """What this gate's own test is held to: smaller where several gates are corrected together."""
    seed: int
    """Of the signs that are flipped."""

    @property
    def most(self) -> float:
        """The largest p that counts as sure: 0.05 where `confidence` is written as 0.95."""
        return risk_of(self.confidence)


@dataclass(frozen=True, slots=True)
class Tested:
    """What the pairs say about the drop, in the gate's unit."""

    p_value: float | None = None
    bound: float | None = None
    detectable: float | None = None
    resolvable: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides over the shared cases, before anything was decided."""

    subject: Subject
    rule: NoRegression
    now: Fraction
    before: Fraction
    compared: int
    lost: tuple[str, ...]
    new_failures: tuple[str, ...]
    new_passes: tuple[str, ...]
    tested: Tested
    level: Level
    notes: str
    """What to add to the reason: cases left out, a baseline judged anew."""

    @property
    def worse(self) -> Fraction:
        """The drop; negative for an improvement."""
        lower = self.subject.lower_is_better
        return self.now - self.before if lower else self.before - self.now

    @property
    def over(self) -> bool:
        """Whether the drop exceeds what is allowed, exactly."""
        return self.worse > exact(self.rule.max_drop)


def compare(
    subject: Subject,
    rule: NoRegression,
    pair: Shared,
    cases: Sequence[CaseRow],
    clusters: Indices | None,
    level: Level,
    *,
    sight: bool = True,
) -> Comparison | Refusal:
    """Everything about one comparison that no other gate has a part in.

    Args:
        subject: The gate.
        rule: Of the gate.
        pair: Both sides.
        cases: Of the candidate's table, all of them.
        clusters: Of those cases; None where each is one of its own.
        level: How sure a test has to be.
        sight: Whether to work out what the comparison could have seen.
    """
    gate = subject.gate
    failures, passes = _flips(subject, pair)
    tested = _tested(subject, rule, pair, chosen(clusters, pair.rows), level, sight=sight)
    if isinstance(tested, Refusal):
        return tested
    return Comparison(
        subject,
        rule,
        now=known(aggregate_cases(gate.stat, pair.now, subject.pass_rule), gate),
        before=known(aggregate_cases(gate.stat, pair.before, subject.pass_rule), gate),
        compared=int(pair.rows.size),
        lost=pair.lost,
        new_failures=tuple(cases[row].id for row in failures.tolist()),
        new_passes=tuple(cases[row].id for row in passes.tolist()),
        tested=tested,
        level=level,
        notes=lost_note(pair.lost, rule.side),
    )


def decide_comparison(found: Comparison, p_adjusted: float | None) -> Decision:
    """The rule, once the p-values of all gates are known.

    Args:
        found: the comparison.
        p_adjusted: of a `significant` gate, corrected for the others; None for every other.
    """
    rule, tested = found.rule, found.tested
    alpha = found.level.most
    match rule.decide:
        case "point":
            holds = not found.over
        case "significant":
            if p_adjusted is None:
                message = f"gate {found.subject.gate.id}: a test without a p-value"
                raise ValueError(message)
            holds = not (found.over and p_adjusted < alpha)
        case "non-inferior":
            holds = _excluded(found)
        case _:
            assert_never(rule.decide)
    few = True
    reason = _sentence(found, p_adjusted)
    if rule.max_new_failures is not None:
        few = len(found.new_failures) <= rule.max_new_failures
        reason += f"; {count(len(found.new_failures), 'new failure')}, at most {rule.max_new_failures} allowed"
        reason += f": {names(found.new_failures)}" if found.new_failures else ""
    return Decision(
        holds and few,
        reason + _sight(found) + found.notes,
        found.compared,
        to_float(found.now),
        to_float(found.before),
        to_float(found.now - found.before),
        tested=tested,
        p_adjusted=p_adjusted,
        new_failures=found.new_failures,
        new_passes=found.new_passes,
    )


def _excluded(found: Comparison) -> bool:
    """Whether a drop of `max_drop` or more is excluded; never where the drop itself exceeds it."""
    tested = found.tested
    if found.over:
        return False
    if tested.p_value is not None:
        return tested.p_value <= found.level.most
    return tested.bound is not None and tested.bound <= found.rule.max_drop


def known(value: Fraction | None, gate: GateSpec) -> Fraction:
    """A statistic that must be there, since evidence was asked for first."""
    if value is None:
        message = f"gate {gate.id}: a rule was asked about nothing"
        raise ValueError(message)
    return value


def _flips(subject: Subject, pair: Shared) -> tuple[Indices, Indices]:
    """Cases that passed before and fail now, and the reverse, as indices into the candidate's table."""
    if not subject.has_pass_mark:
        return pair.rows[:0], pair.rows[:0]
    now, before = verdicts(pair.now, subject.pass_rule), verdicts(pair.before, subject.pass_rule)
    return pair.rows[(before == 1) & (now == 0)], pair.rows[(before == 0) & (now == 1)]


def _tested(
    subject: Subject,
    rule: NoRegression,
    pair: Shared,
    clusters: Indices | None,
    level: Level,
    *,
    sight: bool,
) -> Tested | Refusal:
    """Test, bound and power, for statistics that are made of pairs; `clusters` are of the pairs."""
    drops = _drops(subject, pair)
    if drops is None:
        return Tested()
    # A sum is its mean times the number of cases: what holds of the one holds of the other.
    scale = float(drops.size) if subject.gate.stat == "sum" else 1.0
    max_drop = rule.max_drop / scale
    verdict = subject.gate.stat == "pass_rate" or all(
        yes_or_no(side, subject.ends) for side in (pair.now, pair.before)
    )
    span = 1.0 if verdict else subject.span
    spread = from_pairs(drops, clusters, yes_no=verdict, span=span) if sight else None
    detectable, resolvable = _sight_of(rule, spread, max_drop, scale, level)
    p_value = bound = None
    flipped = verdict and clusters is None
    worse, better = int(np.count_nonzero(drops > 0)), int(np.count_nonzero(drops < 0))
    match rule.decide:
        case "point":
            pass
        case "significant":
            p_value = p_no_drop(
                cluster_sums(drops, clusters),
                level.seed,
                span=1.0 if subject.gate.stat == "pass_rate" else subject.span,
                largest=1 if clusters is None else int(np.bincount(clusters).max()),
            )
        case "non-inferior":
            if flipped:
                p_value = not_inferior(worse, better, drops.size, max_drop)
                bound = drop_bound_yes_no(worse, better, drops.size, level.confidence) * scale
            else:
                bound = drop_bound(drops, clusters, level.confidence, span)
                if bound is None:
                    return Refusal("not_comparable", _NO_BOUND)
                bound *= scale
        case _:
            assert_never(rule.decide)
    return Tested(p_value, bound, detectable, resolvable)


_NO_BOUND = (
    "no bound on the drop can be computed: it takes two cases (or clusters) at least, and differences that are not "
    "all equal, or a judge whose `scale` says how far values can differ"
)


def _sight_of(
    rule: NoRegression, spread: Spread | None, max_drop: float, scale: float, level: Level
) -> tuple[float | None, float | None]:
    """The smallest drop that the gate detects, and that any test resolves."""
    if spread is None:
        return None, None
    detectable = detectable_drop(rule.decide, max_drop, spread, level.alpha)
    resolvable = resolvable_drop(spread, level.alpha)
    return (
        None if detectable is None else detectable * scale,
        None if resolvable is None else resolvable * scale,
    )


def _drops(subject: Subject, pair: Shared) -> Floats | None:
    """How much worse each case is than it was; None for statistics that no pair contributes to alone."""
    gate = subject.gate
    now: Floats
    before: Floats
    if gate.stat == "pass_rate":
        now = (verdicts(pair.now, subject.pass_rule) == 1).astype(np.float64)
        before = (verdicts(pair.before, subject.pass_rule) == 1).astype(np.float64)
        return before - now
    if gate.stat not in ("mean", "sum"):
        return None
    now, before = clipped(case_means(pair.now)), clipped(case_means(pair.before))
    with np.errstate(over="ignore", invalid="ignore"):
        drops: Floats = now - before if subject.lower_is_better else before - now
    return drops


def _sentence(found: Comparison, p_adjusted: float | None) -> str:
    gate, compared = found.subject.gate, found.compared
    word = "rise" if found.subject.lower_is_better else "drop"
    start = (
        f"{gate.stat} {show(found.now, found.before)} against {show(found.before, found.now)} in the "
        f"{found.rule.side}, over {count(compared, 'shared case')}: "
        + _movement(found.worse, found.rule.max_drop, word)
    )
    alpha = found.level.most
    if found.rule.decide == "significant" and p_adjusted is not None and found.over:
        clear = p_adjusted < alpha
        several = "" if p_adjusted == found.tested.p_value else " after Holm's correction"
        return start + (
            f"; chance alone brings such a {word} with p {show(p_adjusted, alpha)}{several}, "
            f"{'below' if clear else 'not below'} {plain(alpha)}"
        )
    if found.rule.decide == "non-inferior" and found.tested.bound is not None and not found.over:
        holds = _excluded(found)
        sure = show(found.level.confidence, percent=True)
        return start + (
            f"; with {sure} confidence the {word} is at most {show(found.tested.bound, found.rule.max_drop)}, "
            f"which {'excludes' if holds else 'does not exclude'} more than is allowed"
        )
    return start


def _sight(found: Comparison) -> str:
    """That the comparison could not have seen what it is to prevent, if so."""
    limit, seen = found.rule.max_drop, found.tested.resolvable
    if limit == 0 or seen is None or seen <= limit:
        return ""
    if found.over and found.worse >= exact(seen):
        return ""  # what came is not among what it could not have seen
    word = "rise" if found.subject.lower_is_better else "drop"
    return f"; so few or noisy cases cannot tell a {word} of {plain(limit)} from none, only one of {show(seen, limit)}"


def _movement(worse: Fraction, allowed: float, word: str) -> str:
    if worse < 0:
        return f"an improvement of {show(-worse)}"
    if worse == 0:
        return "no change"
    side = "more than" if worse > exact(allowed) else "within"
    return f"a {word} of {show(worse, allowed)}, {side} the {plain(allowed)} allowed"
