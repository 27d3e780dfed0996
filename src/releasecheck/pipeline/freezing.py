"""Config on disk -> a plan folder: read, select, pin the baseline, freeze, write plan.json last."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from releasecheck.config import load_cases, load_suite
from releasecheck.errors import UsageError
from releasecheck.model.plan import GitState, Policy, Root
from releasecheck.pipeline.baselines import has_baseline, read_whole_baseline
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.preflight import placed_in
from releasecheck.plan import (
    PLAN_FILE,
    Changed,
    Circumstances,
    assign_shards,
    freeze,
    judge_identity,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.config import LoadedSuite
    from releasecheck.model.case import Case
    from releasecheck.model.plan import Mode, Plan, PlannedJudge
    from releasecheck.pipeline.baselines import BaselineFiles
    from releasecheck.pipeline.world import World


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What a driver asks for; the same options for `plan` and `run`."""

    config: Path
    profile: str | None = None
    shards: int | Literal["auto"] | None = None
    """None: as the suite says."""
    mode: Mode | None = None
    """None: `delta` where ids or changed cases are given, else `full`."""
    preview: int = 10
    ids: tuple[str, ...] | None = None
    changed: ChangedCases | None = None
    baseline: Path | Literal["none"] | None = None
    """None: the suite's own folder."""
    seed: int = 0
    unique: str = ""
    """Makes the run id unique: a workflow run's id, or random."""
    git: GitState | None = None
    context: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ChangedCases:
    """Which cases a git comparison found changed."""

    since: str
    """The reference compared with, as the user named it."""
    digests: frozenset[str]
    """Digests of the cases as they were there; any other digest is a change."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan that was written."""

    path: Path
    plan: Plan
    loaded: LoadedSuite


def read_suite(config: Path, profile: str | None) -> tuple[LoadedSuite, tuple[Case, ...]]:
    """Config and cases, checked.

    Raises:
        ConfigError: with every problem found.
    """
    loaded = load_suite(config, profile)
    return loaded, load_cases(loaded)


def make_plan(
    request: PlanRequest,
    world: World,
    out: Path,
    *,
    check: Callable[[Plan, Path, Mapping[str, str]], None],
    placed_at: Path | None = None,
) -> Planned:
    """Freeze a plan into the folder `out`, which must not hold one.

    `check` looks at the plan before anything is written (see `releasecheck.pipeline.preflight`).
    `placed_at` is where the folder will be moved to, when that is somewhere else.

    Raises:
        ConfigError, UsageError: config, cases, selection or baseline cannot work.
        Untrusted: the baseline contradicts itself.
    """
    if (out / "plan.json").exists():
        message = f"{out}: there is a plan in it already; name an empty folder with --out"
        raise UsageError(message)
    loaded, cases = read_suite(request.config, request.profile)
    baseline = _baseline(request, loaded)
    times = None if baseline is None else baseline.times()
    chosen = select(
        cases,
        mode=request.mode,
        preview=request.preview,
        ids=request.ids,
        changed=_changed(request, cases),
        seed=request.seed,
    )
    circumstances = Circumstances(
        unique=request.unique,
        created_at=world.clock.now(),
        tool=world.tool,
        policy=_policy(request, loaded),
        root=_root(loaded, world.cwd, placed_at or out),
        seed=request.seed,
        baseline=None if baseline is None else baseline.pin(_why(request, loaded)),
        git=request.git,
        context=dict(request.context or {}),
    )
    count = request.shards or loaded.suite.shards or "auto"
    shards = assign_shards(chosen.cases, count, times)
    frozen = freeze(loaded.suite, chosen, plan_judges(loaded), shards, circumstances, times)
    with placed_in(loaded):
        check(frozen.plan, loaded.root, world.environment)
    if baseline is not None:
        for name, data in baseline.data.items():
            write_whole(out / "baseline" / name, [data])
    # plan.json last: a folder is a plan once it is there.
    for name in sorted(frozen.files, key=lambda name: name == PLAN_FILE):
        write_whole(out / name, [frozen.files[name]])
    return Planned(out, frozen.plan, loaded)


def plan_judges(loaded: LoadedSuite) -> list[PlannedJudge]:
    """Every judge with its identity, files included."""
    from releasecheck.judges import judge_files

    return [judge_identity(spec, judge_files(spec, loaded.root)) for spec in loaded.suite.judges]


def _changed(request: PlanRequest, cases: tuple[Case, ...]) -> Changed | None:
    if request.changed is None:
        return None
    known = request.changed.digests
    ids = frozenset(case.id for case in cases if case.digest not in known)
    return Changed(request.changed.since, ids)


def _baseline(request: PlanRequest, loaded: LoadedSuite) -> BaselineFiles | None:
    if request.baseline == "none":
        return None
    if request.baseline is not None:
        return read_whole_baseline(request.baseline, _why(request, loaded))
    folder = loaded.root / loaded.suite.baseline.path
    return read_whole_baseline(folder, _why(request, loaded)) if has_baseline(folder) else None


def _why(request: PlanRequest, loaded: LoadedSuite) -> str:
    if isinstance(request.baseline, Path):
        return "named on the command line"
    return f"promoted in {loaded.suite.baseline.path}"


def _policy(request: PlanRequest, loaded: LoadedSuite) -> Policy:
    return Policy(
        file=request.config.name,
        digest=loaded.digest,
        commit=None if request.git is None else request.git.commit,
    )


def _root(loaded: LoadedSuite, cwd: Path, out: Path) -> Root:
    root = loaded.root.resolve()
    return Root(
        from_cwd=_relative(root, cwd.resolve()) or ".",
        from_plan=_relative(root, out.resolve()),
        config=loaded.path.name,
    )


def _relative(path: Path, start: Path) -> str | None:
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive on Windows
        return None
