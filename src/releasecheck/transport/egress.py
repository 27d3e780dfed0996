"""The way out of this machine: proxies and authorities, read from a mapping of environment variables.

The one place for both, so that targets, judges and later the service leave by the same door.
"""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

from releasecheck.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
DEFAULT_PORT: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of NO_PROXY."""

    host: str | Network
    """A domain without leading dot (it covers its subdomains), or addresses."""
    port: int | None
    """None covers every port."""

    def covers(self, host: str, port: int | None) -> bool:
        """Whether a connection to `host` and `port` needs no proxy."""
        if self.port is not None and self.port != port:
            return False
        if isinstance(self.host, str):
            return self.host in ("*", host) or host.endswith("." + self.host)
        address = _address(host)
        return address is not None and address in self.host


@dataclass(frozen=True, slots=True)
class ProxyRule:
    """Which proxy a request goes through."""

    proxies: Mapping[str, str]
    """Proxy address by scheme of the request."""
    exempt: tuple[Exemption, ...] = ()

    def __call__(self, scheme: str, host: str, port: int | None) -> str | None:
        """The proxy for a request, or None for a direct connection."""
        if not self.proxies:
            return None
        host = host.lower().rstrip(".")
        # A proxy cannot reach our own loopback; Go and browsers decide the same way.
        if is_loopback(host):
            return None
        port = port or DEFAULT_PORT.get(scheme)
        if any(entry.covers(host, port) for entry in self.exempt):
            return None
        return self.proxies.get(scheme)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def proxy_rule(environment: Mapping[str, str]) -> ProxyRule:
    """Read HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY; lower case wins, as in curl.

    Raises:
        ConfigError: a proxy of a kind that we cannot speak to.
    """
    proxies = {}
    for scheme in ("http", "https"):
        name, address = _named(environment, f"{scheme}_proxy", "all_proxy")
        if address:
            proxies[scheme] = _proxy_address(name, address)
    _, exempt = _named(environment, "no_proxy")
    entries = (part.strip() for part in exempt.split(","))
    return ProxyRule(proxies, tuple(_exemption(entry) for entry in entries if entry))


def _named(environment: Mapping[str, str], *names: str) -> tuple[str, str]:
    for name in names:
        for form in (name, name.upper()):
            # A CGI server puts the client's `Proxy:` header into HTTP_PROXY (CVE-2016-5385).
            if form == "HTTP_PROXY" and "REQUEST_METHOD" in environment:
                continue
            value = environment.get(form, "").strip()
            if value:
                return form, value
    return names[0], ""


def _proxy_address(name: str, address: str) -> str:
    if "://" not in address:
        address = "http://" + address
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:  # its words may quote the password
        message = (
            f"the environment variable {name} holds no address of a proxy; expected "
            "http://host:port, with special characters in a password encoded as %40 and the like"
        )
        raise ConfigError([Problem(message)]) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        message = (
            f"the environment variable {name} names a proxy of the kind {parts.scheme!r}; expected "
            f"http://host:port. Unset it, or exempt the hosts with NO_PROXY"
        )
        raise ConfigError([Problem(message)])
    return address


def _exemption(entry: str) -> Exemption:
    entry = entry.lower()
    try:
        return Exemption(ipaddress.ip_network(entry.strip("[]"), strict=False), None)
    except ValueError:
        pass
    host, _, port = entry.rpartition(":")
    if not host or not port.isdigit():
        host, port = entry, ""
    try:
        known: str | Network = ipaddress.ip_network(host.strip("[]"), strict=False)
    except ValueError:
        known = host if host == "*" else host.removeprefix("*").lstrip(".")
    return Exemption(known, int(port) if port else None)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def trust(environment: Mapping[str, str]) -> Callable[[], ssl.SSLContext]:
    """How to make the TLS context: SSL_CERT_FILE and SSL_CERT_DIR, else the system's and certifi's.

    Raises:
        ConfigError: a file or folder named there does not exist.
    """
    file = environment.get("SSL_CERT_FILE", "").strip()
    folder = environment.get("SSL_CERT_DIR", "").strip()
    problems = []
    if file and not Path(file).is_file():
        problems.append(Problem(f"SSL_CERT_FILE names {file!r}, which is no file; give a PEM file"))
    if folder and not Path(folder).is_dir():
        problems.append(Problem(f"SSL_CERT_DIR names {folder!r}, which is no folder"))
    if problems:
        raise ConfigError(problems)

    def context() -> ssl.SSLContext:
        if file or folder:
            return _given(file, folder)
        import certifi

        made = ssl.create_default_context(cafile=certifi.where())
        # The system's store too: a company's own authority is usually there, and in it only.
        made.load_default_certs()
        return made

    return context


def _given(file: str, folder: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except (ssl.SSLError, OSError) as error:
        message = f"SSL_CERT_FILE names {file!r}, which holds no PEM certificates ({error})"
        raise ConfigError([Problem(message)]) from None
