"""The finished runs in a folder: bundles and baselines at any depth, each read and checked.

A run counts when its manifest and scorecard agree, the scorecard has the digest that the manifest names, and
the manifest calls it final. Everything else that looks like a run is named with the reason, never left out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from releasecheck.canonical import digest_bytes, dump_document
from releasecheck.errors import ReleaseCheckError, Untrusted, UsageError
from releasecheck.model.base import require_schema
from releasecheck.model.history import MOST_POINTS, History, PastMetric, PastRun, Refused
from releasecheck.model.scorecard import Manifest, Scorecard
from releasecheck.pipeline.files import parse_document, read_bytes
from releasecheck.pipeline.folders import Bundle
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEEPEST: Final = 16
"""Folders below the one that is named."""
MOST_FOLDERS: Final = 100_000
"""Looked into; a folder with more was not meant."""
LARGEST: Final = 256 * 2**20
"""Bytes of a manifest or scorecard that are read."""
HISTORY_FILE: Final = "history.json"
"""In a plan folder."""
_MARKS: Final = ("manifest.json", "scorecard.json", "failure.json")
"""A folder with one of these is a run, or what is left of one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A run, and where it lies."""

    path: str
    """Below the folder that was looked through."""
    run: PastRun


@dataclass(frozen=True, slots=True)
class Found:
    """What a folder holds."""

    kept: tuple[Kept, ...]
    """The oldest first, each run once."""
    copies: tuple[Refused, ...]
    """Further places of a run, or of what a later revision took the place of."""
    refused: tuple[Refused, ...]
    """What looked like a run and cannot be believed, or is not decided for good."""

    @property
    def suites(self) -> dict[str, tuple[Kept, ...]]:
        """By the suite's name."""
        names = sorted({one.run.suite for one in self.kept})
        return {name: tuple(one for one in self.kept if one.run.suite == name) for name in names}


def find_runs(folder: Path) -> Found:
    """Every run below a folder.

    Raises:
        UsageError: the folder is not there, or holds more than anybody could have meant.
    """
    if not folder.is_dir():
        message = f"{folder}: no such folder of bundles or baselines"
        raise UsageError(message)
    kept: list[Kept] = []
    refused: list[Refused] = []
    for path in _candidates(folder, refused):
        name = path.relative_to(folder).as_posix()
        try:
            kept.append(Kept(name, read_run(path)))
        except ReleaseCheckError as error:
            why = str(error).removeprefix(f"{path}: ").replace(f"{path}/", "").split("\n")[0]
            refused.append(Refused(path=name, why=why))
    kept.sort(key=lambda one: (datetime.fromisoformat(one.run.at), one.run.run_id, one.path))
    once, copies = _once(kept)
    return Found(once, copies, tuple(sorted(refused, key=lambda one: one.path)))


def _candidates(folder: Path, refused: list[Refused]) -> Iterator[Path]:
    """Folders that hold a run; what is inside a run are its own parts, a copy of its baseline among them."""

    def unread(error: OSError) -> None:
        name = Path(error.filename).relative_to(folder).as_posix()
        refused.append(Refused(path=name, why=f"cannot be read: {error.strerror}"))

    seen = 0
    for root, folders, files in os.walk(folder, onerror=unread):
        seen += 1
        if seen > MOST_FOLDERS:
            message = (
                f"{folder}: it holds more than {MOST_FOLDERS:,} folders; name the one with the runs"
            )
            raise UsageError(message)
        here = Path(root)
        held = set(files)
        # A suite's own folder has a plan beside its bundle; only in a bundle is there nothing else.
        begun = Bundle(here).exists() and not Bundle(here).foreign()
        if held & set(_MARKS) or begun:
            folders.clear()
            yield here
            continue
        if "plan.json" in held:  # a plan that nobody has carried out
            folders.clear()
            continue
        visible = sorted(name for name in folders if not name.startswith("."))
        links = {name for name in visible if (here / name).is_symlink()}
        refused += [
            Refused(
                path=(here / name).relative_to(folder).as_posix(),
                why="a link, which is not followed",
            )
            for name in sorted(links)
        ]
        folders[:] = [name for name in visible if name not in links]
        if folders and len(here.relative_to(folder).parts) >= DEEPEST:
            name = here.relative_to(folder).as_posix()
            why = f"it lies {DEEPEST} folders deep, and what is below was not looked at"
            refused.append(Refused(path=name, why=why))
            folders.clear()


def _once(kept: Iterable[Kept]) -> tuple[tuple[Kept, ...], tuple[Refused, ...]]:
    """Each run once, and its other places: a promoted run lies in its bundle and among the baselines."""
    copies: list[Refused] = []
    latest: dict[str, Kept] = {}
    for one in kept:
        other = latest.get(one.run.run_id)
        if other is None:
            latest[one.run.run_id] = one
            continue
        # A purge makes a new manifest of the same decision; a later revision is another decision.
        old, new = sorted((other, one), key=lambda each: each.run.revision)
        if old.run.revision == new.run.revision:
            old, new = one, other
        latest[one.run.run_id] = new
        what = "the same run as" if old.run.revision == new.run.revision else "revised in"
        copies.append(Refused(path=old.path, why=f"{what} {new.path}"))
    ordered = sorted(latest.values(), key=lambda one: datetime.fromisoformat(one.run.at))
    return tuple(ordered), tuple(sorted(copies, key=lambda one: one.path))


