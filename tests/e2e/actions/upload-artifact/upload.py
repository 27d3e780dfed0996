"""Upload a folder or file to an artifact service of the fourth generation."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
FORBIDDEN = set('":<>|*?\r\n\\/')


Environment: TypeAlias = "Mapping[str, str]"


def call(given: Environment, method: str, body: dict[str, object]) -> dict[str, object]:
    """One request to the service."""
    url = f"{given['ACTIONS_RESULTS_URL'].rstrip('/')}/{SERVICE}/{method}"
    request = urllib.request.Request(  # noqa: S310 - loopback
        url,
        json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {given['ACTIONS_RUNTIME_TOKEN']}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 - loopback
            # Names as in the protocol's files, or as in its JSON: both are in use.
            return {key.replace("_", "").lower(): value for key, value in json.load(answer).items()}
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} answered {error.code}: {error.read().decode()[:300]}")


def backend_ids(given: Environment) -> tuple[str, str]:
    """Whose artifacts these are: the token says it."""
    try:
        part = given["ACTIONS_RUNTIME_TOKEN"].split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        scope = next(s for s in claims["scp"].split() if s.startswith("Actions.Results:"))
        _, run, job = scope.split(":")
    except (LookupError, ValueError, StopIteration):
        return given["GITHUB_RUN_ID"], given["GITHUB_RUN_ID"]
    return run, job


def content(given: Environment, source: Path, *, archive: bool) -> bytes:
    """The bytes to upload."""
    if source.is_file() and not archive:
        return source.read_bytes()
    files = [source] if source.is_file() else sorted(p for p in source.rglob("*") if p.is_file())
    root = source.parent if source.is_file() else source
    # Hidden files are left out, as the real action does by default.
    files = [
        p for p in files if not any(part.startswith(".") for part in p.relative_to(root).parts)
    ]
    if not files:
        if given["MISSING"] == "error":
            sys.exit(f"no files were found in {source}")
        sys.stdout.write(f"no files were found in {source}\n")
        sys.exit(0)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in files:
            zipped.write(path, path.relative_to(root).as_posix())
    return buffer.getvalue()


def put(url: str, data: bytes) -> None:
    """Store a blob in one block."""
    block = "AAAA"
    for query, body in (
        (f"&comp=block&blockid={block}", data),
        ("&comp=blocklist", f"<BlockList><Latest>{block}</Latest></BlockList>".encode()),
    ):
        request = urllib.request.Request(url + query, body, method="PUT")  # noqa: S310 - loopback
        with urllib.request.urlopen(request):  # noqa: S310 - loopback
            pass


def main(given: Environment) -> None:
    """Create, store, finalize."""
    source, archive = Path(given["FROM"]), given["ARCHIVE"] == "true"
    name = given["NAME"] if archive else source.name
    if set(name) & FORBIDDEN:
        sys.exit(f"the name {name!r} holds a character that no artifact's name may hold")
    lost = given.get("TEST_LOSE")
    if lost and lost in name:  # as when the machine is lost before its upload
        sys.exit(f"{name} is lost")
    data = content(given, source, archive=archive)
    run, job = backend_ids(given)
    ids = {"workflowRunBackendId": run, "workflowJobRunBackendId": job, "name": name}
    made = call(given, "CreateArtifact", {**ids, "version": 4})
    put(str(made["signeduploadurl"]), data)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    done = call(given, "FinalizeArtifact", {**ids, "size": str(len(data)), "hash": digest})
    with Path(given["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"artifact-id={done['artifactid']}\n")


if __name__ == "__main__":
    main(os.environ)
