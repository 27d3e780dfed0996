"""Gives again what was recorded; written by `releasecheck import promptfoo` from a file of results.

Only the standard library is needed. To measure the system itself again, name it in `target`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_LINES = (Path(__file__).parent / "recorded.jsonl").read_text(encoding="utf-8").split("\n")
RECORDED: dict[str, dict[str, Any]] = {
    row["id"]: row for row in (json.loads(line) for line in _LINES if line.strip())
}


def answer(call: dict[str, Any]) -> dict[str, Any]:
    """The recorded answer of a case; a recorded error is one again."""
    row = RECORDED.get(call["id"])
    if row is None:
        message = "nothing was recorded for this case"
        raise LookupError(message)
    if "error" in row:
        message = f"recorded error: {row['error']}"
        raise RuntimeError(message)
    return {name: row[name] for name in ("output", "tokens", "cost") if name in row}
