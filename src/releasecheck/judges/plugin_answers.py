"""What a plug-in answered, checked as strictly as what comes over the wire: objects can be wrong, too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from releasecheck.judges.answer import ticket_flaw
from releasecheck.judges.outcome import cannot
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import Arrived, Collected, Judged
from releasecheck.transport.plugins import is_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.judge import PluginJudge


def checked_judged(found: Any, spec: PluginJudge, *, deferred: bool) -> Judged:  # noqa: ANN401 - foreign
    """The answer, or a failure that says why it is none."""
    if not isinstance(found, Judged):
        return Judged(_violation(spec, f"answered {_kind(found)} where `Judged` is due"))
    wrong = _wrong(found.answer, spec, deferred=deferred) or _wrong_usage(found.usage)
    if wrong is None:
        return found._replace(notes=_notes(found.notes))
    usage = NO_USAGE if _wrong_usage(found.usage) else found.usage
    return Judged(_violation(spec, wrong), usage)


def _notes(found: Any) -> tuple[str, ...]:  # noqa: ANN401 - foreign
    return tuple(str(note) for note in found)


def checked_arrived(found: Collected, tickets: Sequence[str], spec: PluginJudge) -> Collected:
    """What came for tickets that were asked for; the others are named."""
    asked = set(tickets)
    scores: dict[str, Arrived] = {}
    came: dict[Any, Any] = dict(found.scores)
    strange = [str(one) for one in found.violations]
    for ticket, arrived in came.items():
        if ticket not in asked:
            strange.append(f"an answer to the ticket {str(ticket)[:60]!r}, never asked for")
        elif not isinstance(arrived, Arrived):
            words = f"answered {_kind(arrived)} where `Arrived` is due"
            scores[ticket] = Arrived(_violation(spec, words))
        else:
            scores[ticket] = _checked(arrived, ticket, spec)
    failed = found.failure
    if failed is not None and not is_failure(failed):
        failed = _violation(spec, "gave a failure that no record can hold").failure
    again = found.again_s if _is_amount(found.again_s) else None
    return Collected(scores, failed, again, tuple(strange))


def _checked(arrived: Any, ticket: str, spec: PluginJudge) -> Arrived:  # noqa: ANN401 - foreign
    wrong = _wrong(arrived.answer, spec, deferred=True) or _wrong_usage(arrived.usage)
    if wrong is None and isinstance(arrived.answer, Pending) and arrived.answer.ticket != ticket:
        wrong = f"changed the ticket {ticket[:60]!r} while it was pending"
    if wrong is None and not isinstance(arrived.made_at, str | None):
        wrong = f"gave the time {_kind(arrived.made_at)}, which is no text"
    if wrong is None and not isinstance(arrived.notes, tuple | list):
        wrong = f"gave the notes {_kind(arrived.notes)}, which is no list"
    if wrong is not None:
        return Arrived(_violation(spec, wrong))
    kept: Arrived = arrived._replace(notes=_notes(arrived.notes))
    return kept


def _wrong(answer: Any, spec: PluginJudge, *, deferred: bool) -> str | None:  # noqa: ANN401 - foreign
    match answer:
        case Scored(value, reason):
            return _wrong_value(value, spec) or _wrong_text(reason, "reason", optional=True)
        case NotApplicable(reason):
            return _wrong_text(reason, "reason")
        case Pending(ticket):
            if not deferred:
                return "answered `Pending` and has no `collect` and `purge`"
            flaw = ticket_flaw(ticket)
            return None if flaw is None else f"answered pending {flaw}"
        case JudgeFailed():
            return (
                None
                if is_failure(answer.failure)
                else "failed without a `Failure` that a record can hold"
            )
        case _:
            return f"answered {_kind(answer)}, which is no state of a score"


def _wrong_value(value: object, spec: PluginJudge) -> str | None:
    if not isinstance(value, bool | int | float) or not math.isfinite(value):
        return f"gave the value {value!r:.60}; expected a finite number"
    if spec.scale is not None and not spec.scale[0] <= value <= spec.scale[1]:
        low, high = spec.scale
        return f"gave the value {value!r}, outside the scale {low:g} to {high:g}"
    return None


def _wrong_text(text: object, what: str, *, optional: bool = False) -> str | None:
    if text is None and optional:
        return None
    if isinstance(text, str) and (optional or text.strip()):
        return None
    return f"gave the {what} {text!r:.60}; expected a text"


def _wrong_usage(usage: object) -> str | None:
    if not isinstance(usage, Usage) or not (
        _is_amount(usage.cost_usd)
        and _is_amount(usage.tokens)
        and isinstance(usage.tokens, int | None)
    ):
        return "gave a usage that is no `Usage` of whole tokens and of a cost from 0"
    return None


def _is_amount(found: object) -> bool:
    if found is None:
        return True
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return number and math.isfinite(found) and found >= 0  # type: ignore[operator, arg-type]


def _violation(spec: PluginJudge, what: str) -> JudgeFailed:
    return cannot("contract_violation", f"plug-in {spec.plugin!r} {what}")


def _kind(found: object) -> str:
    return type(found).__name__
