"""The HTTP client of a run, made when somebody first wants it.

A run whose target is a program needs no HTTP, and importing its libraries takes half a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.transport.http import HttpClient


def _http_client(environment: Mapping[str, str]) -> HttpClient:
    from releasecheck.transport.http import http_client

    return http_client(environment)


class RunClient:
    """Gives the one client of the run to all who ask, and closes it."""

    def __init__(
        self,
        environment: Mapping[str, str],
        make: Callable[[Mapping[str, str]], HttpClient] = _http_client,
    ) -> None:
        """Take the environment that names proxies and authorities."""
        self._environment = environment
        self._make = make
        self._client: HttpClient | None = None

    def http(self) -> HttpClient:
        """The client; always the same one.

        Raises:
            ConfigError: the environment names a proxy or an authority that cannot be used.
        """
        if self._client is None:
            self._client = self._make(self._environment)
        return self._client

    async def aclose(self) -> None:
        """Close every connection; idempotent."""
        if self._client is not None:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection."""
        await self.aclose()