def read_run(folder: Path) -> PastRun:
    """One bundle or baseline folder as a point.

    Raises:
        UsageError: nothing in it is decided, or not for good.
        Untrusted: its documents contradict each other.
    """
    for name in ("manifest.json", "scorecard.json"):
        if not (folder / name).is_file():
            said = "; it says why in failure.json" if (folder / "failure.json").is_file() else ""
            message = f"{folder}: nothing was decided in it, {name} is not there{said}"
            raise UsageError(message)
    data = {name: _read(folder / name) for name in ("manifest.json", "scorecard.json")}
    manifest = _document(Manifest, data["manifest.json"], folder, "manifest")
    card = _document(Scorecard, data["scorecard.json"], folder, "scorecard")
    _check(folder, manifest, card, digest_bytes(data["scorecard.json"]))
    commit = manifest.context.get("commit")
    try:
        return PastRun(
            run_id=card.run_id,
            suite=card.suite,
            mode=card.mode,
            at=str(manifest.finalized_at),
            commit=commit if isinstance(commit, str) else None,
            verdict=card.verdict,
            overridden=card.overridden,
            provenance=manifest.provenance,
            revision=card.revision,
            manifest_digest=digest_bytes(data["manifest.json"]),
            judges={str(one["spec"]["id"]): one["digest"] for one in manifest.evaluators},
            cases_digest=manifest.dataset["digest"],
            blocked_by=tuple(
                gate.id
                for gate in card.gates
                if gate.outcome in ("block", "blocked_missing", "not_comparable")
            ),
            metrics=tuple(
                PastMetric.model_validate(metric.model_dump(include=set(PastMetric.model_fields)))
                for metric in card.metrics
            ),
        )
    except (ValidationError, LookupError, TypeError) as error:
        raise _damaged(folder, "manifest.json", error) from None


def _read(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror}"
        raise UsageError(message) from None
    if size > LARGEST:
        message = f"{path}: it has {size:,} bytes, more than any run of ours writes"
        raise Untrusted(message)
    return read_bytes(path)


def _document(model: Any, data: bytes, folder: Path, kind: str) -> Any:  # noqa: ANN401 - one of two
    name = f"{kind}.json"
    document = parse_document(data, str(folder / name))
    require_schema(document.get("schema"), kind, path=str(folder / name))
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise _damaged(folder, name, error) from None


def _damaged(folder: Path, name: str, error: Exception) -> Untrusted:
    return Untrusted(f"{folder}: {name} is damaged: {str(error).splitlines()[0]}")


def _check(folder: Path, manifest: Manifest, card: Scorecard, found: str) -> None:
    problem = None
    if (card.run_id, card.plan_digest) != (manifest.run_id, manifest.plan_digest):
        problem = "its scorecard and its manifest are of different runs"
    elif (card.suite, card.mode) != (manifest.suite, manifest.mode):
        problem = "its scorecard and its manifest name different suites or modes"
    elif card.verdict != manifest.decision.get("verdict"):
        problem = "its scorecard and its manifest name different verdicts"
    elif found != manifest.files.get("scorecard.json"):
        problem = "its scorecard is not the one that its manifest vouches for"
    if problem is not None:
        message = f"{folder}: {problem}"
        raise Untrusted(message)
    if manifest.finalized_at is None or card.verdict is None or card.status == "running":
        message = f"{folder}: run {card.run_id} is still open"
        raise UsageError(message)
    if not _is_time(manifest.finalized_at):
        message = f"{folder}: finalized_at: found {manifest.finalized_at!r}, expected a time"
        raise Untrusted(message)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


# --- What a plan keeps of it --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrozenHistory:
    """Earlier runs for a plan, and what must be said about them."""

    history: History | None
    """None where there is no earlier run of this suite."""
    notes: tuple[str, ...] = ()


def history_for(suite: str, folder: Path) -> FrozenHistory:
    """The latest runs of a suite below a folder.

    Raises:
        UsageError: the folder is not there.
    """
    found = find_runs(folder)
    runs = [one.run for one in found.suites.get(suite, ())]
    notes = [f"--history: {one.path}: not drawn: {one.why}" for one in found.refused[:5]]
    if len(found.refused) > 5:
        notes.append(f"--history: {len(found.refused) - 5} more were not drawn")
    if not runs:
        others = count(len(found.kept), "run") + " of other suites" if found.kept else "no run"
        notes.insert(
            0, f"--history: no earlier run of {suite} in {folder} ({others}): no trend is drawn"
        )
        return FrozenHistory(None, tuple(notes))
    last = tuple(runs[-MOST_POINTS:])
    return FrozenHistory(
        History(runs=last, older=len(runs) - len(last), refused=found.refused[:MOST_POINTS]),
        tuple(notes),
    )


def history_bytes(history: History) -> bytes:
    """The file in a plan."""
    return dump_document(history.model_dump(mode="json", by_alias=True))


def open_history(plan: Path) -> History | None:
    """What a plan folder keeps of earlier runs; None when it keeps nothing.

    Raises:
        Untrusted: the file is damaged.
    """
    path = plan / HISTORY_FILE
    if not path.is_file():
        return None
    try:
        document = parse_document(_read(path), str(path))
        require_schema(document.get("schema"), "history", path=str(path))
        return History.model_validate(document)
    except (ValidationError, UsageError) as error:
        message = f"{path}: the history of the plan is damaged: {str(error).splitlines()[0]}"
        raise Untrusted(message) from None
