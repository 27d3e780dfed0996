"""The bundle attached to a release, for proof that outlives artifacts (G-23).

What is attached is never replaced or deleted: a release without its proof, even for a moment, is what
a kill would leave behind. Another bundle of the same plan stands beside it, under a name that ends in
its own digest; whoever reads them takes all and verifies each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest_bytes
from releasecheck.drivers.github.context import Release
from releasecheck.drivers.github.errors import BadAnswer, quoted
from releasecheck.drivers.github.publishing.archive import archive
from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.results import Done, Result, Skipped

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.drivers.github.rest import GitHubClient

ZIP: Final = "application/zip"
TEXT: Final = "text/plain"


@dataclass(frozen=True, slots=True)
class _Asset:
    """A file of a release."""

    id: int
    name: str
    whole: bool
    """False for what an upload that failed has left; it only takes the name."""
    size: int
    digest: str | None


def publish_asset(request: Request) -> Result:
    """Attach the bundle and its sha256, unless the same bytes are there.

    Raises:
        GitHubError: as for any request.
        NotPublished: the bundle is too large.
    """
    evidence, client, subject = request.evidence, request.client, request.context.subject
    if not request.options.asset:
        return Skipped("not asked for")
    if not isinstance(subject, Release):
        return Skipped(f"a {request.context.event} event is about no release")
    if not isinstance(evidence, Judged):
        return Skipped("there is no verified bundle to attach")
    if not evidence.final:
        return Skipped("the run is still open; its bundle is attached when it is final")
    if evidence.plan.mode != "full":
        return Skipped(f"a {evidence.plan.mode} run proves nothing about a release")
    if client is None:
        return Skipped("there is no token")
    data = archive(evidence.bundle.path, evidence.manifest)
    release = _Release(client, request.context.repository, subject.id, request.context.runner_temp)
    stem = f"releasecheck-{evidence.plan.suite}-{evidence.plan12}"
    return release.attach(stem, data)


@dataclass(frozen=True, slots=True)
class _Release:
    """One release."""

    client: GitHubClient
    repository: str
    id: int
    temporary: Path

    def attach(self, stem: str, data: bytes) -> Result:
        """The archive and its digest, each once."""
        path = f"/repos/{self.repository}/releases/{self.id}"
        told = self.client.get(path)
        url = told.get("upload_url") if isinstance(told, dict) else None
        page = told.get("html_url") if isinstance(told, dict) else None
        if not isinstance(url, str):
            message = f"GET {path}: the release has no upload_url"
            raise BadAnswer(message, status=200)
        there = {one.name: one for one in self._assets(path)}
        hexed = digest_bytes(data).removeprefix("sha256:")
        name = f"{stem}.zip"
        if self._is_other(there.get(name), data):
            name = f"{stem}-{hexed[:8]}.zip"
        sums = f"{hexed}  {name}\n".encode()
        made = [
            self._put(url, there.get(name), name, data, ZIP),
            self._put(url, there.get(f"{name}.sha256"), f"{name}.sha256", sums, TEXT),
        ]
        return Done(
            "created" if any(made) else "unchanged",
            url=quoted(page) if isinstance(page, str) else None,
            note=f"{name}, sha256:{hexed}",
        )

    def _assets(self, path: str) -> tuple[_Asset, ...]:
        return tuple(_asset(item) for item in self.client.pages(f"{path}/assets"))

    def _is_other(self, there: _Asset | None, data: bytes) -> bool:
        """Whether another file has the name already."""
        return there is not None and there.whole and not self._is_same(there, data)

    def _is_same(self, there: _Asset, data: bytes) -> bool:
        if there.size != len(data):
            return False
        return (there.digest or self._downloaded(there)) == digest_bytes(data)

    def _downloaded(self, there: _Asset) -> str:
        """The digest of a file whose digest this server does not tell."""
        path = f"/repos/{self.repository}/releases/assets/{there.id}"
        with TemporaryDirectory(dir=self.temporary) as folder:
            to = Path(folder) / "asset"
            octets = "application/octet-stream"
            return self.client.download(path, to, there.size, accept=octets).digest

    def _put(self, url: str, there: _Asset | None, name: str, data: bytes, kind: str) -> bool:
        """Upload a file unless it is there; whether that was needed."""
        if there is not None and there.whole:
            return False
        if there is not None:
            self.client.delete(f"/repos/{self.repository}/releases/assets/{there.id}")
        self.client.upload(url, data, kind, {"name": name})
        return True


def _asset(item: Json) -> _Asset:
    try:
        digest = item.get("digest")
        return _Asset(
            id=int(item["id"]),
            name=str(item["name"]),
            whole=item.get("state") == "uploaded",
            size=int(item["size"]),
            digest=digest.lower() if isinstance(digest, str) else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        message = "the list of a release's files holds something that is none"
        raise BadAnswer(message, status=200) from None
