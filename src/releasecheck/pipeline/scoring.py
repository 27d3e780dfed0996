"""The score plane of a run: every state and value of one revision, as one digest (X-15, X-16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.canonical import digest_chunks, dump_line

if TYPE_CHECKING:
    from releasecheck.model.table import ScoreTable


def score_plane(table: ScoreTable) -> str:
    """Digest over cases, judges, and the state and value of every pair."""
    cases = [[case.id, case.digest] for case in table.cases]
    axes = {"cases": cases, "judges": list(table.judges), "trials": table.trials}
    values = np.where(np.isnan(table.value), 0.0, table.value)
    return digest_chunks(
        [dump_line(axes), table.state.astype("<i1").tobytes(), values.astype("<f8").tobytes()]
    )
