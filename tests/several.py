"""A folder of finished runs that went on for weeks: for pages and commands about more than one of them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from releasecheck.canonical import digest_bytes, dump_document
from tests.bundles import Made

if TYPE_CHECKING:
    from pathlib import Path

STRICT = {"judges": [{"id": "exact", "type": "exact", "normalize": ["strip"]}]}
"""Another judge under the same name."""


def answers(good: int, of: int = 4) -> dict[str, Any]:
    """So many right answers of so many."""
    return {f"c{at}": "good" if at < good else "bad" for at in range(of)}


def run_in(folder: Path, day: str, **given: Any) -> Path:
    """A bundle that was finalized on a day, `2026-02-01`."""
    made = replace(Made(), **given)
    # Playwright leaves its event loop running in the thread of a test.
    with ThreadPoolExecutor(1) as pool:
        return dated(pool.submit(made.write, folder).result(), day)


def dated(out: Path, day: str) -> Path:
    """The bundle, finalized on another day."""
    path = out / "manifest.json"
    document = json.loads(path.read_bytes())
    document["finalized_at"] = f"{day}T09:00:00.000Z"
    path.write_bytes(dump_document(document))
    return out


def copied(out: Path, folder: Path, run_id: str, day: str) -> Path:
    """The manifest and scorecard of a run under another name, as a baseline folder holds them."""
    folder.mkdir(parents=True)
    card = json.loads((out / "scorecard.json").read_bytes())
    card["run_id"] = run_id
    (folder / "scorecard.json").write_bytes(dump_document(card))
    manifest = json.loads((out / "manifest.json").read_bytes())
    manifest["run_id"] = run_id
    manifest["files"]["scorecard.json"] = digest_bytes(dump_document(card))
    (folder / "manifest.json").write_bytes(dump_document(manifest))
    return dated(folder, day)


def weeks(folder: Path) -> Path:
    """Six runs: one blocks, one lacks a score, one has another judge, the last other cases."""
    runs = folder / "runs"
    run_in(runs / "w1", "2026-01-05", cases=answers(4), unique="1")
    run_in(runs / "w2", "2026-01-12", cases=answers(3), unique="2")
    run_in(runs / "w3", "2026-01-19", cases=answers(2), unique="3")
    run_in(runs / "w4", "2026-01-26", cases={**answers(3), "c3": None}, unique="4")
    run_in(runs / "deep" / "w5", "2026-02-02", cases=answers(3), unique="5", extra=STRICT)
    run_in(runs / "deep" / "w6", "2026-02-09", cases=answers(5, of=6), unique="6", extra=STRICT)
    return runs
