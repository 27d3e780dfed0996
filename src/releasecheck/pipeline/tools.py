"""The target and the judges of a plan, opened for those who call them, and stopped again."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from releasecheck.model.record import UNKNOWN_CODE, Code
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.roots import find_roots
from releasecheck.plan import ShardLimits, divide, whole_judge_concurrency

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Mapping

    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import JudgesAsked
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge, Target
    from releasecheck.redact import Redactor

LOG_KEPT: Final = 1 << 20
"""Characters of the end of a started program's log that are kept."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Open connections to the target and the judges of a plan."""

    target: Target | None
    judges: Mapping[str, Judge]
    redactor: Redactor
    workers: int
    code: Code
    """What the target's code is now."""


@asynccontextmanager
async def open_tools(
    folder: PlanFolder,
    world: World,
    asked: JudgesAsked,
    *,
    shard: int | None,
    logs: Path,
    only: Collection[str] | None = None,
) -> AsyncIterator[Tools]:
    """Open the target and the judges, and stop them again whatever happens.

    `shard` takes its share of the run's limits; None takes them whole, for the only process at work.
    What a started program printed is kept in the folder `logs`, without secrets. `only` names the judges
    that are wanted; None is all of them.
    """
    from releasecheck.judges import open_judges
    from releasecheck.targets import open_target
    from releasecheck.transport import open_client

    plan = folder.plan
    limits = limits_of(plan, shard)
    redactor = world.redactor(plan)
    for name in redactor.too_short:
        world.progress.note(
            f"{name}: its value is too short to be blanked out of outputs and messages, where it would hit other "
            "words too; that matters only if it is a secret"
        )
    roots = find_roots(folder, world)
    # Whoever does not call the target says nothing about what its code is.
    code = UNKNOWN_CODE if asked == "only" else code_of(folder, roots.config, world)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(world.environment))
        raw = Path(stack.enter_context(TemporaryDirectory(prefix="releasecheck-")))
        stack.callback(_keep_logs, raw, logs, redactor)
        target = None
        judges: dict[str, Judge] = {}
        if asked != "none":
            judges = open_judges(
                plan.judges,
                root=roots.policy,
                environment=world.environment,
                clock=world.clock,
                redactor=redactor,
                client=client,
                seed=plan.seed,
                trials=plan.trials,
                concurrency=limits.judge_concurrency,
                only=only,
            )
            for judge in judges.values():
                stack.push_async_callback(judge.aclose)
        if asked != "only":
            target = await open_target(
                plan.target,
                client=client,
                root=roots.config or world.cwd,
                environment=world.environment,
                clock=world.clock,
                redactor=redactor,
                concurrency=limits.concurrency,
                rate_limit=limits.rate_per_s,
                seed=plan.seed,
                log_folder=raw,
            )
            stack.push_async_callback(target.aclose)
        yield Tools(target, judges, redactor, limits.concurrency, code)


def code_of(folder: PlanFolder, root: Path | None, world: World) -> Code:
    """What the target's code is now, as far as that can be seen from here."""
    from releasecheck.targets.identity import target_files

    if root is None:
        return UNKNOWN_CODE
    files = target_files(folder.plan.target, root)
    return Code(world.commit_of(root), tuple(files.items()))


def _keep_logs(raw: Path, logs: Path, redactor: Redactor) -> None:
    """Copy the end of every log, secrets removed, under a name that no earlier attempt took."""
    for path in sorted(raw.glob("*.log")):
        # Half a secret at the beginning of what is read is cut off after the redaction.
        text = path.read_bytes()[-2 * LOG_KEPT :].decode("utf-8", "replace")
        if not text:
            continue
        text = redactor.text(text)[-LOG_KEPT:]
        taken = len(list(logs.glob(f"{path.stem}.start-*.log")))
        write_whole(logs / f"{path.stem}.start-{taken + 1}.log", [text.encode("utf-8")])


def limits_of(plan: Plan, shard: int | None) -> ShardLimits:
    """What one shard may use, or the whole run."""
    if shard is not None:
        return divide(plan, shard)
    budget = plan.budget
    return ShardLimits(
        concurrency=plan.target.concurrency,
        rate_per_s=plan.target.rate_limit,
        cost_usd=None if budget is None else budget.cost_usd,
        time_s=None if budget is None else budget.time,
        judge_concurrency=whole_judge_concurrency(plan),
    )
