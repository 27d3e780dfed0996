"""How commits lie to each other, as GitHub knows it: a checkout may be shallow, and then knows nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from releasecheck.drivers.github.errors import BadAnswer, NotFound, quoted

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.drivers.github.rest import GitHubClient

SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
Relation: TypeAlias = Literal["identical", "ahead", "behind", "diverged", "unrelated"]
_TOLD: Final = frozenset({"identical", "ahead", "behind", "diverged"})


@dataclass(frozen=True, slots=True)
class CommitSeen:
    """A commit that GitHub told of."""

    sha: str
    committed_at: str
    """UTC, as GitHub writes it; empty when it tells none."""


class Ancestry:
    """Answers about one repository, each asked for once."""

    def __init__(self, client: GitHubClient, repository: str) -> None:
        self._client = client
        self._at = f"/repos/{repository}"
        self._known: dict[tuple[str, str], Relation] = {}

    def commit(self, ref: str) -> CommitSeen:
        """The commit that a reference stands for.

        Args:
            ref: A commit, or `tags/v1` and `heads/main`, each part as a segment of a path.

        Raises:
            NotFound: there is none, or this token may not see it.
            GitHubError: as for any request.
        """
        path = f"{self._at}/commits/{ref}"
        return commit_seen(path, self._client.get(path))

    def relation(self, older: str, newer: str) -> Relation:
        """Where `newer` is, seen from `older`; `unrelated` when one is not there (any more).

        Raises:
            GitHubError: as for any request.
        """
        if older == newer:
            return "identical"
        key = older, newer
        if key not in self._known:
            self._known[key] = self._asked(older, newer)
        return self._known[key]

    def _asked(self, older: str, newer: str) -> Relation:
        path = f"{self._at}/compare/{older}...{newer}"
        try:
            answer = self._client.get(path, {"per_page": 1})
        except NotFound:
            return "unrelated"
        status = answer.get("status") if isinstance(answer, dict) else None
        if status not in _TOLD:
            message = f"GET {path}: {quoted(str(status), 60)!r} is no relation of two commits"
            raise BadAnswer(message, status=200)
        return cast("Relation", status)

    def holds(self, base: str, commit: str) -> bool:
        """Whether `commit` is `base` or one of its ancestors."""
        return self.relation(commit, base) in ("identical", "ahead")

    def after(self, commit: str, accepted: str) -> bool:
        """Whether `commit` comes after `accepted` and holds it."""
        return self.relation(accepted, commit) == "ahead"


def commit_seen(path: str, item: Json) -> CommitSeen:
    """Read a commit as the interface tells of it."""
    try:
        sha = item["sha"]
        date = item["commit"]["committer"]["date"]
    except (KeyError, TypeError) as error:
        message = f"GET {path}: a commit without what GitHub tells of each ({error!r})"
        raise BadAnswer(message, status=200) from None
    if not isinstance(sha, str) or not SHA.fullmatch(sha):
        message = f"GET {path}: {quoted(str(sha), 80)!r} is no commit"
        raise BadAnswer(message, status=200)
    return CommitSeen(sha, date if isinstance(date, str) else "")
