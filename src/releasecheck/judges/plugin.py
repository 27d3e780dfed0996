"""A judge that an installed package offers; whatever it does, it fails its own scores and nothing else."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from typing_extensions import override

from releasecheck.errors import ConfigError, Problem
from releasecheck.judges.outcome import cannot
from releasecheck.judges.plugin_answers import checked_arrived, checked_judged
from releasecheck.model.failure import failure
from releasecheck.ports import BulkJudge, Collected, DeferredJudge, Judge, Judged, Purged
from releasecheck.references import resolve
from releasecheck.transport.plugins import BROKEN, JUDGES, described, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.judge import PluginJudge
    from releasecheck.model.score import JudgeFailed
    from releasecheck.ports import JudgeAsk
    from releasecheck.redact import Redactor
    from releasecheck.transport.context import Context


def open_plugin(spec: PluginJudge, context: Context, redactor: Redactor) -> Judge:
    """The judge that a plug-in makes of its options, held to its contract.

    Raises:
        ConfigError: it is not installed, speaks another contract, or does not open.
        EnvironmentMissing: a reference in its options has no value.
    """
    plugin = load(JUDGES, spec.plugin)
    options = resolve(spec.options, context.environment)
    try:
        found = plugin.open(options, context)
    except BROKEN as error:
        _refuse(spec, f"could not be opened: {redactor.text(described(error))}")
    if not all(callable(getattr(found, name, None)) for name in ("judge", "aclose")):
        kind = type(found).__name__
        _refuse(spec, f"opened as {kind}, which has no `judge` and `aclose`")
    if isinstance(found, BulkJudge):
        return HeldBulk(found, spec)
    if isinstance(found, DeferredJudge):
        return HeldDeferred(found, spec)
    return Held(found, spec)


def _refuse(spec: PluginJudge, what: str) -> NoReturn:
    message = f"judge {spec.id}: plug-in {spec.plugin!r} {what}"
    raise ConfigError([Problem(message, key="options")])


class Held(Judge):
    """Around a judge of a plug-in: how many at once, how long, and what an answer is."""

    deferred = False

    def __init__(self, inner: Any, spec: PluginJudge) -> None:  # noqa: ANN401 - foreign until checked
        self._inner = inner
        self._spec = spec
        self._slots = asyncio.Semaphore(spec.concurrency)

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        async with self._slots:
            limit = asyncio.timeout(self._spec.timeout)
            try:
                async with limit:
                    found = await self._inner.judge(ask)
                # Looking at a foreign object may raise, too.
                return checked_judged(found, self._spec, deferred=self.deferred)
            except BROKEN as error:
                return Judged(self._failed(error, over=limit.expired()))

    def _failed(self, error: BaseException, *, over: bool) -> JudgeFailed:
        if over and isinstance(error, TimeoutError):
            message = f"{self._name}: no answer within {self._spec.timeout:g} s"
            return cannot("timeout", message, retryable=True)
        return cannot("contract_violation", f"{self._name} raised {described(error)}")

    @property
    def _name(self) -> str:
        return f"plug-in {self._spec.plugin!r}"

    @override
    async def aclose(self) -> None:
        # All that it was asked is on record: nobody is helped by a run that ends on its goodbye.
        with suppress(*BROKEN):
            await self._inner.aclose()


class HeldDeferred(Held, DeferredJudge):
    """The same around one that may answer later."""

    deferred = True

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        limit = asyncio.timeout(within_s)
        try:
            async with limit:
                found = await self._inner.collect(tickets, within_s)
            if isinstance(found, Collected):
                return checked_arrived(found, tickets, self._spec)
        except BROKEN as error:
            if limit.expired() and isinstance(error, TimeoutError):
                message = f"{self._name}: no answer within {within_s:g} s"
                return Collected(
                    failure=failure("judge", "collect", "timeout", message, retryable=True)
                )
            return self._broken(f"raised {described(error)}")
        return self._broken(f"answered {type(found).__name__} where `Collected` is due")

    def _broken(self, what: str) -> Collected:
        message = f"{self._name} {what}"
        return Collected(failure=failure("judge", "collect", "contract_violation", message))

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        try:
            found = await self._inner.purge(tickets, within_s)
        except BROKEN as error:
            return Purged("failed", f"{self._name} raised {described(error)}")
        known = isinstance(found, Purged) and str(found.state) in {"done", "unsupported", "failed"}
        if not known:
            message = f"{self._name} answered {type(found).__name__} where `Purged` is due"
            return Purged("failed", message)
        return Purged(found.state, str(found.message))


class HeldBulk(HeldDeferred, BulkJudge):
    """The same around one that takes many outputs at once."""

    def __init__(self, inner: BulkJudge, spec: PluginJudge) -> None:
        super().__init__(inner, spec)
        most: Any = inner.most
        self.most = most if isinstance(most, int) and most >= 1 else 1

    @override
    async def submit(self, asks: Sequence[JudgeAsk]) -> Sequence[Judged]:
        async with self._slots:
            limit = asyncio.timeout(self._spec.timeout)
            try:
                async with limit:
                    found = await self._inner.submit(asks)
                return self._each(found, len(asks))
            except BROKEN as error:
                return [Judged(self._failed(error, over=limit.expired()))] * len(asks)

    def _each(self, found: Any, asked: int) -> list[Judged]:  # noqa: ANN401 - foreign
        if not isinstance(found, list | tuple) or len(found) != asked:
            said = f"{len(found)} answers" if isinstance(found, list | tuple) else str(type(found))
            message = f"{self._name} gave {said} to {asked} outputs"
            return [Judged(cannot("contract_violation", message))] * asked
        return [checked_judged(one, self._spec, deferred=True) for one in found]
