"""A verified bundle becomes the baseline of its suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.errors import UsageError
from releasecheck.pipeline.baselines import promote
from releasecheck.pipeline.folders import open_bundle
from releasecheck.pipeline.roots import find_roots
from releasecheck.pipeline.verify import require_verified

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.scorecard import Scorecard
    from releasecheck.pipeline.world import World


def promote_bundle(
    out: Path, to: Path | None, accept: str | None, world: World
) -> tuple[Scorecard, Path]:
    """Verify the bundle in `out` and copy it to where the suite keeps its baseline.

    Raises:
        UsageError: the run may not be promoted, or the suite's folder is not here.
        Untrusted: the bundle contradicts itself.
    """
    _, folder = open_bundle(out)
    require_verified(out, world)
    target = to
    if target is None:
        root = find_roots(folder, world).policy
        if root is None:
            message = (
                f"{out}: the folder of {folder.plan.root.config} was not found from here; say with --to "
                "where the baseline goes"
            )
            raise UsageError(message)
        target = root / folder.plan.baseline_rule.path
    return promote(out, target, accept=accept, now=world.clock.now()), target
