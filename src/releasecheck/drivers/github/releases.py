"""Bundles that were attached to releases: they stay when artifacts have expired (G-23)."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.context import ForeignText
from releasecheck.drivers.github.errors import BadAnswer, TooManyPages
from releasecheck.drivers.github.found import FromRelease
from releasecheck.drivers.github.rest import segment
from releasecheck.drivers.github.zips import BUNDLE_LIMITS, unpack
from releasecheck.errors import DigestMismatch

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.rest import GitHubClient

_NAME: Final = re.compile(r"releasecheck-([a-z0-9][a-z0-9-]{0,62})-([0-9a-f]{12})\.zip")
_DIGEST: Final = re.compile("sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundled:
    """One bundle of a suite, attached to a published release."""

    tag: ForeignText
    published_at: str
    asset_id: int
    name: str
    plan12: str
    digest: str | None
    """`sha256:<hex>`; None when GitHub tells none."""

    @property
    def what(self) -> str:
        """It on one line."""
        return f"release {self.tag}"

    @property
    def commit_path(self) -> str:
        """Its tag as a reference in a path."""
        return segment(f"tags/{self.tag.raw}")

    def source(self, digest: str, run: int) -> FromRelease:
        """As the place where a baseline was found."""
        return FromRelease(
            tag=str(self.tag), asset_id=self.asset_id, asset=self.name, digest=digest, run_id=run
        )


def list_bundled(
    client: GitHubClient, repository: str, suite: str
) -> tuple[tuple[Bundled, ...], bool]:
    """Bundles of a suite, newest release first, and whether there are older releases than were listed.

    Raises:
        GitHubError: as for any request.
    """
    path = f"/repos/{repository}/releases"
    found: list[Bundled] = []
    more = False
    try:
        for item in client.pages(path, most=1):
            found += _bundled(path, item, suite)
    except TooManyPages:
        more = True
    return tuple(sorted(found, key=lambda one: one.published_at, reverse=True)), more


def fetch_asset(
    client: GitHubClient, repository: str, one: Bundled, into: Path, *, max_bytes: int
) -> tuple[Path, str]:
    """Download and unpack it into `into/asset-<id>`; gives the folder and the archive's digest.

    Raises:
        ArtifactRefused: it is larger than `max_bytes`.
        DigestMismatch: these are not the bytes that were uploaded.
        ZipRefused: it holds what no honest writer writes.
        GitHubError: as for any request.
    """
    into.mkdir(parents=True, exist_ok=True)
    archive, folder = into / f"asset-{one.asset_id}.zip", into / f"asset-{one.asset_id}"
    shutil.rmtree(folder, ignore_errors=True)
    path = f"/repos/{repository}/releases/assets/{one.asset_id}"
    try:
        done = client.download(path, archive, max_bytes, accept="application/octet-stream")
        if one.digest is not None and done.digest != one.digest:
            raise DigestMismatch(one.what, found=done.digest, expected=one.digest)
        unpack(archive, folder, limits=BUNDLE_LIMITS)
    finally:
        archive.unlink(missing_ok=True)
    return folder, done.digest


def _bundled(path: str, item: Json, suite: str) -> list[Bundled]:
    try:
        if item["draft"] is not False:
            return []
        made = []
        for asset in item["assets"]:
            match = _NAME.fullmatch(asset["name"])
            if match is None or match[1] != suite or asset.get("state", "uploaded") != "uploaded":
                continue
            digest = asset.get("digest")
            if digest is not None and not _DIGEST.fullmatch(digest):
                digest = None
            made.append(
                Bundled(
                    tag=ForeignText(str(item["tag_name"])),
                    published_at=str(item.get("published_at") or item.get("created_at") or ""),
                    asset_id=int(asset["id"]),
                    name=match[0],
                    plan12=match[2],
                    digest=digest,
                )
            )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"GET {path}: a release without what GitHub tells of each ({error!r:.200})"
        raise BadAnswer(message, status=200) from None
    return made
