"""The verdict in words: a headline, and what the reader can do now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.scorecard.exceptions import in_quarantine, waived_gates, waived_words
from releasecheck.scorecard.numbers import moment
from releasecheck.scorecard.texts import shorten
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.scorecard import GateResult, Outcome, Scorecard

Tone: TypeAlias = Literal["good", "neutral", "warn", "bad", "wait"]
OUTCOME_TONES: Final[dict[Outcome, Tone]] = {
    "pass": "good",
    "bootstrap": "neutral",
    "not_selected": "neutral",
    "not_comparable": "warn",
    "blocked_missing": "warn",
    "block": "bad",
}
"""How an outcome looks; the word always stands beside the colour."""
OUTCOME_WORDS: Final[dict[Outcome, str]] = {
    "pass": "pass",
    "bootstrap": "no baseline yet",
    "not_selected": "not selected",
    "not_comparable": "not comparable",
    "blocked_missing": "scores missing",
    "block": "blocked",
}
"""An outcome for people; programs read the JSON."""
SIGNS: Final[dict[Tone, str]] = {"good": "✔", "neutral": "○", "warn": "▲", "bad": "✖", "wait": "…"}
"""A glyph for each tone, for readers who see no colour."""
_HEADLINES: Final[dict[Outcome, str]] = {
    "pass": "Passed",
    "bootstrap": "Passed, with no baseline yet",
    "not_selected": "Nothing was selected",
    "not_comparable": "No verdict: nothing valid to compare with",
    "blocked_missing": "No verdict: scores are missing",
    "block": "Blocked",
}
COST_SPENT: Final = "the cost budget was spent"
"""In the reason of a run that its cost budget ended: carried on it asks for nothing, as what was spent stays spent."""

_LONGEST_GATES: Final = 80
_ENDS: Final = {
    "failed": "the run failed",
    "cancelled": "the run was cancelled",
    "superseded": "a newer run took its place",
    "expired": "the run expired before it was complete",
}


def gate_word(gate: GateResult) -> str:
    """The outcome of a gate for people; that it is waived belongs to it."""
    return f"{OUTCOME_WORDS[gate.outcome]}, waived" if gate.waived else OUTCOME_WORDS[gate.outcome]


def gate_tone(gate: GateResult) -> Tone:
    """How it looks; what is waived is no pass."""
    return "warn" if gate.waived else OUTCOME_TONES[gate.outcome]


def is_open(scorecard: Scorecard) -> bool:
    """Whether another attempt may still change the verdict."""
    return scorecard.status in ("planned", "running")


def tone(scorecard: Scorecard) -> Tone:
    """The tone of the whole report; green only for a pass."""
    if scorecard.verdict is None:
        return "wait"
    return "warn" if scorecard.overridden else OUTCOME_TONES[scorecard.verdict]


def headline(scorecard: Scorecard) -> str:
    """The decision in a few words."""
    if scorecard.verdict is None:
        text = "Waiting for scores"
    elif scorecard.overridden:
        text = f"Blocked, and waived{_waived(scorecard)}"
    elif scorecard.verdict == "blocked_missing" and _only_sentinels(scorecard):
        text = "No verdict: a judge cannot be trusted"
    else:
        text = _HEADLINES[scorecard.verdict] + aside_words(scorecard)
        text += ", decided early" if scorecard.decided_early else ""
    return f"{text} ({_ENDS[scorecard.status]})" if scorecard.status in _ENDS else text


def aside_words(scorecard: Scorecard) -> str:
    """`, with 1 case in quarantine` behind the word of a run that passed; empty without any."""
    number = in_quarantine(scorecard)
    if not number or scorecard.verdict not in ("pass", "bootstrap"):
        return ""
    return f", with {count(number, 'case')} in quarantine"


def _waived(scorecard: Scorecard) -> str:
    gates = waived_gates(scorecard)
    if not gates:
        return ""
    return f": {'gate' if len(gates) == 1 else 'gates'} {shorten(', '.join(gates), _LONGEST_GATES)}"


def _only_sentinels(scorecard: Scorecard) -> bool:
    """Whether no score is missing, and gates refuse since a judge did not hold its sentinels."""
    unproven = {one.judge for one in scorecard.sentinels if one.missed or one.unscored}
    refusing = [gate for gate in scorecard.gates if gate.outcome == "blocked_missing"]
    counts = scorecard.counts
    return (
        bool(refusing)
        and not counts.failed + counts.missing + counts.pending
        and all(gate.metric in unproven for gate in refusing)
    )


def reasons(scorecard: Scorecard) -> tuple[str, ...]:
    """Why, without a first line that only says again what the headline says."""
    first, *rest = scorecard.reasons or ("",)
    word = f"{scorecard.verdict or 'waiting'}: "
    if first.startswith(word):
        told = first.removeprefix(word)
        first = "" if rest else told[:1].upper() + told[1:]
    lines = (first, *rest) if first else tuple(rest)
    return _waivers_first(scorecard, lines) if scorecard.overridden else lines


def _waivers_first(scorecard: Scorecard, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Who let it pass, until when and why, before what was let pass."""
    waivers = {waived_words(waiver) for waiver in scorecard.waivers}
    rest = (line for line in lines if line not in waivers and not line.startswith("block, "))
    return (*(line for line in lines if line in waivers), *rest)


