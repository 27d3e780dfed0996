"""What an attempt left behind: its scorecard, as much of it as the beat needs, and its shards' records."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.drivers.github.artifacts import Artifact, Found, fetch
from releasecheck.drivers.github.errors import ArtifactExpired, ZipRefused
from releasecheck.drivers.github.zips import BUNDLE_LIMITS
from releasecheck.errors import ReleaseCheckError, Untrusted
from releasecheck.ledger.jsonl import LedgerReader
from releasecheck.model.record import OutputRecord, ScoreRecord
from releasecheck.model.score import NotApplicable, Scored
from releasecheck.model.scorecard import Counts, Waiting

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.names import ScorecardName, ShardName
    from releasecheck.drivers.github.rest import GitHubClient

LARGEST: Final = 64 * 2**20
"""Bytes of a scorecard or manifest that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """The decision of one attempt."""

    attempt: int
    finalized: bool
    verdict: str | None
    counts: Counts
    waiting: tuple[Waiting, ...]
    decided_at: datetime | None

    @property
    def is_waiting(self) -> bool:
        """Whether only time can bring what is missing."""
        return self.verdict is None and not self.finalized

    @property
    def reached(self) -> tuple[int, int]:
        """How much is recorded, and how much of it is measured; both only ever grow."""
        counts = self.counts
        return (
            counts.pairs - counts.missing - counts.pending,
            counts.scored + counts.not_applicable,
        )

    def due(self) -> datetime | None:
        """The next moment at which another attempt may bring something; None: no judge names one."""
        moments = [_next(one, self.decided_at) for one in self.waiting]
        return min((one for one in moments if one is not None), default=None)


def _next(waiting: Waiting, decided: datetime | None) -> datetime | None:
    """The first of its moments that this decision did not know the outcome of."""
    moments = [read_moment(waiting.not_before), read_moment(waiting.deadline)]
    return next((one for one in moments if one and (decided is None or one > decided)), None)


def read_moment(text: str | None) -> datetime | None:
    """A moment of a document; None when there is none, or none that can be read."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Reader:
    """Reads artifacts of one repository's own runs, each once."""

    def __init__(self, client: GitHubClient, repository: str, into: Path) -> None:
        self._client, self._repository, self._into = client, repository, into
        self._cards: dict[int, Card | None] = {}
        self._brought: dict[int, bool] = {}

    def card(self, found: Found[ScorecardName]) -> Card | None:
        """The decision in a bundle; None when it is none that can be believed.

        Raises:
            ArtifactExpired: nobody can know any more.
            GitHubError: as for any request.
        """
        number = found.artifact.id
        if number not in self._cards:
            self._cards[number] = self._read_card(found)
        return self._cards[number]

    def brought_something(self, shards: Iterable[Found[ShardName]]) -> bool:
        """Whether a result file holds an answer or a measured score.

        A shard that is run again records only what was missing or had failed, so whatever succeeded in it
        is new.
        """
        return any(self._brought_by(one.artifact) for one in shards if not one.artifact.expired)

    def _read_card(self, found: Found[ScorecardName]) -> Card | None:
        folder = self._unpacked(found.artifact)
        if folder is None:
            return None
        try:
            return _card(folder, found.name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _brought_by(self, artifact: Artifact) -> bool:
        if artifact.id not in self._brought:
            try:
                folder = self._unpacked(artifact)
            except ArtifactExpired:
                folder = None
            self._brought[artifact.id] = folder is not None and _succeeded(folder)
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        return self._brought[artifact.id]

    def _unpacked(self, artifact: Artifact) -> Path | None:
        """Its files; None when it is no archive that an honest program made."""
        try:
            found = fetch(
                self._client, self._repository, artifact, self._into, limits=BUNDLE_LIMITS
            )
        except (ZipRefused, Untrusted):
            return None
        return found.folder


def _card(folder: Path, name: ScorecardName) -> Card | None:
    try:
        card = _document(folder / "scorecard.json")
        manifest = _document(folder / "manifest.json") if _is_file(folder, "manifest.json") else {}
        digest = card["plan_digest"].removeprefix("sha256:")
        if card["suite"] != name.suite or digest[:12] != name.plan:
            return None
        same = manifest.get("plan_digest") == card["plan_digest"]
        verdict = card.get("verdict")
        return Card(
            attempt=name.attempt,
            finalized=same and isinstance(manifest.get("finalized_at"), str),
            verdict=verdict if isinstance(verdict, str) else None,
            counts=Counts.model_validate(card["counts"]),
            waiting=tuple(Waiting.model_validate(one) for one in card.get("waiting") or ()),
            decided_at=read_moment(card.get("created_at")),
        )
    except (OSError, JsonProblem, ValidationError, LookupError, TypeError, AttributeError):
        return None


def _is_file(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _document(path: Path) -> dict[str, Json]:
    with path.open("rb") as file:
        value = parse_json(file.read(LARGEST + 1))
    if not isinstance(value, dict):
        message = f"{path.name} holds no object"
        raise TypeError(message)
    return value


def _succeeded(folder: Path) -> bool:
    try:
        return any(
            _is_success(record)
            for path in sorted(folder.rglob("*.jsonl"))
            for _, record in LedgerReader(path)
        )
    except ReleaseCheckError:
        return False


def _is_success(record: object) -> bool:
    if isinstance(record, OutputRecord):
        return record.failure is None
    return isinstance(record, ScoreRecord) and isinstance(record.score, Scored | NotApplicable)
