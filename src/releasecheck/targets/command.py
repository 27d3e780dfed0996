"""A target that is a program: one process per trial, the case on stdin, the answer on stdout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.canonical import JsonProblem
from releasecheck.errors import ConfigError, Problem
from releasecheck.references import resolve_text
from releasecheck.targets.answer import AnswerReader
from releasecheck.targets.ask import Asker, Attempt, Got, Lost
from releasecheck.transport.process import Program, ProgramNotFound, run_program
from releasecheck.transport.reading import Read, json_problem, read_json, read_text

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.target import CommandTarget
    from releasecheck.ports import TargetCall
    from releasecheck.transport.classify import Classifier, Trouble
    from releasecheck.transport.context import Context
    from releasecheck.transport.limits import Gate

KEY_VARIABLE: Final = "RELEASECHECK_IDEMPOTENCY_KEY"


def case_object(call: TargetCall) -> dict[str, Json]:
    """What programs and functions get of a case: never `expected`."""
    return {
        "id": call.case,
        "input": call.input,
        "tags": list(call.tags),
        "metadata": dict(call.metadata),
        "trial": call.trial,
    }


class CommandAsker(Asker):
    """Runs the program and reads its standard output."""

    def __init__(self, spec: CommandTarget, context: Context, classify: Classifier) -> None:
        """Resolve what is the same for every case.

        Raises:
            ConfigError: the program does not exist, or options contradict each other.
            EnvironmentMissing: a reference has no value.
        """
        self.classify = classify
        self.gate: Gate | None = None
        if spec.format == "text" and (spec.output or spec.usage or spec.trace_id):
            message = "output, usage and trace_id read JSON; add `format: json`, or leave them out"
            raise ConfigError([Problem(message, key="target.format")])
        environment = context.environment
        own = {name: resolve_text(value, environment) for name, value in spec.env.items()}
        self._program = Program(
            tuple(resolve_text(part, environment) for part in spec.run),
            context.root,
            {**environment, **own},
            spec.memory_limit,
        )
        try:
            self._program.command()
        except ProgramNotFound as error:
            message = classify.clean(str(error))
            raise ConfigError([Problem(message, key="target.run")]) from None
        self._doing = f"command {classify.clean(self._program.argv[0])}"
        self._timeout_s = spec.timeout
        self._json = spec.format == "json"
        self._reader = AnswerReader(spec, classify)

    @override
    async def ask(self, call: TargetCall) -> Attempt:
        stdin = json.dumps(case_object(call), ensure_ascii=True).encode("ascii") + b"\n"
        program = Program(
            self._program.argv,
            self._program.cwd,
            {**self._program.environment, KEY_VARIABLE: call.idempotency_key},
            self._program.memory_limit,
        )
        try:
            end = await run_program(program, stdin=stdin, within_s=self._timeout_s)
        except ProgramNotFound as error:
            return Lost(self.classify.config("command_not_found", str(error)))
        except OSError as error:
            # Too many processes, no memory: of this machine and this moment.
            text = f"{self._doing}: could not be started: {error}"
            return Lost(self.classify.infra("not_started", text, again=True))
        trouble = self.classify.exit(end, self._doing)
        if trouble is not None:
            return Lost(trouble)
        if not end.stdout.strip() and end.stderr_tail.strip():
            text = f"{self._doing}: nothing on stdout{self.classify.end_of(end.stderr_tail)}"
            return Lost(self.classify.broken("only_stderr", text))
        return self._read_json(end.stdout) if self._json else _read_text(end.stdout)

    def _read_json(self, stdout: bytes) -> Attempt:
        if not stdout.strip():
            return Lost(self._reader.none(f"{self._doing}: nothing on stdout"))
        try:
            read = read_json(stdout)
        except JsonProblem as problem:
            return Lost(self._not_json(stdout, problem))
        return self._reader.take(read, self._doing)

    def _not_json(self, stdout: bytes, problem: JsonProblem) -> Trouble:
        before = _chatter(stdout)
        if before is not None:
            text = (
                f"{self._doing}: stdout has {self.classify.start_of(before)!r} before the JSON; "
                "print progress to stderr"
            )
        else:
            start = self.classify.start_of(stdout[:4096].decode("utf-8", "replace"))
            text = (
                f"{self._doing}: stdout is not JSON: {json_problem(problem)}; it starts {start!r}"
            )
        return self.classify.broken("not_json", text)

    @override
    async def aclose(self) -> None:
        return None


def _read_text(stdout: bytes) -> Attempt:
    read = read_text(stdout)
    text = str(read.value)
    for ending in ("\r\n", "\n"):
        if text.endswith(ending):
            text = text[: -len(ending)]
            break
    return Got(text, notes=read.notes)


def _chatter(stdout: bytes) -> str | None:
    """What stands before a JSON document that would be fine without it; None when there is none."""
    lines = stdout.splitlines(keepends=True)
    for skipped in range(1, min(len(lines), 50)):
        rest = b"".join(lines[skipped:])
        if rest.lstrip()[:1] in (b"{", b"[") and _is_json(rest):
            return b"".join(lines[:skipped]).decode("utf-8", "replace")
    return None


def _is_json(data: bytes) -> bool:
    try:
        found: Read = read_json(data)
    except JsonProblem:
        return False
    return found.value is not None
