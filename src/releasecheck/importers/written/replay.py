"""Gives the answers that a log holds: the target of a suite that `releasecheck import` made from one.

`outputs.jsonl` beside this file has a line for each case and trial, with its `output`, or with the
`failure` that the log recorded in place of one. What failed then fails here too, and so does a case or
trial that the log does not hold: neither is ever an empty answer.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

OUTPUTS = Path(__file__).with_name("outputs.jsonl")


class RecordedFailure(Exception):
    """The log holds a failure in place of an answer."""


class NotRecorded(Exception):
    """The log holds nothing for this case and trial."""


@lru_cache(maxsize=None)  # noqa: UP033 - Python 3.8 may run this
def recorded() -> dict[tuple[str, int], dict[str, Any]]:
    """Every line by case and trial, read at the first question."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    with OUTPUTS.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["id"], row["trial"]] = row
    return found


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """The recorded answer to a case, under `output`, with what it used beside it."""
    row = recorded().get((case["id"], case["trial"]))
    if row is None:
        message = "{} holds no answer to case {!r}, trial {}".format(
            OUTPUTS.name, case["id"], case["trial"]
        )
        raise NotRecorded(message)
    if "failure" in row:
        raise RecordedFailure(row["failure"])
    return {"output": row["output"], "usage": row.get("usage", {})}
