"""The baseline that is committed beside a suite, read from GitHub as it is at a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import NotFound
from releasecheck.drivers.github.rest import segment
from releasecheck.drivers.github.wanted import Committed
from releasecheck.pipeline.baselines import FILES, PROMOTION

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.github.rest import GitHubClient

RAW: Final = "application/vnd.github.raw+json"
LARGEST_FILE: Final = 100 * 2**20
"""Bytes; GitHub serves no larger ones this way."""


def fetch_committed(
    client: GitHubClient, repository: str, path: str, at: str, into: Path
) -> Committed:
    """Read the folder without a checkout; where it is not there, `Committed.folder` stays empty.

    Args:
        client: Whose token may read contents.
        repository: `owner/name`.
        path: The folder in the repository, with `/`.
        at: The commit.
        into: The folder to fill.

    Raises:
        GitHubError: as for any request but a file that is not there.
        ArtifactRefused: a file is too large.
    """
    into.mkdir(parents=True, exist_ok=True)
    # A commit that is not there would read as a folder that is not there.
    client.get(f"/repos/{repository}/commits/{at}")
    steps = [segment(part) for part in path.split("/") if part != "."]
    for name in (*FILES, PROMOTION):
        where = "/".join([*steps, name])
        try:
            client.download(
                f"/repos/{repository}/contents/{where}?ref={at}",
                into / name,
                LARGEST_FILE,
                accept=RAW,
            )
        except NotFound:
            continue
    return Committed(into, path, at)
