"""A forger: edits documents of a bundle or baseline and makes every digest around them match again."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from releasecheck.canonical import digest, digest_bytes, dump_document, dump_line
from releasecheck.errors import Untrusted
from releasecheck.ledger.jsonl import JsonlWriter, LedgerReader, stable_file_digest
from releasecheck.model.plan import plan_digest
from releasecheck.model.record import FileHeader, read_record
from releasecheck.model.results import results_digest
from releasecheck.pipeline.bundle import badge_files, read_decision
from releasecheck.pipeline.folders import Bundle
from releasecheck.plan.freeze import cases_digest
from tests.e2e.suites import document, lines
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Edit = "Callable[[dict[str, Any]], object]"


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON document in place."""
    content = document(path)
    change(content)
    path.write_bytes(dump_document(content))


def edit_lines(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the lines of a JSON Lines file in place, each by its turn."""
    rows = lines(path)
    for row in rows:
        change(row)
    path.write_bytes(b"".join(dump_line(row) for row in rows))


def rewrite_ledger(
    path: Path,
    change: Callable[[dict[str, Any]], object],
    *,
    drop: Callable[[Any], bool] | None = None,
) -> None:
    """Change records of a ledger file; its end record, counts and digest are written anew.

    How it ended stays.
    """
    rows = [row for row in lines(path) if drop is None or not drop(row)]
    for row in rows:
        change(row)
    path.unlink()
    header = read_record(rows[0], path)
    assert isinstance(header, FileHeader)
    writer = JsonlWriter(path, header, FakeClock())
    for row in rows[1:]:
        if row["record"] != "end":
            writer.append(read_record(row, path))  # type: ignore[arg-type] # neither header nor end
    writer.close(rows[-1].get("stopped"))


def seal_plan(plan: Path) -> None:
    """Make every digest inside a plan folder match its content again."""
    content = document(plan / "plan.json")
    cases: dict[int, tuple[str, str, str, list[str]]] = {}
    for shard in content["shards"]:
        path = plan / shard["file"]
        rows = lines(path)
        for row in rows:
            row["digest"] = digest(
                {"input": row["input"], "expected": row["expected"], "metadata": row["metadata"]}
                if "expected" in row
                else {"input": row["input"], "metadata": row["metadata"]}
            )
            cases[row["index"]] = (row["id"], row["digest"], row["split"], row["tags"])
        path.write_bytes(b"".join(dump_line(row) for row in rows))
        shard["digest"] = digest_bytes(path.read_bytes())
    content["cases_digest"] = cases_digest([cases[index] for index in sorted(cases)])
    content["plan_digest"] = plan_digest(content)
    (plan / "plan.json").write_bytes(dump_document(content))


def seal(out: Path) -> None:
    """Make the manifest of a bundle vouch for what is there now, in every place that names a digest."""
    for kept in sorted(out.glob("revisions/*/manifest.json"), key=lambda path: int(path.parts[-2])):
        if (kept.parent / "results.jsonl").exists() and (kept.parent / "scorecard.json").exists():
            edit(kept, partial(_vouch, out, kept.parent))
    edit(out / "manifest.json", partial(_vouch, out, out))
    rebadge(out)


def _vouch(out: Path, place: Path, manifest: dict[str, Any]) -> None:
    """The manifest of the decision that lies in `place`."""
    last = place == out
    revision = manifest["scoring"]["revision"]
    ledgers = []
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if not path.is_file() or name.startswith((".", "manifest", "badge", "failure")):
            continue
        if name.startswith("results/"):
            found = stable_file_digest(path)
            reader = LedgerReader(path)
            records = sum(1 for _ in reader)
            assert reader.header is not None
            if reader.header.revision in (1, revision):
                ledgers.append((reader.header, name.rpartition("/")[2], reader.digest, records))
        elif path.name == "results.jsonl":
            found = results_digest(lines(path))
        else:
            found = digest_bytes(path.read_bytes())
        if last or (name in manifest["files"] and name not in ("results.jsonl", "scorecard.json")):
            manifest["files"][name] = found
    if not last:
        manifest["files"]["results.jsonl"] = results_digest(lines(place / "results.jsonl"))
        card = (place / "scorecard.json").read_bytes()
        manifest["files"]["scorecard.json"] = digest_bytes(card)
    for name in list(manifest["files"]):
        if last and not (out / name).exists():
            del manifest["files"][name]
    manifest["scoring"]["digest"] = manifest["files"].get("results.jsonl")
    manifest["decision"]["scorecard_digest"] = manifest["files"].get("scorecard.json")
    for file in manifest["shards"]:
        for _, name, found, records in ledgers:
            if file["file"] == name:
                file |= {"digest": found, "records": records}
    seen = [
        [header.shard, header.attempt, found, *([revision] if header.revision > 1 else [])]
        for header, _, found, _ in ledgers
    ]
    manifest["ledger"]["set_digest"] = digest(sorted(seen, key=str))


def rebadge(out: Path) -> None:
    """Make the badge anew, which names the digest of the manifest."""
    if not (out / "badge.svg").exists() or not (out / "scorecard.json").exists():
        return
    with suppress(Untrusted):  # of a manifest and a scorecard that disagree no badge can be made
        backing = digest_bytes((out / "manifest.json").read_bytes())
        for name, data in badge_files(*read_decision(Bundle(out)), backing).items():
            (out / name).write_bytes(data)


def seal_baseline(folder: Path) -> None:
    """Make the manifest of a baseline vouch for its results and scorecard as they are now."""

    def vouch(manifest: dict[str, Any]) -> None:
        manifest["files"]["results.jsonl"] = results_digest(lines(folder / "results.jsonl"))
        scorecard = digest_bytes((folder / "scorecard.json").read_bytes())
        manifest["files"]["scorecard.json"] = scorecard
        manifest["scoring"]["digest"] = manifest["files"].get("results.jsonl")
        manifest["decision"]["scorecard_digest"] = scorecard

    edit(folder / "manifest.json", vouch)


def is_sealed(out: Path) -> bool:
    """Whether sealing an honest bundle changes nothing: the forger knows every digest there is."""
    names = ("manifest.json", "badge.json", "badge.svg")
    before = [(out / name).read_bytes() for name in names]
    seal(out)
    return [(out / name).read_bytes() for name in names] == before