def next_steps(scorecard: Scorecard, out: str | None = None) -> tuple[str, ...]:
    """What the reader can do now, the most useful first; never empty.

    Args:
        scorecard: The decision.
        out: The bundle's folder, where the reader is beside it.
    """
    resume = (
        "`releasecheck resume` on this bundle" if out is None else f"`releasecheck resume {out}`"
    )
    retry = "`releasecheck retry` on this bundle" if out is None else f"`releasecheck retry {out}`"
    return tuple(_steps(scorecard, resume, retry))


def _steps(scorecard: Scorecard, resume: str, retry: str) -> Iterator[str]:
    if scorecard.code_changed:
        yield "Start a new run: the answers of this one are of several versions of the target."
        return
    match scorecard.verdict:
        case None:
            yield _resume(scorecard, resume)
        case "block":
            yield from _after_block(scorecard)
        case "blocked_missing":
            yield from _after_missing(scorecard, resume, retry)
        case "not_comparable":
            yield from _after_not_comparable(scorecard)
        case "bootstrap":
            yield (
                "Check this run by eye, then `releasecheck baseline promote` makes it the baseline of the next one. "
                "On GitHub a run of the default branch is promoted by itself."
            )
        case "not_selected":
            yield "Choose cases that a gate looks at; this run decided nothing."
        case "pass":
            yield "Nothing blocks the release."
    if scorecard.mode != "full":
        yield f"This was a {scorecard.mode} run over part of the cases; decide a release with a full one."


def _resume(scorecard: Scorecard, resume: str) -> str:
    times = sorted(w.not_before for w in scorecard.waiting if w.not_before)
    when = f" after {moment(times[0])}" if times else ""
    return f"Run {resume}{when}, or re-run the finish job; what is recorded is kept."


def _after_block(scorecard: Scorecard) -> Iterator[str]:
    aside = {(one.case, one.judge) for one in scorecard.quarantine}
    flipped = len(
        {
            case
            for judge, flips in scorecard.flips.items()
            for case in flips.new_failures
            if not {(case, judge), (case, None)} & aside
        }
    )
    if scorecard.overridden:
        ends = sorted(
            {one.until for one in scorecard.waivers if one.gate in waived_gates(scorecard)}
        )
        until = f" on {ends[0]}" if ends else ""
        yield (
            f"Look at who waived what and why. Mend it before the waiver ends{until}: after that day it stops the "
            "release again."
        )
    unshown = [gate.id for gate in scorecard.gates if _only_unshown(gate)]
    if unshown:
        which, them = ("Gate", "it") if len(unshown) == 1 else ("Gates", "them")
        blocks = "blocks" if len(unshown) == 1 else "block"
        yield (
            f"{which} {', '.join(unshown)} {blocks} since these cases cannot show that nothing was lost, not since "
            f"something was: give {them} more cases or trials, or a larger `max_drop`."
        )
    if flipped:
        those = "the case" if flipped == 1 else f"the {flipped:,} cases"
        verb = "fails" if flipped == 1 else "fail"
        yield f"Start with {those} that passed in the baseline and {verb} now."
    elif not unshown or any(
        gate.outcome == "block" and gate.id not in unshown for gate in scorecard.gates
    ):
        yield "Look at the worst cases in the scorecard, and repair the candidate."
    yield "Running again does not help: what was measured is kept and never drawn again."


