"""Config on disk -> a plan folder: read, select, pin the baseline, freeze, write plan.json last."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from releasecheck.config import check_cases, load_cases
from releasecheck.errors import ConfigError, Problem, UsageError
from releasecheck.model.plan import GitState, Root, TargetPlugin
from releasecheck.model.policy import Policy
from releasecheck.model.target import PluginTarget
from releasecheck.pipeline.adopting import read_adopted
from releasecheck.pipeline.baselines import (
    ANCHOR,
    BASELINE,
    has_baseline,
    read_committed_baseline,
    read_whole_baseline,
)
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.foreseeing import with_bridge_notes
from releasecheck.pipeline.history import (
    HISTORY_FILE,
    FrozenHistory,
    history_bytes,
    history_for,
)
from releasecheck.pipeline.policy import PolicySource, load_with, policy_changes
from releasecheck.pipeline.power import refuse_blind
from releasecheck.pipeline.preflight import placed_in
from releasecheck.pipeline.roots import Roots
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
    from releasecheck.pipeline.adopting import AdoptedPlan
    from releasecheck.pipeline.baselines import BaselineFiles
    from releasecheck.pipeline.world import World
    from releasecheck.plan import Selected


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
    baseline_why: str | None = None
    """Why `baseline` was chosen; None: because the command line names it."""
    seed: int = 0
    unique: str = ""
    """Makes the run id unique: a workflow run's id, or random."""
    git: GitState | None = None
    context: Mapping[str, str] | None = None
    policy: PolicySource | None = None
    """Where all but cases, their expected number and the target come from; None: from `config` too."""
    history: Path | None = None
    """A folder with earlier runs, whose latest are kept for the trend; it decides nothing."""
    adopt: Path | None = None
    """An untrusted plan folder whose cases, shards and run id are taken as data."""


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


def read_suite(
    config: Path, profile: str | None, policy: PolicySource | None = None
) -> tuple[LoadedSuite, tuple[Case, ...]]:
    """Config and cases, checked.

    Raises:
        ConfigError: with every problem found.
    """
    loaded = load_with(config, profile, policy)
    return loaded, load_cases(loaded)


