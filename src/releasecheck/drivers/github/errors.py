"""What can go wrong between us and GitHub, so that callers can match it.

::

    InfrastructureError
    ├── GitHubError           an answer of the REST interface, with `status`
    │   ├── Unauthorized      401
    │   ├── Forbidden         403
    │   ├── NotFound          404
    │   ├── Conflict          409
    │   ├── Gone              410
    │   ├── Unprocessable     422
    │   ├── RateLimited       403 or 429, with `until`
    │   ├── ServerFailed      500 and above, after all tries
    │   ├── Unreachable       no answer at all, after all tries; `status` is None
    │   ├── BadAnswer         an answer of a shape, size or place that is not GitHub's
    │   └── TooManyPages      a list longer than is read
    ├── ArtifactExpired       its metadata are there, its content is not
    └── OutputRefused         a key or value that cannot stand in GITHUB_OUTPUT
    Untrusted
    ├── ArtifactRefused       larger than is read
    └── ZipRefused            an archive no honest writer makes
"""

from __future__ import annotations

from typing import Final

from releasecheck.errors import InfrastructureError, Untrusted

LONGEST: Final = 500
"""Characters of somebody else's text that are quoted in an error."""


def quoted(text: str, longest: int = LONGEST) -> str:
    """Somebody else's text as part of one line: no control characters, bounded."""
    one = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())
    return one if len(one) <= longest else one[: longest - 3] + "..."


class GitHubError(InfrastructureError):
    """A request to GitHub failed."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        self.status = status
        """The HTTP status; None when there was no answer."""
        super().__init__(message)


class Unauthorized(GitHubError):
    """401: the token is none, or is no longer valid."""


class Forbidden(GitHubError):
    """403, and no rate limit: the token may not do this, or not now."""


class NotFound(GitHubError):
    """404: not there, or hidden from this token."""


class Conflict(GitHubError):
    """409: it exists already, or changed in between."""


class Gone(GitHubError):
    """410: it was there and is not any more."""


class Unprocessable(GitHubError):
    """422: understood and refused, such as a reference that exists or is no fast-forward."""


class RateLimited(GitHubError):
    """A limit that lasts longer than we are willing to wait."""

    def __init__(self, message: str, *, status: int, until: str) -> None:
        self.until = until
        """When requests are answered again: UTC, RFC 3339."""
        super().__init__(message, status=status)


class ServerFailed(GitHubError):
    """500 and above, on every try."""


class Unreachable(GitHubError):
    """No answer, or no whole one, on every try."""


class BadAnswer(GitHubError):
    """An answer that GitHub does not give: no JSON, no list, too large, or a redirect elsewhere."""


class TooManyPages(GitHubError):
    """A list has more pages than are read; what was read is not all there is."""


class ArtifactExpired(InfrastructureError):
    """An artifact whose content GitHub has deleted, after its retention."""


class OutputRefused(InfrastructureError):
    """Something that cannot be written to GITHUB_OUTPUT as it is."""


class ArtifactRefused(Untrusted):
    """An artifact that is not read, whatever it holds."""


class ZipRefused(Untrusted):
    """An archive that no honest writer makes; nothing of it was kept."""


BY_STATUS: Final[dict[int, type[GitHubError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Unprocessable,
}
