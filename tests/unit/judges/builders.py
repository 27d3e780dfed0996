"""Judges and what they are asked, with defaults."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from releasecheck.judges import open_judges
from releasecheck.model.judge import Judge as JudgeSpec
from releasecheck.model.plan import PlannedJudge
from releasecheck.model.score import JudgeAnswer, JudgeFailed, NotApplicable, Scored
from releasecheck.ports import Judge, JudgeAsk, JudgeCase
from releasecheck.redact import NOTHING_SECRET, Redactor
from releasecheck.transport import open_client
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGEST = "sha256:" + "0" * 64
_SPECS: TypeAdapter[JudgeSpec] = TypeAdapter(JudgeSpec)


def spec_of(type_: str, **settings: Any) -> JudgeSpec:
    """A judge as a suite has it."""
    return _SPECS.validate_python({"id": "j", "type": type_, **settings})


def opened(
    spec: JudgeSpec,
    *,
    root: Path | None = None,
    environment: Mapping[str, str] | None = None,
    redactor: Redactor = NOTHING_SECRET,
) -> Judge:
    """The judge of a plan with this one."""
    planned = PlannedJudge(spec=spec, contract="builtin@1", digest=DIGEST)
    judges = open_judges(
        [planned],
        root=root,
        environment=environment or {},
        clock=FakeClock(),
        redactor=redactor,
        client=open_client(environment or {}),
    )
    return judges[spec.id]


def ask(
    output: Any,
    expected: Any = None,
    *,
    tags: tuple[str, ...] = (),
    split: str = "main",
    metadata: Mapping[str, Any] | None = None,
) -> JudgeAsk:
    """One output to be judged."""
    case = JudgeCase("c1", "the question", expected, metadata or {}, tags, split)
    return JudgeAsk(case, 0, output, DIGEST, "rc-1", "j", "key")


def answer(type_: str, output: Any, expected: Any = None, **settings: Any) -> JudgeAnswer:
    """What a judge says to an output."""
    judge = opened(spec_of(type_, **settings))
    return asyncio.run(judge.judge(ask(output, expected))).answer


def said(found: JudgeAnswer) -> float | str:
    """A value, or a word for everything that has none: a failure's code, or `not-applicable`."""
    match found:
        case Scored(value):
            return value
        case JudgeFailed(failure):
            return failure.code
        case NotApplicable():
            return "not-applicable"
        case _:
            return "pending"


def reason(found: JudgeAnswer) -> str:
    """The words that go with an answer."""
    match found:
        case Scored(reason=words):
            return words or ""
        case NotApplicable(words):
            return words
        case JudgeFailed(failure):
            return failure.message or ""
        case _:
            return ""
