"""Files on a branch of their own, through the git data interface: compare, commit, and never force.

A branch of badges has no history in common with the code; writing there starts no workflow.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import BadAnswer, Conflict, NotFound, Unprocessable
from releasecheck.drivers.github.publishing.results import NotPublished
from releasecheck.drivers.github.rest import segment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.canonical import Json
    from releasecheck.drivers.github.rest import GitHubClient

TRIES: Final = 8
"""Each lost race means that somebody else's commit was taken, so a few are enough."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of one repository."""

    client: GitHubClient
    repository: str
    name: str

    def _path(self, rest: str) -> str:
        return f"/repos/{self.repository}/{rest}"

    def head(self) -> str | None:
        """Its last commit; None when there is no such branch."""
        try:
            ref = self.client.get(self._path(f"git/ref/heads/{_ref(self.name)}"))
        except NotFound:
            return None
        return _sha(ref.get("object") if isinstance(ref, dict) else None, "a branch")

    def read(self, head: str, path: str) -> bytes | None:
        """A file at a commit; None when it is not there."""
        try:
            found = self.client.get(self._path(f"contents/{path}"), {"ref": head})
        except NotFound:
            return None
        content = found.get("content") if isinstance(found, dict) else None
        if not isinstance(content, str):
            return None
        try:
            return base64.b64decode(content)
        except (binascii.Error, ValueError):
            message = f"GET {path}: the content of the file is no base64"
            raise BadAnswer(message, status=200) from None

    def paths(self, head: str) -> tuple[str, ...]:
        """Every file at a commit.

        Raises:
            BadAnswer: the branch holds more than GitHub lists at once.
        """
        commit = self.client.get(self._path(f"git/commits/{head}"))
        tree = _sha(commit.get("tree") if isinstance(commit, dict) else None, "a tree")
        listed = self.client.get(self._path(f"git/trees/{tree}"), {"recursive": "1"})
        entries = listed.get("tree") if isinstance(listed, dict) else None
        if not isinstance(listed, dict) or not isinstance(entries, list) or listed.get("truncated"):
            message = (
                f"branch {self.name}: its files cannot be listed; let it hold nothing but badges"
            )
            raise BadAnswer(message, status=200)
        found = (entry.get("path") for entry in entries if isinstance(entry, dict))
        return tuple(path for path in found if isinstance(path, str))

    def commit(self, head: str | None, files: Mapping[str, bytes], message: str) -> str | None:
        """Put files beside what is there, on top of `head`; None when somebody else was faster."""
        entries: list[Json] = []
        for path, data in sorted(files.items()):
            body = {"content": base64.b64encode(data).decode("ascii"), "encoding": "base64"}
            blob = self.client.post(self._path("git/blobs"), body, repeatable=True)
            entries.append(
                {"path": path, "mode": "100644", "type": "blob", "sha": _sha(blob, "a blob")}
            )
        tree: Json = {"tree": entries}
        if head is not None:
            before = self.client.get(self._path(f"git/commits/{head}"))
            below = before.get("tree") if isinstance(before, dict) else None
            tree["base_tree"] = _sha(below, "a tree")
        made = self.client.post(self._path("git/trees"), tree, repeatable=True)
        asked: Json = {
            "message": message,
            "tree": _sha(made, "a tree"),
            "parents": [] if head is None else [head],
        }
        told = self.client.post(self._path("git/commits"), asked, repeatable=True)
        commit = _sha(told, "a commit")
        return commit if self._move(head, commit) else None

    def _move(self, head: str | None, commit: str) -> bool:
        """Let the branch point at a commit; False when it has moved or come into being meanwhile."""
        try:
            if head is None:
                body = {"ref": f"refs/heads/{self.name}", "sha": commit}
                # Asked twice it says that the branch exists; reading it again then tells whose it is.
                self.client.post(self._path("git/refs"), body, repeatable=True)
            else:
                path = self._path(f"git/refs/heads/{_ref(self.name)}")
                self.client.patch(path, {"sha": commit, "force": False})
        except (Unprocessable, Conflict):
            # Only a head that is another one by now is a lost race; all else would never succeed.
            now = self.head()
            if now == commit:
                return True
            if now == head:
                raise
            return False
        return True


def update(
    branch: Branch, decide: Callable[[str | None], Mapping[str, bytes] | None], message: str
) -> str | None:
    """Commit what `decide` makes of the branch's head, again for each new head.

    Returns:
        The commit; None when `decide` gave nothing to write.

    Raises:
        NotPublished: others were faster on every try.
    """
    for _ in range(TRIES):
        head = branch.head()
        files = decide(head)
        if files is None:
            return None
        made = branch.commit(head, files, message)
        if made is not None:
            return made
    text = (
        f"branch {branch.name}: {TRIES} times somebody else was faster; run the publish job again"
    )
    raise NotPublished(text)


def _ref(name: str) -> str:
    return "/".join(segment(part) for part in name.split("/"))


def _sha(item: Json, what: str) -> str:
    sha = item.get("sha") if isinstance(item, dict) else None
    if not isinstance(sha, str) or not sha.isalnum() or not sha.isascii():
        message = f"GitHub answered with {what} that has no sha"
        raise BadAnswer(message, status=200)
    return sha
