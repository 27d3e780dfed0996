"""Which case of an earlier run is which case of this one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.table import CaseRow, Indices


def match_cases(cases: Sequence[CaseRow], earlier: Sequence[CaseRow]) -> Indices:
    """For each case the index of the same content in `earlier`, or -1.

    The same id with the same digest comes first. What is left on both sides matches by digest where
    that content is there exactly once on either side: a renamed case. Two identical questions cannot
    be told apart and are not matched. An id with other content is never a match.
    """
    if not earlier:
        return np.full(len(cases), -1, dtype=np.intp)
    if len(cases) == len(earlier) and all(
        row.id == then.id and row.digest == then.digest
        for row, then in zip(cases, earlier, strict=True)
    ):
        return np.arange(len(cases))  # the same dataset, the usual case
    found = np.full(len(cases), -1, dtype=np.intp)
    by_id = {row.id: index for index, row in enumerate(earlier)}
    for index, row in enumerate(cases):
        there = by_id.get(row.id, -1)
        if there >= 0 and earlier[there].digest == row.digest:
            found[index] = there
    # Content that is there once on either side cannot have been matched by id with another case.
    here, before = Counter(row.digest for row in cases), Counter(row.digest for row in earlier)
    by_digest = {row.digest: index for index, row in enumerate(earlier)}
    for index in np.flatnonzero(found < 0).tolist():
        content = cases[index].digest
        if here[content] == 1 and before[content] == 1:
            found[index] = by_digest[content]
    return found
