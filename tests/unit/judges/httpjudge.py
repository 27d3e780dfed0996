"""An http judge over a transport that answers as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx

from releasecheck.judges.http import Http
from releasecheck.model.judge import HttpJudge
from releasecheck.redact import Redactor
from releasecheck.transport.client import RunClient
from releasecheck.transport.context import Context
from releasecheck.transport.http import HttpClient
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.ports import Clock

WHO = {"contract": "evaluator@2", "name": "scripted"}
Script: TypeAlias = Callable[[httpx.Request], httpx.Response]


def said(body: object, status: int = 200, **headers: str) -> httpx.Response:
    """An answer; bytes are sent as they are, everything else as JSON (NaN too)."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.Response(status, content=data, headers=headers)


def http_judge(
    script: Script,
    *,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    **spec: Any,
) -> Http:
    """The judge, not opened by a plan; every variable counts as a secret."""
    known = dict(environment or {})
    redactor = Redactor(known)
    transport = httpx.MockTransport(script)
    context = Context(
        environment=known,
        root=Path(),
        clock=clock or FakeClock(),
        client=RunClient({}, lambda _: HttpClient(transport)),
        redact=redactor.text,
        jitter=lambda: 0.5,
    )
    written = {"id": "j", "type": "http", "url": "http://judge.test/score", **spec}
    return Http(HttpJudge.model_validate(written), context, redactor)


def answering(body: object, status: int = 200, **headers: str) -> Script:
    """Identifies itself, and gives the same answer to everything else."""

    def script(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return said(WHO)
        return said(body, status, **headers)

    return script


def in_turn(*answers: httpx.Response) -> Script:
    """Identifies itself, and gives one answer after the other."""
    left = iter(answers)

    def script(request: httpx.Request) -> httpx.Response:
        return said(WHO) if request.method == "GET" else next(left)

    return script