def _only_unshown(gate: GateResult) -> bool:
    """Whether a gate blocks on what it could not exclude, though the drop itself is within its limit."""
    return (
        gate.outcome == "block"
        and gate.decide == "non-inferior"
        and gate.drop_bound is not None
        and None not in (gate.delta, gate.threshold)
        and abs(gate.delta or 0.0) <= (gate.threshold or 0.0) < gate.drop_bound
    )


def _after_missing(scorecard: Scorecard, resume: str, retry: str) -> Iterator[str]:
    if is_open(scorecard) and any(COST_SPENT in reason for reason in scorecard.reasons):
        yield (
            f"The cost budget of this run is spent, so that {resume} asks for nothing more: close it with `--final`, "
            f"then {retry} redoes what is missing under a budget of its own. Or raise `budget` and start a new run."
        )
    elif is_open(scorecard):
        yield (
            f"Run {resume}, or re-run the failed jobs: only what is missing or failed "
            "is asked again, and what was measured is kept."
        )
    elif _nothing_to_be_had(scorecard):
        yield (
            "What is missing cannot be had again, since the answers were not kept (`store_outputs`, `purge`): start a "
            "new run."
        )
    elif _nothing_to_redo(scorecard):
        yield (
            "No score failed or is missing, so that a retry has nothing to redo: what each gate lacks stands in its "
            "reason. Give it that, and start a new run."
        )
    else:
        yield (
            f"Repair what is named above; this run is closed, and {retry} makes a new run that redoes only what "
            "failed."
        )
    late = [
        one.judge for one in scorecard.incomplete if one.given_up.keys() - {"output_not_stored"}
    ]
    if late:
        yield (
            f"Ask why {', '.join(late)} did not answer in time (`releasecheck judge check` probes a judge), or give "
            "it a longer `deadline`."
        )
    if any(one.missed for one in scorecard.sentinels):
        judges = ", ".join(one.judge for one in scorecard.sentinels if one.missed)
        yield (
            f"{judges} got answers wrong whose score is known: repair the judge or its rubric "
            "(`releasecheck judge calibrate` shows how it scores), or the sentinels, if they are wrong."
        )
    if scorecard.counts.failed:
        yield "In the scorecard each case that failed stands with its error."


def _nothing_to_be_had(scorecard: Scorecard) -> bool:
    """Whether all that is missing was to be judged from answers that nobody kept."""
    lost = sum(one.given_up.get("output_not_stored", 0) for one in scorecard.incomplete)
    counts = scorecard.counts
    return bool(lost) and counts.failed + counts.missing + counts.pending == lost


def _nothing_to_redo(scorecard: Scorecard) -> bool:
    """Whether gates refuse for other reasons than scores that are not there, of this run or one judged anew."""
    counts = scorecard.counts
    anew = any(
        used is not None and used.rejudged for used in (scorecard.baseline, scorecard.anchor)
    )
    unproven = any(one.missed or one.unscored for one in scorecard.sentinels)
    lacking = counts.failed + counts.missing + counts.pending + len(scorecard.incomplete)
    return not (lacking or anew or unproven)


def _after_not_comparable(scorecard: Scorecard) -> Iterator[str]:
    used = scorecard.baseline
    if all(gate.outcome == "not_selected" for gate in scorecard.gates):
        yield "Choose cases that a gate looks at; no gate has one in this plan."
    elif used is None:
        yield (
            "Promote an accepted run with `releasecheck baseline promote` (this one with `--accept REASON`), or allow "
            "the first run without one by `baseline: {on_missing: bootstrap}`."
        )
    elif scorecard.anchor is None and any(
        gate.outcome == "not_comparable" and gate.against == "anchor" for gate in scorecard.gates
    ):
        yield (
            "There is no anchor yet: promote a release to the folder that `baseline: {anchor: FOLDER}` names with "
            "`releasecheck baseline promote OUT --to FOLDER` (this run with `--accept REASON`)."
        )
    elif used.judges_changed:
        yield (
            f"A judge changed since the baseline ({', '.join(used.judges_changed)}): check this run by eye, then "
            "`releasecheck baseline promote --accept REASON` makes it the new baseline."
        )
    elif not used.cases.changed + used.cases.removed:
        yield (
            "The cases are those of the baseline: what each gate lacks stands in its reason. Give it that, and start "
            "a new run."
        )
    else:
        yield (
            "Too little is the same as in the baseline. If the dataset changed on purpose, "
            "`releasecheck baseline promote --accept REASON` makes this run the new baseline."
        )
