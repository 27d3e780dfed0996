"""Opens a judge for a check: one of a suite, or whatever answers at an address."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.credentials import redactor_of
from releasecheck.judges import open_judges
from releasecheck.judges.http import Http
from releasecheck.judges.wrap import wrapped
from releasecheck.model.judge import DeferringJudge, HttpJudge
from releasecheck.pipeline.checking.leading import lead
from releasecheck.pipeline.checking.probes import Probes
from releasecheck.pipeline.checking.report import Checked
from releasecheck.pipeline.checking.samples import own_sample, sample_of
from releasecheck.pipeline.checking.service import Service
from releasecheck.pipeline.choosing import check_variables, judge_of_suite
from releasecheck.pipeline.freezing import read_suite
from releasecheck.plan import judge_identity
from releasecheck.transport import open_client
from releasecheck.transport.context import Context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.model.plan import PlannedJudge
    from releasecheck.pipeline.checking.samples import Sample
    from releasecheck.pipeline.world import World
    from releasecheck.ports import Judge


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What a check is told beside the judge."""

    unique: str
    """Makes the check's idempotency keys its own."""
    deadline_s: float = 30.0
    """Seconds to wait for one deferred score."""
    samples: int = 5
    """Outputs that are judged to fill a batch."""
    interval_s: float = 1.0
    """Seconds between two questions, where the suite says nothing."""


async def check_judge_of(
    config: Path, profile: str | None, judge: str, world: World, request: CheckRequest
) -> Checked:
    """Check a judge of a suite, by its id.

    Raises:
        ConfigError: the suite cannot be read, or the judge cannot work.
        EnvironmentMissing: a variable that the judge names is not set.
        UsageError: there is no such judge.
    """
    loaded, cases = read_suite(config, profile)
    planned = judge_of_suite(judge, loaded, config, world.environment)
    spec = planned.spec
    # What the suite puts around a judge would only hide it: the cases it is for, parts, turning round.
    bare = {"when": None, "input": None} | ({"negate": False} if hasattr(spec, "negate") else {})
    one = planned.model_copy(update={"spec": spec.model_copy(update=bare)})
    sample = sample_of(spec, cases)
    return await _check(one, sample, loaded.policy_root, world, world.environment, request)


async def check_address(
    url: str, headers: Mapping[str, str], world: World, request: CheckRequest
) -> Checked:
    """Check whatever answers at an address; values of headers are secrets.

    Raises:
        ConfigError: the address or a header cannot be used.
        EnvironmentMissing: a variable that they name is not set.
    """
    environment = dict(world.environment)
    named: dict[str, str] = {}
    for number, (name, value) in enumerate(headers.items(), start=1):
        named[name] = value
        if "${" not in value:
            variable = f"RELEASECHECK_CHECK_HEADER_{number}"
            environment[variable] = value
            named[name] = f"${{{variable}}}"
    spec = HttpJudge(id="check", type="http", url=url, headers=named)
    return await _check(
        judge_identity(spec), own_sample(), None, world, environment, request, name=url
    )


async def _check(
    planned: PlannedJudge,
    sample: Sample,
    root: Path | None,
    world: World,
    environment: Mapping[str, str],
    request: CheckRequest,
    *,
    name: str | None = None,
) -> Checked:
    spec = planned.spec
    check_variables(spec, environment)
    redactor = redactor_of([spec.model_dump(mode="json", by_alias=True)], environment)
    called = redactor.text(name or planned.id)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(open_client(environment))
        http: Http | None = None
        if isinstance(spec, HttpJudge):
            context = Context(
                environment=environment,
                root=root or world.cwd,
                clock=world.clock,
                client=client,
                redact=redactor.text,
                jitter=lambda: 0.5,
            )
            http = Http(spec, context, redactor)
            judge: Judge = wrapped(http, spec, redactor)
        else:
            judge = open_judges(
                [planned],
                root=root,
                environment=environment,
                clock=world.clock,
                redactor=redactor,
                client=client,
            )[planned.id]
        stack.push_async_callback(judge.aclose)
        interval = spec.interval if isinstance(spec, DeferringJudge) else None
        probes = Probes(
            judge,
            spec,
            sample,
            world.clock,
            run_id=f"check-{request.unique}",
            interval_s=interval or request.interval_s,
            deadline_s=request.deadline_s,
        )
        reached = await lead(
            probes, None if http is None else Service(probes, http, request.samples)
        )
    return Checked(called, planned.contract, tuple(probes.found), reached)
