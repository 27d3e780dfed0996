"""Which models gave what counts, by the names that targets and judges told: a mixture is to be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from releasecheck.model.record import LONGEST_FINGERPRINT
from releasecheck.model.table import SCORED

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable

    import numpy.typing as npt

    from releasecheck.merge.choose import Outputs, Scores
    from releasecheck.merge.rows import Rows
    from releasecheck.model.plan import Plan


def model_in(notes: Iterable[str]) -> str | None:
    """The model that gave a score, from the score's notes: `judge-1 / fp_77`; None where none says it.

    Several votes may come from several models: each is named, in an order that no chance decides.
    """
    found: list[str] = []
    for note in notes:
        key, _, said = note.partition("=")
        if key == "model" and said:
            found.append(said)
        elif key == "fingerprint" and said:
            found[-1:] = [f"{found[-1]} / {said}"] if found else [said]
    return " + ".join(sorted(set(found)))[:LONGEST_FINGERPRINT] or None


def models_of(rows: Rows, outputs: Outputs) -> dict[str, int]:
    """How many answers that count each model gave, the busiest first; who said nothing is not there."""
    return _counted(rows, rows.out_model, outputs.row[outputs.digest >= 0])


def judge_models_of(plan: Plan, rows: Rows, scores: Scores) -> dict[str, dict[str, int]]:
    """The same of the measured scores, by judge."""
    state = np.asarray(rows.state, dtype=np.int8)
    best = scores.row.reshape(-1, len(plan.judges))
    found = {}
    for index, judge in enumerate(plan.judges):
        own = best[best[:, index] >= 0, index]
        models = _counted(rows, rows.score_model, own[state[own] == SCORED])
        if models:
            found[judge.id] = models
    return found


def _counted(rows: Rows, column: array[int], chosen: npt.NDArray[np.int64]) -> dict[str, int]:
    numbers, counts = np.unique(np.asarray(column, dtype=np.int64)[chosen], return_counts=True)
    if not numbers.size or numbers[-1] < 0:
        return {}
    names = list(rows.names)  # in the order of their numbers
    found = {
        names[number]: count
        for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
        if number >= 0
    }
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))
