"""One judge of a suite or a plan, by its id, to be tried or asked by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.errors import EnvironmentMissing, UsageError
from releasecheck.model.nearest import did_you_mean, listing
from releasecheck.pipeline.freezing import plan_judges
from releasecheck.pipeline.preflight import check_specs, placed_in
from releasecheck.pipeline.roots import Roots
from releasecheck.references import missing_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from releasecheck.config import LoadedSuite
    from releasecheck.model.judge import Judge
    from releasecheck.model.plan import PlannedJudge


def judge_named(name: str, judges: Sequence[PlannedJudge], where: Path) -> PlannedJudge:
    """The judge of this id.

    Raises:
        UsageError: there is none, in what `where` names.
    """
    known = {judge.id: judge for judge in judges}
    if name not in known:
        message = (
            f"{where}: there is no judge {name[:60]!r}{did_you_mean(name, known)} "
            f"(judges: {listing(known)})"
        )
        raise UsageError(message)
    return known[name]


def judge_of_suite(
    name: str, loaded: LoadedSuite, config: Path, environment: Mapping[str, str]
) -> PlannedJudge:
    """A judge of a suite that can work here, as a plan would hold it.

    Raises:
        UsageError: there is no such judge.
        ConfigError: it cannot work, at its place in the config.
    """
    found = judge_named(name, plan_judges(loaded), config)
    with placed_in(loaded):
        check_specs(None, [found.spec], Roots(loaded.root, loaded.policy_root), environment)
    return found


def check_variables(spec: Judge, environment: Mapping[str, str]) -> None:
    """Refuse to ask a judge that names variables which are not set.

    Raises:
        EnvironmentMissing: every one; nothing was called.
    """
    unset, empty = missing_names(spec.model_dump(mode="json", by_alias=True), environment)
    if unset or empty:
        raise EnvironmentMissing(unset, empty)
