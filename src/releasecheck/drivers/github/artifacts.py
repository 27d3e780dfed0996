"""Artifacts of workflow runs: listed whole, chosen by name, checked, and unpacked each into its own folder.

An artifact is never chosen because it is the latest or has the highest id: ids do not grow with time, and
two attempts can leave two artifacts of one name (P-04, trap 6). What is chosen is chosen by what its name
says, and all that fit are given; records decide which of them count.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from releasecheck.drivers.github.errors import (
    ArtifactExpired,
    ArtifactRefused,
    BadAnswer,
    Gone,
    ZipRefused,
    quoted,
)
from releasecheck.drivers.github.names import ArtifactName, ShardName, parse
from releasecheck.drivers.github.zips import DEFAULT_LIMITS, ZipLimits, any_name, unpack
from releasecheck.errors import DigestMismatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.rest import Downloaded, GitHubClient

LARGEST: Final = 2048 * 2**20
"""Bytes of an archive that are read unless the caller says otherwise."""
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")
N = TypeVar("N", bound=ArtifactName, covariant=True)  # noqa: PLC0105 - a short name reads better


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """What GitHub tells of one artifact; its name is whatever its uploader chose."""

    id: int
    name: str
    size: int
    """Bytes of the archive."""
    expired: bool
    created_at: str
    digest: str | None
    """`sha256:<hex>` of the archive; None when GitHub tells none."""
    run_id: int | None
    head_sha: str | None
    head_branch: str | None
    head_repository_id: int | None
    repository_id: int | None

    @property
    def from_fork(self) -> bool:
        """Whether another repository's code may have made it; also when GitHub does not tell."""
        return self.head_repository_id is None or self.head_repository_id != self.repository_id


@dataclass(frozen=True, slots=True)
class Found(Generic[N]):
    """An artifact whose name is one of ours."""

    artifact: Artifact
    name: N


@dataclass(frozen=True, slots=True)
class Fetched:
    """An artifact on disk."""

    artifact: Artifact
    folder: Path
    """Its own; named by the artifact's id."""
    files: tuple[str, ...]
    """Relative to `folder`, with `/`, sorted."""
    digest: str
    """`sha256:<hex>` of the archive as it came."""


def list_artifacts(
    client: GitHubClient, repository: str, run_id: int, name: str | None = None
) -> tuple[Artifact, ...]:
    """All artifacts of a run, of all its attempts, expired ones too.

    Args:
        client: Whose token may read actions.
        repository: `owner/name`.
        run_id: The run.
        name: Only those of exactly this name.

    Raises:
        TooManyPages: there are more than are read.
        BadAnswer: the list holds something that is no artifact.
        GitHubError: as for any request.
    """
    path = f"/repos/{repository}/actions/runs/{run_id}/artifacts"
    params = {} if name is None else {"name": name}
    listed = (_artifact(path, item) for item in client.pages(path, "artifacts", params))
    unique = {one.id: one for one in listed}  # a list that grows while it is read repeats items
    return tuple(one for one in unique.values() if name is None or one.name == name)


def get_artifact(client: GitHubClient, repository: str, artifact_id: int) -> Artifact:
    """One artifact by its id."""
    path = f"/repos/{repository}/actions/artifacts/{artifact_id}"
    return _artifact(path, client.get(path))


def choose(
    artifacts: Iterable[Artifact], kind: type[N], *, suite: str, plan: str | None = None
) -> tuple[Found[N], ...]:
    """Those whose name is of this kind, suite and plan, in order of shard, attempt and upload.

    Expired ones are among them, so that nobody takes what expired for what never was. Several may have
    one name: all of them are given.

    Args:
        artifacts: As listed.
        kind: Such as `ShardName`.
        suite: Exactly.
        plan: The first 12 hex digits of its digest, or `noplan`; None for any.
    """
    found = []
    for one in artifacts:
        name = parse(one.name)
        if isinstance(name, kind) and name.suite == suite and plan in (None, name.plan):
            found.append(Found(one, name))
    return tuple(sorted(found, key=_order))


def _order(found: Found[ArtifactName]) -> tuple[int, int, int, int]:
    name = found.name
    index = name.index if isinstance(name, ShardName) else 0
    # The id only makes the order repeatable; it says nothing about time.
    return index, name.attempt, name.upload, found.artifact.id


