"""What a gate may decide on, or the refusal: the questions of contract section 6, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.gates.sentinels import unproven
from releasecheck.model.table import FAILED, MISSING, PENDING
from releasecheck.stats import (
    UNREPORTED,
    count,
    count_of,
    exact,
    names,
    plain,
    quote,
    show,
    verdicts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.gates.subject import Subject
    from releasecheck.model.gate import Against
    from releasecheck.model.plan import Plan
    from releasecheck.model.scorecard import Outcome
    from releasecheck.model.table import Baseline, CaseRow, Flags, Indices, ScoreTable
    from releasecheck.stats import Column


@dataclass(frozen=True, slots=True)
class Refusal:
    """The gate cannot decide."""

    outcome: Outcome
    reason: str
    """One sentence."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The candidate's side: complete, with at least one value."""

    rows: Indices
    """The gate's cases, as indices into the table."""
    col: Column
    """Their values, in the order of `rows`."""
    aside: Indices
    """Cases of the gate that are in quarantine, as indices into the table."""


@dataclass(frozen=True, slots=True)
class Shared:
    """Both sides of a comparison, case by case."""

    rows: Indices
    """The compared cases, as indices into the candidate's table."""
    now: Column
    before: Column
    lost: tuple[str, ...]
    """Scored in the baseline, not applicable now: not compared (G-10)."""


def measured(subject: Subject, table: ScoreTable, plan: Plan) -> Measured | Refusal:
    """The candidate's complete values, or why there are none."""
    whole = subject.column(table)
    if whole is None:
        message = f"gate {subject.gate.id}: the score table has no judge {subject.gate.metric}"
        raise ValueError(message)
    mine = subject.selects(table.cases)
    if not mine.any():
        reason = f"the {plan.mode} plan holds none of this gate's cases"
        return Refusal("blocked_missing" if plan.mode == "full" else "not_selected", reason)
    quarantined = mine & subject.quarantined(table.cases)
    crowded = _crowded(int(quarantined.sum()), int(mine.sum()))
    if crowded is not None:
        return Refusal("blocked_missing", crowded)
    rows = np.flatnonzero(mine & ~quarantined)
    col = whole.take(rows)
    gap = _gap(subject, col)
    if gap is not None:
        return Refusal("blocked_missing", gap)
    if subject.judge is not None:
        unproved = unproven(subject.judge.id, table)
        if unproved is not None:
            return Refusal("blocked_missing", unproved)
    if not col.has_value.any():
        return _nothing_applies(subject, table, plan, rows)
    undecided = _without_verdict(subject, col)
    if undecided is not None:
        return Refusal("blocked_missing", undecided)
    thin = _thin(subject, col)
    if thin is not None:
        return Refusal("blocked_missing", thin)
    return Measured(rows, col, np.flatnonzero(quarantined))


MOST_QUARANTINED: Final = Fraction(1, 2)
"""Share of a gate's cases beyond which what is left is another gate than the one that was promised."""


def _crowded(aside: int, total: int) -> str | None:
    """Why a gate with so many quarantined cases decides nothing; None when it may decide."""
    if aside <= MOST_QUARANTINED * total:
        return None
    are = "is" if aside == 1 else "are"
    return (
        f"{count_of(aside, total)} {are} in quarantine, and a gate that looks at fewer than half of its cases "
        "decides nothing"
    )


def _thin(subject: Subject, col: Column) -> str | None:
    """What `min_scored` and `max_not_applicable` ask for and the scores do not give; None when they do."""
    gate, total = subject.gate, int(col.state.shape[0])
    scored = int(col.has_value.sum())
    if gate.min_scored is not None and scored < gate.min_scored:
        cases = count(scored, "case")
        return (
            f"only {cases} of {total} have a {subject.noun}, and this gate needs {gate.min_scored}"
        )
    unfit = total - int(col.expected.any(axis=1).sum())
    most = gate.max_not_applicable
    if most is not None and unfit > exact(most) * total:
        return (
            f"judge {gate.metric} is not applicable to {count_of(unfit, total)}, at most "
            f"{show(most, percent=True)} of them may be"
        )
    return None