def make_plan(
    request: PlanRequest,
    world: World,
    out: Path,
    *,
    check: Callable[[Plan, Roots, Mapping[str, str]], None],
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
    source = _source(request)
    baseline = _baseline(request, source.loaded)
    anchor = _anchor(source.loaded)
    times = None if baseline is None else baseline.times()
    chosen = source.chosen
    circumstances = Circumstances(
        unique=request.unique,
        created_at=world.clock.now(),
        tool=world.tool,
        policy=_policy(request, source),
        root=_root(source.loaded.path, world.cwd, placed_at or out),
        policy_root=_policy_root(source.loaded, world.cwd, placed_at or out),
        adopted=None if source.adopted is None else source.adopted.identity,
        target_plugin=_target_plugin(source),
        seed=request.seed,
        baseline=None if baseline is None else baseline.pin(_why(request, source.loaded)),
        anchor=None if anchor is None else anchor.pin(_why_anchor(source.loaded)),
        git=request.git,
        context=dict(request.context or {}),
    )
    loaded = source.loaded
    if source.adopted is not None:
        shards = source.adopted.shards(chosen.cases)
    else:
        count = request.shards or loaded.suite.shards or "auto"
        shards = assign_shards(chosen.cases, count, times)
    frozen = freeze(loaded.suite, chosen, plan_judges(loaded), shards, circumstances, times)
    with placed_in(loaded):
        check(frozen.plan, Roots(loaded.root, loaded.policy_root), world.environment)
    past = FrozenHistory(None)
    if request.history is not None:
        past = history_for(loaded.suite.suite, request.history)
        noted = (Problem(note) for note in past.notes)
        loaded = replace(loaded, notes=(*loaded.notes, *noted))
    refuse_blind(frozen.plan, chosen.cases, loaded, baseline, anchor)
    loaded = with_bridge_notes(frozen.plan, loaded, {"baseline": baseline, "anchor": anchor})
    for folder, files in ((BASELINE, baseline), (ANCHOR, anchor)):
        for name, data in ({} if files is None else files.data).items():
            write_whole(out / folder / name, [data])
    if past.history is not None:
        write_whole(out / HISTORY_FILE, [history_bytes(past.history)])
    # plan.json last: a folder is a plan once it is there.
    for name in sorted(frozen.files, key=lambda name: name == PLAN_FILE):
        write_whole(out / name, [frozen.files[name]])
    return Planned(out, frozen.plan, loaded)


def plan_judges(loaded: LoadedSuite) -> list[PlannedJudge]:
    """Every judge with its identity, files included."""
    from releasecheck.judges import judge_files

    return [
        judge_identity(spec, judge_files(spec, loaded.policy_root)) for spec in loaded.suite.judges
    ]


def _target_plugin(source: _Source) -> TargetPlugin | None:
    target = source.loaded.suite.target
    if source.adopted is not None or not isinstance(target, PluginTarget):
        return None
    from releasecheck.transport.plugins import CONTRACTS, TARGETS, plugin_files

    return TargetPlugin(contract=CONTRACTS[TARGETS], files=plugin_files(TARGETS, target.plugin))


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
    folder = loaded.policy_root / loaded.suite.baseline.path
    return read_committed_baseline(folder, _why(request, loaded)) if has_baseline(folder) else None


def _anchor(loaded: LoadedSuite) -> BaselineFiles | None:
    below = loaded.suite.baseline.anchor
    if below is None:
        return None
    folder = loaded.policy_root / below
    return read_committed_baseline(folder, _why_anchor(loaded)) if has_baseline(folder) else None


def _why_anchor(loaded: LoadedSuite) -> str:
    return f"the anchor in {loaded.suite.baseline.anchor}"


def _why(request: PlanRequest, loaded: LoadedSuite) -> str:
    if isinstance(request.baseline, Path):
        return request.baseline_why or "named on the command line"
    return f"promoted in {loaded.suite.baseline.path}"


@dataclass(frozen=True, slots=True)
class _Source:
    """What a plan is made from."""

    loaded: LoadedSuite
    cases: tuple[Case, ...]
    """Every case there is."""
    chosen: Selected
    adopted: AdoptedPlan | None


def _source(request: PlanRequest) -> _Source:
    if request.adopt is not None:
        return _adopted(request, request.adopt)
    loaded, cases = read_suite(request.config, request.profile, request.policy)
    chosen = select(
        cases,
        mode=request.mode,
        preview=request.preview,
        ids=request.ids,
        changed=_changed(request, cases),
        seed=request.seed,
    )
    return _Source(loaded, cases, chosen, None)


def _adopted(request: PlanRequest, folder: Path) -> _Source:
    """Cases of an untrusted plan under the definitions of our own config."""
    if request.ids or request.changed or request.mode or request.shards:
        message = (
            "an adopted plan brings its own cases and shards: leave out --mode, --preview, --ids, --ids-file, "
            "--changed-since and --shards"
        )
        raise UsageError(message)
    loaded = load_with(request.config, request.profile, request.policy)
    adopted = read_adopted(folder, loaded.suite.suite)
    if adopted.mode == "full":
        pin = loaded.suite.expect_cases
        if pin is not None and pin != len(adopted.cases):
            message = (
                f"expect_cases pins {pin} cases, and the adopted plan holds {len(adopted.cases)}; a change of "
                "their number is for a plan of a trusted job to make"
            )
            raise ConfigError([Problem(message, request.config.as_posix(), key="expect_cases")])
        check_cases(loaded, adopted.cases)
    return _Source(loaded, adopted.cases, adopted.selected(), adopted)


def _policy(request: PlanRequest, source: _Source) -> Policy:
    given = request.policy
    own = None if request.git is None else request.git.commit
    return Policy(
        file=source.loaded.policy_path.name,
        digest=source.loaded.digest,
        commit=own if given is None or not given.applies else given.commit,
        mode="own" if given is None else given.mode,
        introduced=given is not None and given.introduced,
        changes=policy_changes(
            source.loaded,
            source.cases,
            _compared(request),
            partial=source.adopted is not None and source.adopted.mode != "full",
        ),
    )


def _compared(request: PlanRequest) -> PolicySource | None:
    """The config that an adopted plan's cases are compared with is our own."""
    if request.policy is None and request.adopt is not None:
        return PolicySource(request.config)
    return request.policy


def _root(config: Path, cwd: Path, out: Path) -> Root:
    root = config.parent.resolve()
    return Root(
        from_cwd=_relative(root, cwd.resolve()) or ".",
        from_plan=_relative(root, out.resolve()),
        config=config.name,
    )


def _policy_root(loaded: LoadedSuite, cwd: Path, out: Path) -> Root | None:
    return None if loaded.policy_path == loaded.path else _root(loaded.policy_path, cwd, out)


def _relative(path: Path, start: Path) -> str | None:
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive on Windows
        return None
