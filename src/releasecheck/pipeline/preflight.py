"""Stop before the first call when a judge, target, file or variable cannot work (S0-C5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.errors import ConfigError, Problem
from releasecheck.pipeline.execute import check_environment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.model.plan import Plan
    from releasecheck.pipeline.remaining import JudgesAsked


def preflight(
    plan: Plan, root: Path | None, environment: Mapping[str, str], asked: JudgesAsked = "all"
) -> None:
    """Check everything that can be checked without calling the target or a judge.

    Raises:
        ConfigError: every part that cannot work, named.
        EnvironmentMissing: variables that are unset or empty.
    """
    from releasecheck.judges import check_judge
    from releasecheck.targets import check_target

    check_environment(plan, environment, asked)
    problems: list[Problem] = []
    if asked != "only":
        problems += [_of(f"target {plan.target.id}", found)
                     for found in check_target(plan.target, root, environment)]  # fmt: skip
    if asked != "none":
        for judge in plan.judges:
            problems += [
                _of(f"judge {judge.id}", found)
                for found in check_judge(judge.spec, root, environment)
            ]
    if problems:
        raise ConfigError(problems)


def _of(what: str, problem: Problem) -> Problem:
    key = what if problem.key is None else f"{what}: {problem.key}"
    return Problem(problem.message, problem.path, problem.line, problem.column, key)