def shared(
    subject: Subject,
    candidate: Measured,
    table: ScoreTable,
    plan: Plan,
    baseline: Baseline | None,
    matched: Indices,
) -> Shared | Refusal:
    """Both sides over the cases they share, or why they cannot be compared.

    `matched` gives for each case of the table the index of the same content in the baseline, or -1.
    """
    side = subject.against
    if baseline is None:
        return _no_baseline(plan, side)
    if not baseline.finalized:
        reason = f"{side} run {quote(baseline.run_id)} is not finalized"
        return Refusal("not_comparable", reason)
    metric = subject.gate.metric
    whole = subject.column(baseline.table)
    if whole is None:
        return Refusal("not_comparable", f"the {side} has no judge {metric}")
    partners = matched[candidate.rows]
    # Cases that have left the split count as much as cases that have come into it, so that moving
    # cases between splits is seen as lost coverage.
    own = subject.selects(baseline.table.cases)
    own[_known(partners)] = True
    # What no gate looks at here may lack its score there too.
    asked = own & ~subject.quarantined(baseline.table.cases)
    asked[_known(matched[candidate.aside])] = False
    # A case that was renamed since may bear, there, the name of one that is in quarantine here.
    asked[_known(partners)] = True
    gap = _gap(subject, whole.take(np.flatnonzero(asked)))
    if gap is not None:
        what = f"its {side}{anew_words(baseline, metric)} is incomplete: {gap}"
        return Refusal("blocked_missing", what + _unstored(baseline, metric, side))
    if subject.judge is not None:
        then = baseline.judge_digests.get(metric)
        if then != subject.judge.digest:
            reason = (
                f"judge {metric} is not the one that scored the {side}: its digest is "
                f"{subject.judge.digest[:19]}, there it was {then[:19] if then else 'not recorded'}"
            )
            return Refusal("not_comparable", reason)
        if metric in baseline.unproven:
            reason = (
                f"its {side} cannot be trusted: judge {metric} missed or did not score sentinels there, "
                "answers whose score is known; promote a run in which they held"
            )
            return Refusal("blocked_missing", reason)
    own[_known(matched[candidate.aside])] = True
    # All that is asked for has its score by now. What is in quarantine counts as one case with it or without:
    # a score that is taken away must not leave less to overlap with.
    scored = own & (whole.has_value | (whole.expected.any(axis=1) & ~asked))
    return _overlapping(
        subject, candidate, table, plan, baseline.table.cases, whole, scored, matched
    )


def anew_words(baseline: Baseline, metric: str) -> str:
    """What to say of a run whose stored outputs this run's judge scored; nothing of any other."""
    return ", judged anew," if metric in baseline.rejudged else ""


def _unstored(baseline: Baseline, metric: str, side: Against) -> str:
    """Why a run that was to be judged anew never can be, where that is so, and what to do."""
    anew = baseline.rejudged.get(metric)
    if anew is None or anew.unstored == 0:
        return ""
    outputs = count(anew.unstored, "output")
    return (
        f"; {outputs} of the {side} were not stored, and no other judge can read them: promote a run with "
        "`store_outputs: full`, or one that this judge scored"
    )


def _known(partners: Indices) -> Indices:
    found: Indices = partners[partners >= 0]
    return found


def _overlapping(
    subject: Subject,
    candidate: Measured,
    table: ScoreTable,
    plan: Plan,
    earlier: Sequence[CaseRow],
    baseline: Column,
    baseline_scored: Flags,
    matched: Indices,
) -> Shared | Refusal:
    side, partners = subject.against, matched[candidate.rows]
    scored_now = candidate.col.has_value
    known = partners >= 0
    scored_before = np.zeros_like(known)
    scored_before[known] = baseline_scored[partners[known]]
    both = scored_now & scored_before
    lost = tuple(
        table.cases[row].id for row in candidate.rows[scored_before & ~scored_now].tolist()
    )
    compared = int(both.sum())
    # A case in quarantine could be compared and is not: that is said elsewhere, and is no lack of overlap. But for
    # one that was given such a name since: whoever names cases could hide any of them, and may as well remove it.
    aside, named = _set_aside(subject, candidate, earlier, matched)
    could = int(baseline_scored[aside & ~named].sum())
    # A partial plan never means to hold all of the baseline's cases.
    if plan.mode == "full":
        base, whose = int(baseline_scored.sum()), f"the {side}'s {{}} scored cases"
    else:
        quarantined = int(baseline_scored[aside].sum())
        base, whose = int((scored_now | scored_before).sum()) + quarantined, "the {} planned cases"
    least = plan.baseline_rule.min_overlap
    if compared + could < exact(least) * base:
        reason = (
            f"only {compared + could} of {whose.format(base)} can be compared, at least "
            f"{plain(least)} of them must be{lost_note(lost, side)}{_named_note(int(named.sum()), side)}"
        )
        return Refusal("not_comparable", reason)
    if compared == 0:
        reason = f"no case with the same content was scored both here and in the {side}"
        return Refusal("not_comparable", reason)
    needed = subject.gate.min_scored
    if needed is not None and compared < needed:
        reason = f"only {count(compared, 'case')} can be compared, and this gate needs {needed}"
        return Refusal("not_comparable", reason)
    pair = Shared(
        candidate.rows[both],
        candidate.col.take(np.flatnonzero(both)),
        baseline.take(partners[both]),
        lost,
    )
    undecided = _without_verdict(subject, pair.before)
    if undecided is not None:
        return Refusal("blocked_missing", f"its {side} is incomplete: {undecided}")
    return pair


