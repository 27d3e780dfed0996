"""A new run in the place of an old one: what may be replaced, and how a kill in the middle is survived."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from releasecheck.errors import NotResumable, UsageError
from releasecheck.pipeline.finish import check_ours
from releasecheck.pipeline.holding import LOCK

if TYPE_CHECKING:
    from releasecheck.pipeline.folders import Bundle

REPLACING: Final = ".replacing"
"""Stands in `out/` while an old bundle makes room for a new one."""
NEW_PLAN: Final = ".new-plan"
"""Where a new plan waits until the old bundle is out of its way."""


def check_replaceable(bundle: Bundle) -> None:
    """Refuse to make a new run where something else is.

    Raises:
        NotResumable: the folder holds an open run, or something that is no bundle.
        UsageError: it is a file.
    """
    out = bundle.path
    if out.exists() and not out.is_dir():
        message = f"{out}: this is a file; name a folder with --out"
        raise UsageError(message)
    if not out.exists() or (out / REPLACING).exists():
        return
    if bundle.exists():
        if not bundle.finalized:
            message = (
                f"{out}: there is an open run in it; carry it on with `releasecheck resume {out}`, close it "
                f"as it is with `releasecheck resume {out} --final`, or name another folder with --out"
            )
            raise NotResumable(message)
        check_ours(bundle)  # a replaced bundle is removed whole
        return
    visible = sorted(path.name for path in out.iterdir() if path.name not in (LOCK, NEW_PLAN))
    if visible and visible != ["failure.json"]:
        message = (
            f"{out}: it holds {visible[0]!r} and no bundle, so it is not replaced; name an empty folder "
            "with --out (a bundle is carried on with `releasecheck resume`)"
        )
        raise NotResumable(message)


def make_room(bundle: Bundle) -> None:
    """Remove a finalized bundle; killed in the middle, the marker tells the next run to go on."""
    marker = bundle.path / REPLACING
    marker.touch()
    for path in sorted(bundle.path.iterdir()):
        if path.name in (LOCK, NEW_PLAN, REPLACING):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    # Before the new plan comes in: nothing of that run may ever be taken for the old one's remains.
    marker.unlink()
