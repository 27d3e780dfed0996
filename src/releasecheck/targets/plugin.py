"""A target that an installed package offers: asked once per attempt, its answer read like any other."""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.record import NO_USAGE, Usage
from releasecheck.ports import Answered, TargetFailed
from releasecheck.references import resolve
from releasecheck.targets.answer import AnswerReader
from releasecheck.targets.ask import Asker, Attempt, Got, Lost
from releasecheck.transport.classify import Kind, Trouble
from releasecheck.transport.plugins import BROKEN, TARGETS, described, is_failure, load
from releasecheck.transport.reading import fingerprint, json_problem, read_json, trace_id

if TYPE_CHECKING:
    from releasecheck.model.failure import Failure
    from releasecheck.model.target import PluginTarget
    from releasecheck.ports import TargetCall
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.context import Context
    from releasecheck.transport.limits import Gate


class PluginAsker(Asker):
    """Asks what the plug-in opened; concurrency, pace and retries are the suite's."""

    def __init__(self, spec: PluginTarget, context: Context, classify: Classifier) -> None:
        """Open the plug-in.

        Raises:
            ConfigError: it is not installed, speaks another contract, or does not open.
            EnvironmentMissing: a reference in its options has no value.
        """
        self.classify = classify
        self.gate: Gate | None = None
        self._name = f"plug-in {spec.plugin!r}"
        self._timeout_s = spec.timeout
        self._reader = AnswerReader(spec, classify)
        plugin = load(TARGETS, spec.plugin)
        options = resolve(spec.options, context.environment)
        try:
            self._inner = plugin.open(options, context)
        except BROKEN as error:
            self._refuse(f"could not be opened: {described(error)}")
        if not all(callable(getattr(self._inner, name, None)) for name in ("answer", "aclose")):
            self._refuse(f"opened as {type(self._inner).__name__}, without `answer` and `aclose`")

    def _refuse(self, what: str) -> None:
        message = self.classify.clean(f"{self._name} {what}")
        raise ConfigError([Problem(message, key="target.options")])

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                found = await self._inner.answer(call)
        except BROKEN as error:
            if limit.expired() and isinstance(error, TimeoutError):
                message = f"{self._name}: no answer within {self._timeout_s:g} s"
                return Lost(self.classify.trouble(Kind(None, "timeout", retryable=True), message))
            return Lost(self._broken(f"raised {described(error)}"))
        match found:
            case TargetFailed(failed, usage) if is_failure(failed):
                return Lost(self._failed(failed), _usage(usage))
            case Answered():
                return self._read(found)
            case _:
                kind = type(found).__name__
                return Lost(
                    self._broken(f"answered {kind} where `Answered` or `TargetFailed` is due")
                )

    def _read(self, found: Answered) -> Attempt:
        try:
            # Through the same reader as every other answer: what is not JSON is told apart here.
            read = read_json(json.dumps(found.output, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError) as error:
            words = json_problem(error) if isinstance(error, JsonProblem) else str(error)
            return Lost(self.classify.broken("not_json", f"{self._name}: no JSON: {words}"))
        attempt = self._reader.take(read, self._name)
        said = _usage(found.usage)
        if not isinstance(attempt, Got):
            return attempt
        return attempt._replace(
            usage=attempt.usage if said is NO_USAGE else said,
            trace_id=attempt.trace_id or trace_id(found.trace_id),
            fingerprint=fingerprint(found.fingerprint),
        )

    def _failed(self, found: Failure) -> Trouble:
        """Asked again where the way there broke, as after a failure that we saw ourselves."""
        kind = Kind(
            found.cls, found.code, found.cls == "infra" and found.retryable, found.retryable
        )
        return self.classify.trouble(kind, found.message or found.code)

    def _broken(self, what: str) -> Trouble:
        return self.classify.broken("contract_violation", f"{self._name} {what}")

    @override
    async def aclose(self) -> None:
        with suppress(*BROKEN):
            await self._inner.aclose()


def _usage(found: Any) -> Usage:  # noqa: ANN401 - of foreign code
    """What was said, where it is amounts; costs that make no sense are not said."""
    if not isinstance(found, Usage) or found == NO_USAGE:
        return NO_USAGE
    tokens: Any = found.tokens
    cost: Any = found.cost_usd
    sane = (tokens is None or _is(tokens, int)) and (cost is None or _is(cost, int | float))
    return found if sane else NO_USAGE


def _is(amount: Any, kind: Any) -> bool:  # noqa: ANN401
    return isinstance(amount, kind) and not isinstance(amount, bool) and 0 <= amount < math.inf
