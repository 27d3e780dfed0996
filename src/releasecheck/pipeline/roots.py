"""The folders that a plan's target and judges run in, found again on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.errors import UsageError
from releasecheck.pipeline.folders import find_root

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.world import World


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders of config files; None where one is not here."""

    config: Path | None
    """Of cases and target."""
    policy: Path | None
    """Of judges and their files, and of the baseline; the same folder unless rules come from elsewhere."""


def find_roots(folder: PlanFolder, world: World) -> Roots:
    """Where the plan's config and policy are; `world.policy_root` names the second.

    The rules are never looked for in the folder of the config that they were to be kept from.

    Raises:
        UsageError: the folder that was named does not hold the policy's config.
    """
    config = find_root(folder, world.cwd)
    place = folder.plan.policy_root or folder.plan.root
    named = world.policy_root
    if named is not None:
        if not (named / place.config).is_file():
            message = (
                f"{named}: there is no {place.config} in it; name with --policy-root the folder of the config "
                "that the plan took its judges and gates from"
            )
            raise UsageError(message)
        return Roots(config, named.resolve())
    if folder.plan.policy_root is None:
        return Roots(config, config)
    return Roots(config, find_root(folder, world.cwd, place))
