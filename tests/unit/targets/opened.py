"""Open a target over a transport without network, ask it once, close it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import TypeAdapter

from releasecheck.model.target import Target
from releasecheck.ports import TargetAnswer, TargetCall
from releasecheck.redact import Redactor
from releasecheck.targets import open_target
from releasecheck.transport.client import RunClient
from releasecheck.transport.http import HttpClient
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.model.target import Target as TargetSpec

SPECS: TypeAdapter[Any] = TypeAdapter(Target)


def spec_of(written: Mapping[str, Any]) -> TargetSpec:
    """A target as a config would have it."""
    spec: TargetSpec = SPECS.validate_python(dict(written))
    return spec


def call_of(given: object = "hi", *, case: str = "c1", trial: int = 0) -> TargetCall:
    """A call with defaults."""
    return TargetCall(case, trial, given, ("t",), {"lang": "nb"}, f"rc-1:{case}#t{trial}")


async def opened(
    written: Mapping[str, Any],
    handler: Callable[[httpx.Request], httpx.Response],
    environment: Mapping[str, str],
    call: TargetCall,
    clock: FakeClock | None = None,
) -> TargetAnswer:
    """What the target answers when the other side is `handler`."""
    clock = clock or FakeClock()
    make = lambda _: HttpClient(httpx.MockTransport(handler))  # noqa: E731
    async with RunClient(environment, make) as client:
        target = await open_target(
            spec_of(written),
            client=client,
            root=Path(),
            environment=environment,
            clock=clock,
            redactor=Redactor(dict(environment)),
        )
        try:
            return await target.answer(call)
        finally:
            await target.aclose()
