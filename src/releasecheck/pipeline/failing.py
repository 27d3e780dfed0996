"""`failure.json` in a bundle: written when a run cannot be carried through, with a plan or before it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from releasecheck.canonical import dump_document
from releasecheck.errors import Interrupted, NotResumable, ReleaseCheckError
from releasecheck.pipeline.files import write_whole
from releasecheck.pipeline.folders import ledger_files
from releasecheck.pipeline.remaining import merge_files
from releasecheck.publish import build_failure
from releasecheck.redact import NOTHING_SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.failure import Stage
    from releasecheck.pipeline.folders import Bundle, PlanFolder
    from releasecheck.pipeline.world import World


@dataclass(slots=True)
class At:
    """Where a run is, for the record of a failure."""

    stage: Stage
    folder: PlanFolder | None
    """None until there is a plan."""

    def planned(self, folder: PlanFolder) -> None:
        """There is a plan from here on."""
        self.stage, self.folder = "target", folder


@contextmanager
def failure_recorded(bundle: Bundle, folder: PlanFolder | None, world: World) -> Iterator[At]:
    """Write `failure.json` when an open run cannot be carried through (S2-46, S2-60).

    Without a plan (C-01) the stage is `plan` until somebody says otherwise.
    """
    at = At("plan", None)
    if folder is not None:
        at.planned(folder)
    try:
        yield at
    except (Interrupted, NotResumable):  # the second says that the folder is not this run's
        raise
    except Exception as error:
        if bundle.finalized:  # what was decided stands, whatever was tried afterwards
            raise
        try:
            record_failure(bundle, at, error, world)
        except ReleaseCheckError as another:  # a full disk: why there is no decision matters more
            world.progress.note(str(another))
        raise


def record_failure(bundle: Bundle, at: At, error: BaseException, world: World) -> None:
    """Write `failure.json`: why there is no decision, and how much is on record."""
    folder = at.folder
    document = build_failure(
        error,
        at.stage,
        now=world.clock.now(),
        plan=None if folder is None else folder.plan,
        recorded={} if folder is None else _on_record(bundle, folder),
        redactor=NOTHING_SECRET if folder is None else world.redactor(folder.plan),
    )
    write_whole(bundle.path / "failure.json", [dump_document(document)])


def _on_record(bundle: Bundle, folder: PlanFolder) -> dict[str, int]:
    """How much the ledger holds, as far as it can be read."""
    try:
        merged = merge_files(folder, ledger_files([bundle.results])).merged
    except ReleaseCheckError:
        return {"expected_pairs": folder.plan.pairs}
    return {
        "outputs": int(np.count_nonzero(merged.table.target)),
        "recorded_pairs": merged.recorded_pairs,
        "expected_pairs": folder.plan.pairs,
    }