def _set_aside(
    subject: Subject,
    candidate: Measured,
    earlier: Sequence[CaseRow],
    matched: Indices,
) -> tuple[Flags, Flags]:
    """Over the earlier run's cases: those in quarantine now, and which of them had names there that are not."""
    aside = np.zeros(len(earlier), dtype=np.bool_)
    aside[_known(matched[candidate.aside])] = True
    return aside, aside & ~subject.quarantined(earlier)


def _named_note(cases: int, side: Against) -> str:
    """What to add to a sentence about a comparison from which cases were taken by renaming them."""
    if cases == 0:
        return ""
    have = "case has a name" if cases == 1 else "cases have names"
    return f"; {cases} {have} in quarantine and had another in the {side}"


def lost_note(lost: tuple[str, ...], side: Against) -> str:
    """What to add to a sentence about a comparison that left cases out."""
    if not lost:
        return ""
    cases = "case" if len(lost) == 1 else "cases"
    are = "is" if len(lost) == 1 else "are"
    return f"; {len(lost)} {cases} scored in the {side} {are} not applicable now: {names(lost)}"


def _no_baseline(plan: Plan, side: Against) -> Refusal:
    pin = plan.anchor if side == "anchor" else plan.baseline
    if pin is not None:
        # Named and gone is not the same as never there: bootstrap is for the latter alone.
        run = quote(pin.run_id)
        return Refusal("not_comparable", f"the plan's {side}, run {run}, is not there")
    if side == "anchor":
        if plan.baseline_rule.on_missing == "bootstrap":
            return Refusal("bootstrap", "there is no anchor yet, and nothing was compared with one")
        return Refusal("not_comparable", "there is no anchor to compare with")
    # Whoever searched says what there was: expired or renamed must not read as never there.
    said = plan.context.get("baseline_search")
    searched = f" ({said})" if isinstance(said, str) and said else ""
    if plan.baseline_rule.on_missing == "bootstrap":
        return Refusal("bootstrap", f"there is no baseline yet, and nothing was compared{searched}")
    return Refusal("not_comparable", f"there is no baseline to compare with{searched}")


def _nothing_applies(subject: Subject, table: ScoreTable, plan: Plan, rows: Indices) -> Refusal:
    cases = [table.cases[row] for row in rows.tolist()]
    if plan.mode != "full" and not subject.applies_to_any(cases):
        reason = f"the {plan.mode} plan holds no case that judge {subject.gate.metric} applies to"
        return Refusal("not_selected", reason)
    reason = (
        f"nothing was measured: judge {subject.gate.metric} is not applicable to any of "
        f"{count(len(cases), 'case')}"
    )
    return Refusal("blocked_missing", reason)


def _gap(subject: Subject, col: Column) -> str | None:
    """`3 of 84 cases have no score (2 failed, 1 missing)`; None when every case is complete.

    A case with several trials counts once, by the first of its reasons.
    """
    expected = col.expected
    lacking = expected & ~col.scored
    cases = int(lacking.any(axis=1).sum())
    if cases == 0:
        return None
    rest = lacking.any(axis=1)
    parts = []
    failed = 0
    for code, word in (
        (FAILED, "failed"),
        (MISSING, "missing"),
        (PENDING, "pending"),
        (UNREPORTED, "not reported"),
    ):
        here = rest & (lacking & (col.state == code)).any(axis=1)
        rest &= ~here
        if here.any():
            parts.append(f"{int(here.sum())} {word}")
        if code == FAILED:
            failed = int((lacking & (col.state == FAILED) & col.target_failed).any(axis=1).sum())
    total = int(expected.any(axis=1).sum())
    have = "has" if cases == 1 else "have"
    sentence = f"{count_of(cases, total)} {have} no {subject.noun} ({', '.join(parts)})"
    if failed:
        sentence += f"; in {failed} of them the target itself failed"
        if subject.uncountable is not None:
            sentence += f", and {subject.uncountable}"
    return sentence


def _without_verdict(subject: Subject, col: Column) -> str | None:
    """Why a rule about passing cases cannot be applied to these complete scores, if so."""
    if not subject.needs_verdicts:
        return None
    if not subject.has_pass_mark:
        return f"{subject.gate.metric} has no `pass_at`, so no case passes or fails"
    unknown = int(((verdicts(col, subject.pass_rule) < 0) & col.has_value).sum())
    if unknown == 0:
        return None
    cases = count_of(unknown, int(col.has_value.sum()))
    rule = subject.pass_rule
    return f"{cases} {'has' if unknown == 1 else 'have'} too few scored trials to pass or fail by `{rule}`"
