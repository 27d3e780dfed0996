"""Plug-ins: what installed packages offer under an entry point group, found by name and refused by contract.

A plug-in is a function `open(options, context)` with an attribute `contract`. It is loaded, not called, when a
plan is made, and what it is made of belongs to the plan's identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import digest, digest_bytes
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.failure import Failure
from releasecheck.model.nearest import listing, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from importlib.metadata import EntryPoint

JUDGES: Final = "releasecheck.judges"
TARGETS: Final = "releasecheck.targets"
CONTRACTS: Final = {JUDGES: "evaluator@2", TARGETS: "target@1"}
"""What a plug-in of each group must say that it speaks."""
BROKEN: Final = (Exception, SystemExit)
"""What foreign code may raise; only a cancellation and a signal are not its own."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in that speaks our contract."""

    name: str
    open: Callable[..., Any]
    """`open(options, context)`."""


def load(group: str, name: str) -> Plugin:
    """The plug-in of that name, imported.

    Raises:
        ConfigError: it is not installed, cannot be imported, or speaks another contract; `key` is `plugin`.
    """
    point = _find(group, name)
    if point is None:
        raise ConfigError([Problem(_not_installed(group, name), key="plugin")])
    try:
        found = point.load()
    except BROKEN as error:
        message = f"plug-in {name!r} ({point.value}) cannot be imported: {described(error)}"
        raise ConfigError([Problem(message, key="plugin")]) from None
    expected = CONTRACTS[group]
    contract = getattr(found, "contract", None)
    if contract != expected:
        spoken = (
            "does not say which contract it speaks"
            if contract is None
            else f"speaks the contract {str(contract)[:60]!r}"
        )
        message = (
            f"plug-in {name!r} ({point.value}) {spoken}; expected `contract = {expected!r}` at what the entry "
            "point names: see docs/plugins.md"
        )
        raise ConfigError([Problem(message, key="plugin")])
    if not callable(found):
        message = f"plug-in {name!r} ({point.value}) is no function `open(options, context)`"
        raise ConfigError([Problem(message, key="plugin")])
    return Plugin(name, found)


def described(error: BaseException) -> str:
    """Type and words of an exception of foreign code, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def plugin_files(group: str, name: str) -> dict[str, str]:
    """What a plug-in is made of, by name: its distribution with the version, and one digest over its files.

    An installed plug-in is every Python file of the package or module that its entry point names. One that is
    not here has an entry that no plan holds, so that its absence is seen wherever files are compared.
    """
    point = _find(group, name)
    if point is None:
        return {f"not installed: plug-in {name}": digest(name)}
    made = dict(sorted(_sources(point)))
    dist = point.dist
    where = "unknown distribution" if dist is None else f"{dist.name} {dist.version}"
    return {f"plug-in {name}: {where}": digest({"value": point.value, "files": made})}


def is_failure(found: Any) -> bool:  # noqa: ANN401 - foreign
    """Whether this is a `Failure` that is read back from a record as it was written."""
    if not isinstance(found, Failure):
        return False
    try:
        return Failure.from_json(found.to_json()) == found
    except (KeyError, TypeError, ValueError):
        return False


def _find(group: str, name: str) -> EntryPoint | None:
    found = metadata.entry_points(group=group, name=name)
    return next(iter(found), None)


def _not_installed(group: str, name: str) -> str:
    names = sorted(metadata.entry_points(group=group).names)
    if not names:
        return f"no plug-in {name!r} is installed, and none under {group} at all"
    near = nearest(name, names)
    hint = f"; did you mean {near!r}?" if near else ""
    return f"no plug-in {name!r} is installed under {group}{hint} (installed: {listing(names)})"


def _sources(point: EntryPoint) -> Iterator[tuple[str, str]]:
    """Digest by name of the Python files; found by path, since nothing is imported to be looked at."""
    top = point.module.partition(".")[0]
    spec = PathFinder.find_spec(top)
    if spec is None:  # such as an editable install with a finder of its own
        from importlib.util import find_spec

        spec = find_spec(top)
    if spec is None:
        return
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    for folder in folders:
        for path in folder.rglob("*.py"):
            yield f"{top}/{path.relative_to(folder).as_posix()}", digest_bytes(path.read_bytes())
    if not folders and spec.origin is not None and Path(spec.origin).is_file():
        yield Path(spec.origin).name, digest_bytes(Path(spec.origin).read_bytes())
