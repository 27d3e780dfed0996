"""A target that is a Python function, called in the user's own interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.errors import ConfigError, Problem
from releasecheck.references import resolve_text
from releasecheck.targets.answer import AnswerReader
from releasecheck.targets.ask import Asker, Attempt, Lost
from releasecheck.targets.command import case_object
from releasecheck.transport.limits import Gate
from releasecheck.transport.process import Program
from releasecheck.transport.pyworker import PythonWorker, WorkerNotStarted
from releasecheck.transport.reading import json_problem, read_json

if TYPE_CHECKING:
    from releasecheck.model.target import PythonTarget
    from releasecheck.ports import TargetCall
    from releasecheck.transport.classify import Classifier
    from releasecheck.transport.context import Context


class PythonAsker(Asker):
    """Calls the function in its worker."""

    def __init__(
        self, spec: PythonTarget, context: Context, classify: Classifier, concurrency: int
    ) -> None:
        """Describe the worker; `start` starts it.

        Raises:
            EnvironmentMissing: a reference has no value.
        """
        self.classify = classify
        self.gate: Gate | None = None
        environment = context.environment
        own = {name: resolve_text(value, environment) for name, value in spec.env.items()}
        program = Program(
            (resolve_text(spec.interpreter, environment),),
            context.root,
            {**environment, **own},
            spec.memory_limit,
        )
        self._worker = PythonWorker(
            program,
            spec.function,
            concurrency=concurrency,
            classifier=classify,
            gate=Gate(),
            resend=spec.side_effects != "irreversible",
        )
        self._function = spec.function
        self._timeout_s = spec.timeout
        self._reader = AnswerReader(spec, classify)

    async def start(self) -> None:
        """Import the function.

        Raises:
            ConfigError: the interpreter or the function cannot be loaded; nothing was called.
        """
        try:
            await self._worker.start()
        except WorkerNotStarted as error:
            message = self.classify.clean(f"python target cannot be loaded: {error}")
            raise ConfigError([Problem(message, key="target.function")]) from None

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        argument = {**case_object(call), "idempotency_key": call.idempotency_key}
        reply = await self._worker.call(argument, self._timeout_s)
        if not isinstance(reply, bytes):
            return Lost(reply)
        try:
            read = read_json(reply)
        except JsonProblem as problem:
            text = f"{self._function} returned JSON that is not taken: {json_problem(problem)}"
            return Lost(self.classify.broken("not_json", text))
        return self._reader.take(read, self._function)

    @override
    async def aclose(self) -> None:
        await self._worker.aclose()
