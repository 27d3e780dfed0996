"""From specs to judges: what cannot work is said before the first call, the rest is opened."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from releasecheck.credentials import redactor_of
from releasecheck.errors import ConfigError, EnvironmentMissing, Problem
from releasecheck.judges.checks import read_schema, spec_problems
from releasecheck.judges.wrap import WrappedJudge
from releasecheck.model.suite import (
    CommandJudge,
    ContainsJudge,
    ExactJudge,
    JsonSchemaJudge,
    NumericJudge,
    PythonJudge,
    RankJudge,
    RegexJudge,
    SimilarityJudge,
)
from releasecheck.references import resolve, resolve_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from releasecheck.model.plan import PlannedJudge
    from releasecheck.model.suite import Judge as JudgeSpec
    from releasecheck.ports import Clock, Judge
    from releasecheck.redact import Redactor
    from releasecheck.transport.process import Program
    from releasecheck.transport.pyworker import PythonWorker


def open_judges(
    planned: Sequence[PlannedJudge],
    *,
    root: Path | None,
    environment: Mapping[str, str],
    clock: Clock,
    redactor: Redactor,
    concurrency: Mapping[str, int] | None = None,
) -> dict[str, Judge]:
    """Every judge of a plan by its id; processes start when first asked.

    Args:
        planned: The plan's judges.
        root: The config's folder: programs start there, modules are found there. None where it is
            not at hand, which is enough for judges that are all spec.
        environment: What references are read from; programs get it too.
        clock: For judges that wait.
        redactor: Removes secrets from reasons and messages.
        concurrency: This shard's part of each judge's, by id; the suite's for those not named.

    Raises:
        ConfigError: a judge cannot work (see `spec_problems`), or needs the folder.
        EnvironmentMissing: a variable that a judge names is not set.
    """
    opener = _Opener(root, environment, redactor)
    return {judge.id: opener.judge(_limited(judge.spec, concurrency or {})) for judge in planned}


def _limited(spec: JudgeSpec, concurrency: Mapping[str, int]) -> JudgeSpec:
    if not isinstance(spec, PythonJudge | CommandJudge) or spec.id not in concurrency:
        return spec
    return spec.model_copy(update={"concurrency": concurrency[spec.id]})


def check_judge(
    spec: JudgeSpec, root: Path | None, environment: Mapping[str, str]
) -> list[Problem]:
    """What would keep a judge from working, in its spec and where it is to run (S0-C5).

    A program is looked for; a function is imported by the interpreter that will run it. Nothing is
    called. What needs a variable that is not set here is left to the run, which checks its environment
    first: a job that plans has no secrets. `key` is the key inside the judge.
    """
    problems = spec_problems(spec, root)
    if problems or not isinstance(spec, PythonJudge | CommandJudge):
        return problems
    redactor = redactor_of([spec.model_dump(mode="json", by_alias=True)], environment)
    opener = _Opener(root, environment, redactor)
    try:
        message = opener.trouble(spec)
    except EnvironmentMissing:
        return []
    except ConfigError as error:
        return list(error.problems)
    key = "function" if isinstance(spec, PythonJudge) else "run"
    return [] if message is None else [Problem(redactor.text(message), key=key)]


class _Opener:
    def __init__(
        self, root: Path | None, environment: Mapping[str, str], redactor: Redactor
    ) -> None:
        self._root = root
        self._environment = environment
        self._redactor = redactor

    def judge(self, spec: JudgeSpec) -> Judge:
        """One judge with what the suite puts around it."""
        problems = spec_problems(spec, self._root)
        if problems:
            raise ConfigError(
                Problem(f"judge {spec.id}: {p.message}", p.path, p.line, p.column, p.key)
                for p in problems
            )
        return WrappedJudge(self._inner(spec), spec, self._redactor)

    def _inner(self, spec: JudgeSpec) -> Judge:
        match spec:
            case ExactJudge():
                from releasecheck.judges.exact import Exact

                return Exact(spec)
            case ContainsJudge():
                from releasecheck.judges.contains import Contains

                return Contains(spec)
            case RegexJudge():
                from releasecheck.judges.regex import Regex

                return Regex(spec)
            case JsonSchemaJudge():
                from releasecheck.judges.schema import JsonSchema

                return JsonSchema(read_schema(spec, self._root))
            case NumericJudge():
                from releasecheck.judges.numeric import Numeric

                return Numeric(spec)
            case SimilarityJudge():
                from releasecheck.judges.similarity import Similarity

                return Similarity(spec)
            case RankJudge():
                from releasecheck.judges.rank import Rank

                return Rank(spec)
            case PythonJudge():
                from releasecheck.judges.python import Python

                return Python(spec, self._worker(spec), self._redactor)
            case CommandJudge():
                from releasecheck.judges.command import Command

                return Command(spec, self._program(spec, spec.run), self._redactor)

    def _program(self, spec: PythonJudge | CommandJudge, argv: Sequence[str]) -> Program:
        from releasecheck.transport.process import Program

        if self._root is None:
            message = f"judge {spec.id} runs in the config's folder, which is not at hand"
            raise ConfigError([Problem(message)])
        added = resolve(spec.env, self._environment)
        arguments = tuple(resolve_text(argument, self._environment) for argument in argv)
        return Program(arguments, self._root, {**self._environment, **added})

    def _worker(self, spec: PythonJudge) -> PythonWorker:
        from releasecheck.transport.classify import Classifier
        from releasecheck.transport.limits import Gate
        from releasecheck.transport.pyworker import PythonWorker

        return PythonWorker(
            self._program(spec, [spec.interpreter]),
            spec.function,
            concurrency=spec.concurrency,
            classifier=Classifier("judge", self._redactor.text),
            gate=Gate(),
        )

    def trouble(self, spec: PythonJudge | CommandJudge) -> str | None:
        """Why a judge cannot run here; None when it can."""
        from releasecheck.transport.process import ProgramNotFound
        from releasecheck.transport.pyworker import WorkerNotStarted

        try:
            if isinstance(spec, CommandJudge):
                self._program(spec, spec.run).command()
            else:
                worker = self._worker(spec)
                # On a loop of its own, since the caller may be on one already.
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(asyncio.run, _start(worker)).result()
        except (ProgramNotFound, WorkerNotStarted) as error:
            return " ".join(str(error).split())
        return None


async def _start(worker: PythonWorker) -> None:
    try:
        await worker.start()
    finally:
        await worker.aclose()
