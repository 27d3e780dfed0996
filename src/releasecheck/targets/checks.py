"""What would keep a target from working, found without calling it (S0-C5)."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from releasecheck.credentials import redactor_of
from releasecheck.errors import ConfigError, EnvironmentMissing, Problem
from releasecheck.model.target import (
    CommandTarget,
    HttpTarget,
    OpenAITarget,
    PluginTarget,
    PythonTarget,
)
from releasecheck.references import resolve, resolve_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from releasecheck.model.target import Target as TargetSpec


def check_target(
    spec: TargetSpec, root: Path | None, environment: Mapping[str, str]
) -> list[Problem]:
    """Problems of templates, expressions, programs and functions; `key` is the key in the target.

    A program is looked for and a function is imported by the interpreter that will run it. What needs
    a variable that is not set here is left to the run, which checks its environment first.
    """
    problems = [*template_problems(spec), *_expressions(spec)]
    if problems or root is None:
        return problems
    redactor = redactor_of([spec.model_dump(mode="json", by_alias=True)], environment)
    try:
        found = list(_programs(spec, root, environment))
    except EnvironmentMissing:
        return []
    except ConfigError as error:
        found = list(error.problems)
    return [Problem(redactor.text(p.message), p.path, p.line, p.column, p.key) for p in found]


def template_problems(spec: TargetSpec) -> Iterator[Problem]:
    """What is wrong with a target's templates, names that it may not see among it; `key` in the target."""
    from releasecheck.targets.template import undeclared, undeclared_in_url

    written: dict[str, object] = {}
    if isinstance(spec, HttpTarget):
        written = {"body": spec.body}
        if "{{" in spec.url:
            yield from (Problem(message, key="url") for message in undeclared_in_url(spec.url))
    elif isinstance(spec, OpenAITarget):
        whole = isinstance(spec.messages, str)
        written = {"messages": spec.messages if whole else list(spec.messages)}
    for key, value in written.items():
        yield from (Problem(message, key=key) for message in undeclared(value))


def _expressions(spec: TargetSpec) -> Iterator[Problem]:
    import jmespath
    from jmespath.exceptions import JMESPathError

    usage = spec.usage
    written = {
        "output": spec.output,
        "usage.tokens": None if usage is None else usage.tokens,
        "usage.cost_usd": None if usage is None else usage.cost_usd,
        "trace_id": spec.trace_id,
        "fingerprint": spec.fingerprint if isinstance(spec, HttpTarget) else None,
    }
    for key, text in written.items():
        if text is None or (key in ("trace_id", "fingerprint") and text.startswith("header:")):
            continue
        try:
            jmespath.compile(text)
        except JMESPathError as error:
            first = str(error).splitlines()[0]
            yield Problem(f"{text!r} is no JMESPath expression: {first}", key=key)


def _programs(spec: TargetSpec, root: Path, environment: Mapping[str, str]) -> Iterator[Problem]:
    if spec.start is not None:
        yield from _program(spec.start.run, "start.run", root, environment, {})
    if isinstance(spec, PluginTarget):
        yield from _plugin(spec)
    elif isinstance(spec, CommandTarget):
        yield from _program(spec.run, "run", root, environment, spec.env)
    elif isinstance(spec, PythonTarget):
        yield from _function(spec, root, environment)


def _program(
    argv: tuple[str, ...],
    key: str,
    root: Path,
    environment: Mapping[str, str],
    added: Mapping[str, str],
) -> Iterator[Problem]:
    from releasecheck.transport.process import Program, ProgramNotFound

    first = resolve_text(argv[0], environment)
    own = resolve(dict(added), environment)
    try:
        Program((first,), root, {**environment, **own}).command()
    except ProgramNotFound as error:
        yield Problem(str(error), key=key)


def _plugin(spec: PluginTarget) -> Iterator[Problem]:
    from releasecheck.transport.plugins import TARGETS, load

    try:
        load(TARGETS, spec.plugin)
    except ConfigError as error:
        yield from error.problems


def _function(spec: PythonTarget, root: Path, environment: Mapping[str, str]) -> Iterator[Problem]:
    from releasecheck.targets.python import PythonAsker
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.client import RunClient
    from releasecheck.transport.context import Context

    context = Context(
        environment=environment,
        root=root,
        clock=_NoClock(),
        client=RunClient(environment),
        redact=str,
        jitter=lambda: 0.0,
        log_folder=None,
    )

    async def load() -> None:
        asker = PythonAsker(spec, context, Classifier("target", str), 1)
        try:
            await asker.start()
        finally:
            await asker.aclose()

    try:
        # On a loop of its own, since the caller may be on one already.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, load()).result()
    except ConfigError as error:
        yield from error.problems


class _NoClock:
    """Nothing is measured or waited for while a function is only loaded."""

    def now(self) -> str:
        return ""

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
