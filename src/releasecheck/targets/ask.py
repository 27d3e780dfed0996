"""What one kind of target does: ask once. Concurrency, pace and retries are added around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from releasecheck.model.record import NO_USAGE, Usage

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.ports import TargetCall
    from releasecheck.transport.classify import Classifier, Trouble
    from releasecheck.transport.limits import Gate


class Got(NamedTuple):
    """The attempt gave an answer."""

    output: Json
    """Any JSON but null."""
    usage: Usage = NO_USAGE
    trace_id: str | None = None
    notes: tuple[str, ...] = ()
    fingerprint: str | None = None
    """Which model answered, as the answer says it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The attempt gave none."""

    trouble: Trouble
    usage: Usage = NO_USAGE
    """An answer that is none may still have cost something."""


Attempt: TypeAlias = Got | Lost


class Asker(Protocol):
    """Asks the system under test once; raises only `asyncio.CancelledError`."""

    classify: Classifier
    gate: Gate | None
    """Of the host that is called; None when no host is."""

    async def ask(self, call: TargetCall) -> Attempt:
        """One attempt, bounded by the target's time limit."""
        ...

    async def aclose(self) -> None:
        """Stop what was started; idempotent."""
        ...
