"""A bundle's revisions: the next one is frozen beside the plan, and the decision before it is kept (X-16).

`plan/plan.rN.json` begins a revision and is written once. From then on the bundle is open until that revision
is decided; what was decided before stays in `revisions/` as it was.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from releasecheck.canonical import dump_document
from releasecheck.config import check_cases, load_suite
from releasecheck.errors import NotResumable, UsageError
from releasecheck.model.plan import Root
from releasecheck.model.policy import Policy
from releasecheck.pipeline.bundle import complete_badge, read_decision
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.folders import open_plan, revised_plan
from releasecheck.pipeline.freezing import plan_judges
from releasecheck.pipeline.preflight import placed_in, preflight
from releasecheck.pipeline.roots import Roots
from releasecheck.pipeline.verify import require_verified
from releasecheck.plan import Revising, plan_document, revise

if TYPE_CHECKING:
    from releasecheck.config import LoadedSuite
    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.world import World

RUN_TO_ITS_END = ("completed", "expired", "failed")
"""What a run may have come to for its records to be used again (X-06)."""


@dataclass(frozen=True, slots=True)
class RescoreRequest:
    """What a driver asks for."""

    config: Path
    """Judges, gates and everything else that decides come from here; not its cases, not its target."""
    profile: str | None = None
    missing: bool = False
    """Whether what was measured with the same judges is kept."""


def check_source(bundle: Bundle) -> None:
    """Refuse to build on a run that is not over, or that counts for nothing (X-05, X-06).

    Raises:
        NotResumable: naming what to do instead.
    """
    out = bundle.path
    if not bundle.finalized:
        message = (
            f"{out}: its run is still open; carry it on with `releasecheck resume {out}`, or close it as it is "
            f"with `releasecheck resume {out} --final`"
        )
        raise NotResumable(message)
    status = (bundle.manifest() or {}).get("status")
    if status not in RUN_TO_ITS_END:
        message = f"{out}: its run was {str(status)[:20]}, and such a run is never built on; start a new one"
        raise NotResumable(message)


def begin_revision(
    bundle: Bundle, folder: PlanFolder, request: RescoreRequest, world: World
) -> PlanFolder:
    """Freeze the next revision of a decided run, or find the one that was begun by the same command.

    Raises:
        NotResumable: the run is open, or a revision under other rules is.
        ConfigError, UsageError, EnvironmentMissing: a judge of `request.config` cannot work; nothing was written.
        Untrusted: the bundle contradicts itself.
    """
    begun = bool(folder.earlier) and not bundle.finalized
    if not begun:
        check_source(bundle)
        complete_badge(bundle, *read_decision(bundle))  # a kill may have come before it was there
        require_verified(bundle.path, world)
    before = folder.earlier[-1] if begun else folder.plan
    loaded = load_suite(request.config, request.profile)
    draft = _draft(folder, before, loaded, request, world)
    with placed_in(loaded):
        preflight(draft, Roots(None, loaded.policy_root.resolve()), world.environment, "only")
    for problem in loaded.notes:
        world.progress.note(f"note: {problem}")
    if begun:
        _require_same(bundle, folder.plan, draft)
        return folder
    name = revised_plan(draft.revision)
    write_whole(bundle.plan / name, [dump_document(plan_document(draft))])
    return open_plan(bundle.plan)


def _require_same(bundle: Bundle, begun: Plan, draft: Plan) -> None:
    if begun.plan_digest != draft.plan_digest:
        out = bundle.path
        message = (
            f"{out}: revision {begun.revision} was begun under other rules and is still open; carry it on with "
            f"`releasecheck resume {out}`, or close it as it is with `releasecheck resume {out} --final`"
        )
        raise NotResumable(message)


def _draft(
    folder: PlanFolder, before: Plan, loaded: LoadedSuite, request: RescoreRequest, world: World
) -> Plan:
    suite = loaded.suite
    if suite.suite != before.suite:
        message = (
            f"{request.config}: this is the suite {suite.suite!r}, and the run is of {before.suite!r}; a run is "
            "judged again under the rules of its own suite"
        )
        raise UsageError(message)
    cases = tuple(folder.in_plan_order())
    if before.mode == "full":
        check_cases(loaded, cases)
    told = Revising(
        created_at=world.clock.now(),
        tool=world.tool,
        policy=Policy(
            file=loaded.policy_path.name,
            digest=loaded.digest,
            commit=world.commit_of(loaded.policy_root.resolve()),
        ),
        policy_root=root_of(loaded.policy_path, world.cwd, folder.path),
        keeps_measured=request.missing,
        cases=frozenset(case.id for case in cases) if before.mode == "full" else None,
    )
    return revise(before, suite, plan_judges(loaded), told)


def root_of(config: Path, cwd: Path, plan: Path) -> Root:
    """How to find the folder of a config again from a plan folder."""
    root = config.parent.resolve()
    return Root(
        from_cwd=_relative(root, cwd.resolve()) or ".",
        from_plan=_relative(root, plan.resolve()),
        config=config.name,
    )


def _relative(path: Path, start: Path) -> str | None:
    try:
        return Path(os.path.relpath(path, start)).as_posix()
    except ValueError:  # another drive on Windows
        return None
