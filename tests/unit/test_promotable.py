"""Which runs may become a baseline: whole, over, of this repository's own, and not blocked (contract 6)."""

from __future__ import annotations

from typing import Any

import pytest

from releasecheck.pipeline.baselines import BaselineFiles, Measured, why_unfit
from tests.unit.tables import baseline_of, score_table
from tests.unit.test_publish import card, manifest


def files_of(*, finalized: bool = True, **changes: Any) -> BaselineFiles:
    made = card(**changes)
    stamp = {} if finalized else {"finalized_at": None}
    written = manifest(card(), **stamp) if finalized else manifest(card(status="running"), **stamp)
    table = score_table({"exact": [1]})
    return BaselineFiles(written, made, {}, baseline_of(table), Measured((), (), 0.95, made.mode))


@pytest.mark.parametrize(
    ("changes", "accept", "says"),
    [
        ({"verdict": "pass"}, None, None),
        ({"verdict": "bootstrap"}, None, None),
        ({"verdict": "block"}, None, "has the verdict block"),
        ({"verdict": "block"}, "we know", "has the verdict block"),
        ({"verdict": "block", "overridden": True}, None, "overridden by a waiver"),
        ({"verdict": "block", "overridden": True}, "we know", "overridden by a waiver"),
        ({"verdict": "blocked_missing"}, "we know", "has the verdict blocked_missing"),
        ({"verdict": "not_comparable"}, None, "say with --accept why"),
        ({"verdict": "not_comparable"}, "  ", "say with --accept why"),
        ({"verdict": "not_comparable"}, "another judge", None),
        ({"verdict": "pass", "mode": "preview"}, "we know", "is a preview run"),
        ({"verdict": "pass", "mode": "delta"}, None, "is a delta run"),
        ({"verdict": "pass", "finalized": False}, "we know", "is not finalized"),
        ({"verdict": "pass", "code_changed": ("app.py",)}, None, "several versions of the target"),
    ],
)
def test_why_unfit(changes: dict[str, Any], accept: str | None, says: str | None) -> None:
    """Contract 6: a bootstrap may be promoted; a partial, blocked or waived run never."""
    found = why_unfit(files_of(**changes), accept)
    assert found is None if says is None else (found is not None and says in found)
