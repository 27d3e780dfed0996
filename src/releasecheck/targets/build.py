"""Open a target: start its program, connect, and put concurrency, pace and retries around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.errors import ConfigError, Problem
from releasecheck.model.target import (
    CommandTarget,
    HttpTarget,
    OpenAITarget,
    PluginTarget,
    PythonTarget,
)
from releasecheck.references import PORT
from releasecheck.targets.checks import template_problems
from releasecheck.targets.retrying import RetryingTarget, Rules
from releasecheck.transport.context import Context
from releasecheck.transport.limits import Pace
from releasecheck.transport.retry import Backoff

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.model.target import Target as TargetSpec
    from releasecheck.ports import Clock, Target
    from releasecheck.redact import Redactor
    from releasecheck.targets.ask import Asker
    from releasecheck.targets.start import Started
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.client import RunClient


async def open_target(
    spec: TargetSpec,
    *,
    client: RunClient,
    root: Path,
    environment: Mapping[str, str],
    clock: Clock,
    redactor: Redactor,
    concurrency: int | None = None,
    rate_limit: float | None = None,
    seed: int = 0,
    log_folder: Path | None = None,
) -> Target:
    """Open the target of a suite; whoever opens it closes it.

    Args:
        spec: As the plan holds it.
        client: The one of the run.
        root: The config's folder.
        environment: For references, and for programs.
        clock: For waiting and measuring.
        redactor: Knows the secrets.
        concurrency: This shard's part of it; None takes the suite's.
        rate_limit: This shard's part of it, in calls per second; None takes the suite's.
        seed: Of the jitter.
        log_folder: Where a started program's log goes; None is the system's temporary folder.

    Raises:
        ConfigError: it cannot work as configured; nothing was called.
        EnvironmentMissing: a reference has no value.
        InfrastructureError: its program did not become ready.
    """
    # An own stream, so that nothing else that is seeded by the plan moves with retries.
    from numpy.random import PCG64, Generator

    context = Context(
        environment=environment,
        root=root,
        clock=clock,
        client=client,
        redact=redactor.text,
        jitter=Generator(PCG64([seed, 0x7E7])).random,
        log_folder=log_folder,
    )
    classify = context.classifier("target")
    rules = Rules(
        concurrency=concurrency or spec.concurrency,
        retries=spec.retries,
        timeout_s=spec.timeout,
        irreversible=spec.side_effects == "irreversible",
    )
    started = await _start(spec, context, classify)
    try:
        if started is not None:
            context = _with_port(context, started.port)
        asker = await _asker(spec, context, classify, rules.concurrency)
    except BaseException:
        if started is not None:
            await started.aclose()
        raise
    rate = rate_limit or spec.rate_limit
    return RetryingTarget(
        asker,
        rules,
        clock=clock,
        backoff=Backoff(context.jitter),
        pace=Pace(rate, clock) if rate else None,
        started=started,
    )


async def _start(spec: TargetSpec, context: Context, classify: Classifier) -> Started | None:
    if spec.start is None:
        return None
    from releasecheck.targets.start import start_target

    return await start_target(spec.start, context, classify, spec.id)


def _with_port(context: Context, port: int) -> Context:
    from dataclasses import replace

    return replace(context, environment={**context.environment, PORT: str(port)})


async def _asker(
    spec: TargetSpec, context: Context, classify: Classifier, concurrency: int
) -> Asker:
    # Each kind imports its own libraries, and only when it is used.
    match spec:
        case CommandTarget():
            from releasecheck.targets.command import CommandAsker

            return CommandAsker(spec, context, classify)
        case PythonTarget():
            from releasecheck.targets.python import PythonAsker

            function = PythonAsker(spec, context, classify, concurrency)
            await function.start()
            return function
        case PluginTarget():
            from releasecheck.targets.plugin import PluginAsker

            return PluginAsker(spec, context, classify)
        case HttpTarget() | OpenAITarget():
            return _over_http(spec, context, classify)


def _over_http(spec: HttpTarget | OpenAITarget, context: Context, classify: Classifier) -> Asker:
    from releasecheck.targets.http import HttpAsker
    from releasecheck.targets.openai import OpenAIAsker
    from releasecheck.targets.template import TemplateProblem

    wrong = [Problem(p.message, key=f"target.{p.key}") for p in template_problems(spec)]
    if wrong:
        raise ConfigError(wrong)
    key = "target.messages" if isinstance(spec, OpenAITarget) else "target.body"
    client = context.client.http()
    try:
        if isinstance(spec, HttpTarget):
            return HttpAsker(spec, client, classify, context.clock, context.environment)
        return OpenAIAsker(spec, client, classify, context.clock, context.environment)
    except TemplateProblem as problem:
        raise ConfigError([Problem(str(problem), key=key)]) from None
