"""Whose token this is: comments and attempts are ours when that login made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.errors import Forbidden, NotFound

if TYPE_CHECKING:
    from releasecheck.drivers.github.rest import GitHubClient

ACTIONS_LOGIN: Final = "github-actions[bot]"
"""Who writes, and starts runs again, with the token that every job is given."""


def own_login(client: GitHubClient) -> str:
    """The login of the token; that of a job may not ask, and is told by that.

    Raises:
        GitHubError: as for any request; a token that is none is no token of a job.
    """
    try:
        user = client.get("/user")
    except (Forbidden, NotFound):
        return ACTIONS_LOGIN
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) and login else ACTIONS_LOGIN