def fetch(
    client: GitHubClient,
    repository: str,
    artifact: Artifact,
    into: Path,
    *,
    allowed: Callable[[str], bool] = any_name,
    max_bytes: int = LARGEST,
    limits: ZipLimits = DEFAULT_LIMITS,
) -> Fetched:
    """Download an artifact, check it and unpack it into `into/<id>`, which is replaced when it is there.

    A folder for each artifact, so that it does not matter how many there are (trap 3) and equal names of
    files never meet (trap 4).

    Raises:
        ArtifactExpired: GitHub has deleted its content.
        ArtifactRefused: it is larger than `max_bytes`.
        DigestMismatch: these are not the bytes that were uploaded.
        ZipRefused: it holds what no honest writer writes, or a file that `allowed` does not expect.
        GitHubError: as for any request.
    """
    into.mkdir(parents=True, exist_ok=True)
    archive = into / f"{artifact.id}.zip"
    folder = into / str(artifact.id)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        done = fetch_raw(client, repository, artifact, archive, max_bytes=max_bytes)
        files = unpack(archive, folder, allowed=allowed, limits=limits)
    except ZipRefused as error:
        message = f"{_called(artifact)}: {error}"
        raise ZipRefused(message) from None
    finally:
        archive.unlink(missing_ok=True)
    return Fetched(artifact, folder, files, done.digest)


def fetch_raw(
    client: GitHubClient, repository: str, artifact: Artifact, to: Path, *, max_bytes: int = LARGEST
) -> Downloaded:
    """Download what was uploaded as it is: the archive, or the file of an artifact that is not zipped.

    Raises:
        ArtifactExpired: GitHub has deleted its content.
        ArtifactRefused: it is larger than `max_bytes`.
        DigestMismatch: these are not the bytes that were uploaded.
        GitHubError: as for any request.
    """
    said = _called(artifact)
    if artifact.expired:
        raise _expired(said)
    if artifact.size > max_bytes:
        message = f"{said} has {artifact.size} bytes; at most {max_bytes} are read"
        raise ArtifactRefused(message)
    path = f"/repos/{repository}/actions/artifacts/{artifact.id}/zip"
    try:
        done = client.download(path, to, max_bytes)
    except Gone:
        raise _expired(said) from None
    if artifact.digest is not None and done.digest != artifact.digest:
        to.unlink()
        raise DigestMismatch(said, found=done.digest, expected=artifact.digest)
    return done


def _called(artifact: Artifact) -> str:
    """An artifact as people find it again."""
    return f"artifact {quoted(artifact.name, 150)!r} ({artifact.id}, from {artifact.created_at})"


def _expired(said: str) -> ArtifactExpired:
    message = (
        f"{said} has expired: GitHub has deleted its content, and only its name is left. "
        "A release asset or a committed file keeps it longer"
    )
    return ArtifactExpired(message)


def _artifact(path: str, item: Json) -> Artifact:
    try:
        run = item.get("workflow_run") or {}
        digest = item.get("digest")
        artifact = Artifact(
            id=_whole(item["id"]),
            name=_text(item["name"]),
            size=_whole(item["size_in_bytes"]),
            expired=item["expired"] is not False,
            created_at=quoted(_text(item.get("created_at") or ""), 40),
            digest=None if digest is None else _text(digest).lower(),
            run_id=_maybe(run.get("id")),
            head_sha=None if run.get("head_sha") is None else _text(run["head_sha"]),
            head_branch=None if run.get("head_branch") is None else _text(run["head_branch"]),
            head_repository_id=_maybe(run.get("head_repository_id")),
            repository_id=_maybe(run.get("repository_id")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        message = f"GET {path}: an artifact without what GitHub tells of each ({error!r})"
        raise BadAnswer(message, status=200) from None
    if artifact.digest is not None and not _DIGEST.fullmatch(artifact.digest):
        message = f"GET {path}: the digest {quoted(artifact.digest, 100)!r} is no sha256"
        raise BadAnswer(message, status=200)
    return artifact


def _whole(value: Json) -> int:
    if type(value) is not int or value < 0:
        message = f"{value!r:.60} is no number"
        raise TypeError(message)
    return value


def _maybe(value: Json) -> int | None:
    return None if value is None else _whole(value)


def _text(value: Json) -> str:
    if not isinstance(value, str):
        message = f"{value!r:.60} is no text"
        raise TypeError(message)
    return value
