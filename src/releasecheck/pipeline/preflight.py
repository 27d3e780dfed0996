"""Stop before the first call when a judge, target, file or variable cannot work (S0-C5)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from releasecheck.config.nodes import problem_at
from releasecheck.errors import (
    ConfigError,
    DigestMismatch,
    EnvironmentMissing,
    Problem,
    UsageError,
)
from releasecheck.model.judge import CommandJudge, PluginJudge, PrecomputedJudge, PythonJudge
from releasecheck.references import missing_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.config.nodes import Loc
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import Plan
    from releasecheck.model.target import Target
    from releasecheck.pipeline.remaining import JudgesAsked
    from releasecheck.pipeline.roots import Roots


def preflight(
    plan: Plan,
    roots: Roots,
    environment: Mapping[str, str],
    asked: JudgesAsked = "all",
    only: Collection[str] | None = None,
) -> None:
    """Check everything that can be checked without calling the target or a judge.

    `only` names the judges that will be called; None is all of them.

    Raises:
        UsageError: the folder of the rules is not here, or the plan has no use for the target.
        ConfigError: every part that cannot work, named.
        EnvironmentMissing: variables that are unset or empty.
        DigestMismatch: a judge is made of other files than when it was planned.
    """
    if plan.adopted is not None and asked != "only":
        message = (
            "the plan judges outputs that were adopted from another run and never calls the target: run its "
            "shards with `releasecheck shard --judges only`, and then `releasecheck finish`"
        )
        raise UsageError(message)
    check_environment(plan, environment, asked, only)
    if asked != "none":
        _check_policy_here(plan, roots, only)
        if roots.policy is not None:
            check_judge_files(plan, roots.policy, only)
    check_parts(plan, roots, environment, asked, only)


def check_environment(
    plan: Plan,
    environment: Mapping[str, str],
    asked: JudgesAsked,
    only: Collection[str] | None = None,
) -> None:
    """Refuse to start when a variable is missing that the calls to come need.

    `only` names the judges that will be called; None is all of them.

    Raises:
        EnvironmentMissing: names every one; nothing was called.
    """
    specs: list[object] = []
    if asked != "only":
        specs.append(plan.target.model_dump(mode="json", by_alias=True))
    if asked != "none":
        specs += [
            judge.spec.model_dump(mode="json", by_alias=True)
            for judge in plan.judges
            if only is None or judge.id in only
        ]
    unset, empty = missing_names(specs, environment)
    if unset or empty:
        hint = ""
        if environment.get("GITHUB_EVENT_NAME") == "pull_request":
            hint = (
                "On pull requests from forks (and from Dependabot) secrets are not available; "
                "nothing was called."
            )
        raise EnvironmentMissing(unset, empty, hint)


def check_approval(plan: Plan, approved_by: str | None) -> None:
    """Refuse an irreversible target that nobody approved (S2-59).

    Raises:
        UsageError: nothing was called.
    """
    if plan.target.side_effects == "irreversible" and not (approved_by or "").strip():
        message = (
            f"target {plan.target.id!r} has side_effects: irreversible; say who approved calling it "
            "with --approved-by"
        )
        raise UsageError(message)


def _check_policy_here(plan: Plan, roots: Roots, only: Collection[str] | None) -> None:
    """Judges that run as programs need the folder that they were planned in, and no other one."""
    running = [
        judge.id
        for judge in plan.judges
        if isinstance(judge.spec, PythonJudge | CommandJudge | PrecomputedJudge)
        and (only is None or judge.id in only)
    ]
    if roots.policy is None and running and plan.policy_root is not None:
        message = (
            f"the folder of {plan.policy_root.config}, which the judges of this plan come from "
            f"({', '.join(running)}), was not found from here; name it with --policy-root"
        )
        raise UsageError(message)


def check_judge_files(plan: Plan, root: Path, only: Collection[str] | None = None) -> None:
    """Refuse judges whose files are not those of the plan: their scores would not be the plan's.

    Raises:
        DigestMismatch: a file of a judge was changed, added or removed.
    """
    from releasecheck.judges import judge_files

    for judge in plan.judges:
        if not isinstance(judge.spec, PythonJudge | CommandJudge | PluginJudge):
            continue  # a schema is in the plan itself
        if only is not None and judge.id not in only:
            continue
        now = judge_files(judge.spec, root)
        for name in sorted(now.keys() | judge.files.keys()):
            found, planned = now.get(name, "no file"), judge.files.get(name, "no file")
            if found != planned:
                what = (
                    f"judge {judge.id} is not the planned one, plan anew or undo the change: {name}"
                )
                raise DigestMismatch(what, found=found, expected=planned)


def check_parts(
    plan: Plan,
    roots: Roots,
    environment: Mapping[str, str],
    asked: JudgesAsked = "all",
    only: Collection[str] | None = None,
) -> None:
    """Check target and judges: templates, expressions, schemas, functions, programs, files.

    Raises:
        ConfigError: every part that cannot work, named.
    """
    target = plan.target if asked != "only" else None
    judges = [
        judge.spec
        for judge in plan.judges
        if asked != "none" and (only is None or judge.id in only)
    ]
    check_specs(target, judges, roots, environment)


def check_specs(
    target: Target | None,
    judges: Sequence[Judge],
    roots: Roots,
    environment: Mapping[str, str],
) -> None:
    """Check a target and judges as they are written (see `check_parts`)."""
    from releasecheck.judges import check_judge
    from releasecheck.targets import check_target

    problems: list[Problem] = []
    if target is not None:
        found = check_target(target, roots.config, environment)
        problems += [_of(f"target {target.id}", problem) for problem in found]
    for judge in judges:
        found = check_judge(judge, roots.policy, environment)
        problems += [_of(f"judge {judge.id}", problem) for problem in found]
    if problems:
        raise ConfigError(problems)


def _of(what: str, problem: Problem) -> Problem:
    key = what if problem.key is None else f"{what}: {problem.key}"
    return Problem(problem.message, problem.path, problem.line, problem.column, key)


@contextmanager
def placed_in(loaded: LoadedSuite) -> Iterator[None]:
    """Give problems of the target and the judges the line of the config that they stand in."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(_placed(problem, loaded) for problem in error.problems) from None


def _placed(problem: Problem, loaded: LoadedSuite) -> Problem:
    suite = loaded.suite
    what, _, inside = (problem.key or "").partition(": ")
    places: dict[str, Loc] = {
        f"judge {judge.id}": ("judges", at) for at, judge in enumerate(suite.judges)
    }
    places[f"target {suite.target.id}"] = ("target",)
    if problem.path is not None or what not in places:
        return problem
    loc = (*places[what], *(part for part in inside.split(".") if part))
    found = problem_at(loaded.document, loc, problem.message)
    return Problem(problem.message, found.path, found.line, found.column, problem.key)
