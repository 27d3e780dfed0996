"""From specs to judges: what cannot work is said before the first call, the rest is opened."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.credentials import redactor_of
from releasecheck.errors import ConfigError, EnvironmentMissing, Problem
from releasecheck.judges.checks import read_schema, spec_problems
from releasecheck.judges.wrap import wrapped
from releasecheck.model.judge import (
    CommandJudge,
    ContainsJudge,
    ExactJudge,
    HttpJudge,
    JsonSchemaJudge,
    LangfuseJudge,
    LimitedJudge,
    LlmJudge,
    NumericJudge,
    PluginJudge,
    PrecomputedJudge,
    PythonJudge,
    RankJudge,
    RegexJudge,
    SimilarityJudge,
)
from releasecheck.references import resolve, resolve_text
from releasecheck.transport.context import Context

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.plan import PlannedJudge
    from releasecheck.ports import Clock, Judge
    from releasecheck.redact import Redactor
    from releasecheck.transport.client import RunClient
    from releasecheck.transport.process import Program
    from releasecheck.transport.pyworker import PythonWorker


def open_judges(
    planned: Sequence[PlannedJudge],
    *,
    root: Path | None,
    environment: Mapping[str, str],
    clock: Clock,
    redactor: Redactor,
    client: RunClient,
    seed: int = 0,
    concurrency: Mapping[str, int] | None = None,
    only: Collection[str] | None = None,
    trials: int = 1,
) -> dict[str, Judge]:
    """Every judge of a plan by its id; processes start when first asked.

    Args:
        planned: The plan's judges.
        root: The config's folder: programs start there, modules are found there. None where it is
            not at hand, which is enough for judges that are all spec.
        environment: What references are read from; programs get it too.
        clock: For judges that wait.
        redactor: Removes secrets from reasons and messages.
        client: The one of the run.
        seed: Of the jitter.
        only: Ids of the judges that are wanted; None is all of them.
        concurrency: This shard's part of each judge's, by id; the suite's for those not named.
        trials: Of each case of the suite.

    Raises:
        ConfigError: a judge cannot work (see `spec_problems`), or needs the folder.
        EnvironmentMissing: a variable that a judge names is not set.
    """
    # An own stream, so that nothing else that is seeded by the plan moves with retries.
    from numpy.random import PCG64, Generator

    context = Context(
        environment=environment,
        root=root or Path(),
        clock=clock,
        client=client,
        redact=redactor.text,
        jitter=Generator(PCG64([seed, 0x1D6E])).random,
    )
    opener = _Opener(root, environment, redactor, context, trials)
    return {
        judge.id: opener.judge(_limited(judge.spec, concurrency or {}))
        for judge in planned
        if only is None or judge.id in only
    }


def _limited(spec: JudgeSpec, concurrency: Mapping[str, int]) -> JudgeSpec:
    if not isinstance(spec, LimitedJudge) or spec.id not in concurrency:
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
    if not problems and isinstance(spec, PrecomputedJudge) and root is not None:
        from releasecheck.judges.score_lines import file_problems

        return file_problems(root, spec)
    if not problems and isinstance(spec, PluginJudge):
        from releasecheck.transport.plugins import JUDGES, load

        try:
            load(JUDGES, spec.plugin)
        except ConfigError as error:
            return list(error.problems)
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
        self,
        root: Path | None,
        environment: Mapping[str, str],
        redactor: Redactor,
        context: Context | None = None,
        trials: int = 1,
    ) -> None:
        self._context = context
        self._trials = trials
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
        return wrapped(self._inner(spec), spec, self._redactor)

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
            case PrecomputedJudge():
                from releasecheck.judges.precomputed import Precomputed

                return Precomputed(spec, self._folder(spec), self._trials)
            case HttpJudge() | LangfuseJudge() | LlmJudge() | PluginJudge():
                return self._over_network(spec)

    def _over_network(self, spec: HttpJudge | LangfuseJudge | LlmJudge | PluginJudge) -> Judge:
        assert self._context is not None  # noqa: S101 - nothing is opened only to be checked
        match spec:
            case HttpJudge():
                from releasecheck.judges.http import Http

                return Http(spec, self._context, self._redactor)
            case LangfuseJudge():
                from releasecheck.judges.langfuse import Langfuse

                return Langfuse(spec, self._context, self._redactor)
            case LlmJudge():
                from releasecheck.judges.llm import open_llm

                return open_llm(spec, self._context)
            case PluginJudge():
                from releasecheck.judges.plugin import open_plugin

                return open_plugin(spec, self._context, self._redactor)

    def _folder(self, spec: JudgeSpec) -> Path:
        if self._root is None:
            message = f"judge {spec.id} reads files of the config's folder, which is not at hand"
            raise ConfigError([Problem(message)])
        return self._root

    def _program(self, spec: PythonJudge | CommandJudge, argv: Sequence[str]) -> Program:
        from releasecheck.transport.process import Program

        added = resolve(spec.env, self._environment)
        arguments = tuple(resolve_text(argument, self._environment) for argument in argv)
        return Program(arguments, self._folder(spec), {**self._environment, **added})

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
