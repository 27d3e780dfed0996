"""The order in which a judge is tried, and what is left out when something does not apply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.model.score import Pending

if TYPE_CHECKING:
    from releasecheck.pipeline.checking.probes import Probes
    from releasecheck.pipeline.checking.service import Service

_LATER: Final = ("collect", "deadline", "delivered-again")
"""Probes of every judge that answers later."""
_LATER_SERVICE: Final = ("strange-ticket", "batch")
"""And of one over HTTP."""
_AT_ONCE: Final = "it answers at once"
_SKIPPED: Final = "not tried, since an earlier probe failed"


async def lead(probes: Probes, service: Service | None) -> bool:
    """Try everything; whether the judge was there at all."""
    if service is not None:
        trouble = await service.identity()
        if trouble is not None:
            return trouble.failure.cls != "infra"
    answer = await probes.sample()
    if isinstance(answer, Pending):
        await _deferred(probes, service, answer.ticket)
    elif answer is not None:
        _leave_out(probes, service, _LATER, _AT_ONCE)
        await probes.idempotency(answer)
    if service is not None:
        await service.malformed()
        if answer is not None:
            await service.hang_up()
    await probes.purge()
    return True


async def _deferred(probes: Probes, service: Service | None, ticket: str) -> None:
    score = await probes.collect(ticket)
    if score is None:
        _leave_out(probes, service, ("delivered-again", "idempotency"), _SKIPPED)
        return
    await probes.collect_again(ticket, score)
    if service is not None:
        pads = await service.strange_ticket(ticket, score)
        await service.batch(pads=pads)
    await probes.idempotency(score)


def _leave_out(probes: Probes, service: Service | None, names: tuple[str, ...], why: str) -> None:
    for name in (*names, *(() if service is None else _LATER_SERVICE)):
        probes.say(name, "not-applicable", why)
