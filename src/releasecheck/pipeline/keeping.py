"""The decision that a later revision takes the place of stays where everybody can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.errors import Untrusted
from releasecheck.pipeline.baselines import FILES
from releasecheck.pipeline.files import read_bytes, write_whole
from releasecheck.pipeline.folders import decided_revision

if TYPE_CHECKING:
    from releasecheck.pipeline.folders import Bundle


def keep_decision(bundle: Bundle, revision: int) -> None:
    """Copy the decision that a revision takes the place of to where it stays; safe to repeat.

    Raises:
        Untrusted: it is neither here nor there.
    """
    kept = bundle.of_revision(revision - 1)
    manifest = bundle.manifest()
    if manifest is not None and decided_revision(manifest) == revision - 1:
        for name in FILES:  # the manifest comes last
            write_whole(kept / name, [read_bytes(bundle.path / name)])
    elif not (kept / "manifest.json").is_file():
        message = f"{kept}: the decision of revision {revision - 1} is not there; get the whole bundle again"
        raise Untrusted(message)
