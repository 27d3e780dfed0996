"""What a suite does not want kept (`store_outputs: digest | none`) goes once every judge has read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.ledger.jsonl import purge_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.model.record import OutputRecord
    from releasecheck.model.table import Flags
    from releasecheck.pipeline.folders import PlanFolder
    from releasecheck.pipeline.remaining import Recorded


def forget_outputs(
    folder: PlanFolder, recorded: Recorded, paths: Sequence[Path], *, closed: bool = False
) -> None:
    """Null the outputs that every judge has read (`store_outputs: digest | none`) in some files.

    In a run that is `closed` no judge will read any more. Byte offsets in the files change. Nobody may
    be writing to the files: a purged file takes the place of the one that is open elsewhere.
    """
    table = recorded.merged.table
    index = {case.id: position for position, case in enumerate(table.cases)}
    unread: Flags = np.logical_or.reduce(table.mendable, axis=2)

    def keep(record: OutputRecord) -> bool:
        return not closed and bool(unread[index[record.case], record.trial])

    for path in paths:
        purge_file(path, keep, texts=folder.plan.store_outputs == "none")
