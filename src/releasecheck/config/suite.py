"""`releasecheck.yaml` to a checked `Suite`: reading, `extends`, profiles, and every problem at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from releasecheck.canonical import digest, digest_bytes
from releasecheck.config.checks import check_suite
from releasecheck.config.explain import describe, explain
from releasecheck.config.nodes import (
    MapNode,
    Node,
    Scalar,
    key_text,
    merged,
    plain,
    problem_at,
    without,
)
from releasecheck.config.reading import read_yaml
from releasecheck.config.rubrics import freeze_rubrics
from releasecheck.config.schemas import freeze_schemas
from releasecheck.config.text import read_bytes, to_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.nearest import listing, nearest
from releasecheck.model.suite import Suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

NOT_SUITE: Final = ("extends", "profiles")
"""Top-level keys that say how the suite is put together, and are no part of it."""


@dataclass(frozen=True, slots=True)
class LoadedSuite:
    """A suite with where it came from."""

    suite: Suite
    path: Path
    """The config file, as it was named."""
    root: Path
    """Its folder: what paths in the suite (also those from `extends`) are relative to."""
    policy_path: Path
    """The config that all but cases, `expect_cases` and target come from; `path` unless another is named."""
    profile: str | None
    """The overlay that was chosen."""
    digest: str
    """Over the bytes of the policy's config file; with `extends` over the digests of both files."""
    files: Mapping[str, str]
    """Digests of every file read for it, relative to `policy_root`: config, `extends`, schemas."""
    notes: tuple[Problem, ...]
    """What is legal and perhaps not meant, for `validate` and `plan` to show."""
    document: MapNode = field(repr=False)
    """The merged document, to point at lines in later checks."""
    elsewhere: tuple[Problem, ...] = ()
    """What is wrong in `path` where only the policy counts."""

    @property
    def policy_root(self) -> Path:
        """Folder of the policy's config: what paths of judges and the baseline are relative to."""
        return self.policy_path.parent


def load_suite(path: Path, profile: str | None = None) -> LoadedSuite:
    """Read, merge and check a config file.

    Args:
        path: the config file.
        profile: name of the overlay to choose; the others are checked all the same.

    Raises:
        ConfigError: everything that is wrong with it, each with file, line and column.
    """
    read = read_config(path, profile)
    problems, overlays, chosen = read.problems, read.overlays, read.chosen
    digests = read.digests
    suite, found, notes = check_document(chosen, path, digests)
    problems += found
    known = {_spot(problem) for problem in problems}
    for name, overlay in overlays.items():
        if name != profile:
            _, others, _ = check_document(_applied(read.document, overlay), path, {})
            problems += [
                Problem(p.message, p.path, p.line, p.column, f"profiles.{name}.{p.key}")
                for p in others
                if _spot(p) not in known
            ]
    if problems or suite is None:
        raise ConfigError(in_order(problems))
    return LoadedSuite(
        suite, path, path.parent, path, profile, read.identity, digests, tuple(notes), chosen
    )


@dataclass(frozen=True, slots=True)
class Read:
    """A config file with what it extends, not yet a suite."""

    document: MapNode
    """With its profiles."""
    chosen: MapNode
    """With the chosen profile on top."""
    overlays: Mapping[str, MapNode]
    problems: list[Problem]
    digests: dict[str, str]
    identity: str


def read_config(path: Path, profile: str | None) -> Read:
    """Read and merge a config file and choose its profile.

    Raises:
        ConfigError: it cannot be read at all, or has no such profile.
    """
    data = read_bytes(path)
    document, problems = _mapping(data, path)
    digests = {path.name: digest_bytes(data)}
    if "extends" in document.entries:
        base_name, base, base_data, more = _extended(document, path)
        problems = [*problems, *more]
        digests[base_name] = digest_bytes(base_data)
        document = _on_top(base, document)
    identity = digest(list(digests.values())) if len(digests) > 1 else digests[path.name]
    overlays = _overlays(document, problems)
    chosen = _chosen(document, overlays, profile, path)
    return Read(document, chosen, overlays, problems, digests, identity)


def check_document(
    document: MapNode, path: Path, files: dict[str, str]
) -> tuple[Suite | None, list[Problem], list[Problem]]:
    """The suite if it is one, its problems, and its notes; `path` is where the judges' files are."""
    try:
        suite = Suite.model_validate(plain(document))
    except ValidationError as error:
        return None, explain(error, document), []
    suite, problems = freeze_schemas(suite, document, path.parent, files)
    suite, found, noted = freeze_rubrics(suite, document, path.parent, files)
    more, notes = check_suite(suite, document)
    return suite, [*problems, *found, *more], [*noted, *notes]


def _mapping(data: bytes, path: Path) -> tuple[MapNode, list[Problem]]:
    shown = path.as_posix()
    node, problems = read_yaml(to_text(data, shown), shown)
    if not isinstance(node, MapNode):
        empty = isinstance(node, Scalar) and node.value is None
        found = "nothing (the file is empty)" if empty else describe(node)
        message = f"expected a mapping with version, suite, cases, target, ...; found {found}"
        raise ConfigError([*problems, Problem(message, shown, node.place.line, node.place.column)])
    return node, problems


def _extended(document: MapNode, path: Path) -> tuple[str, MapNode, bytes, list[Problem]]:
    node = document.entries["extends"].node
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or not node.value:
        message = f"expected the name of one other config file, found {describe(node)}"
        raise ConfigError([problem_at(document, ("extends",), message)])
    name = node.value
    other = path.parent / name
    if other.exists() and other.samefile(path):
        message = f"{name!r} is this file itself; name another one"
        raise ConfigError([problem_at(document, ("extends",), message)])
    try:
        data = read_bytes(other)
    except ConfigError as error:
        reason = f"{name!r}: {error.problems[0].message}"
        raise ConfigError([problem_at(document, ("extends",), reason)]) from None
    base, problems = _mapping(data, other)
    if "extends" in base.entries:
        message = f"`extends` goes one level deep, and {name!r} is itself extended here"
        raise ConfigError([*problems, problem_at(base, ("extends",), message)])
    return name, base, data, problems


def _on_top(base: Node, over: MapNode) -> MapNode:
    both = merged(base, over)
    return both if isinstance(both, MapNode) else over


def _overlays(document: MapNode, problems: list[Problem]) -> dict[str, MapNode]:
    if "profiles" not in document.entries:
        return {}
    node = document.entries["profiles"].node
    if not isinstance(node, MapNode):
        message = f"expected a mapping of names to overlays, found {describe(node)}"
        problems.append(problem_at(document, ("profiles",), message))
        return {}
    overlays: dict[str, MapNode] = {}
    for name, entry in node.entries.items():
        overlay = entry.node
        if not isinstance(overlay, MapNode):
            message = f"expected a mapping of the keys that differ, found {describe(overlay)}"
            problems.append(problem_at(document, ("profiles", name), message))
            continue
        for key in NOT_SUITE:
            if key in overlay.entries:
                message = f"`{key}` belongs at the top level, not into a profile"
                problems.append(problem_at(document, ("profiles", name, key), message))
        overlays[name] = without(overlay, *NOT_SUITE)
    return overlays


def _chosen(
    document: MapNode, overlays: Mapping[str, MapNode], profile: str | None, path: Path
) -> MapNode:
    if profile is None:
        return without(document, *NOT_SUITE)
    if profile in overlays:
        return _applied(document, overlays[profile])
    near = nearest(profile, overlays)
    have = f"it has {listing(overlays)}" if overlays else "it has none"
    hint = f"; did you mean {near!r}?" if near else ""
    message = f"there is no profile {profile!r}; {have}{hint}"
    raise ConfigError([Problem(message, path.as_posix(), key=key_text(("profiles",)))])


def _applied(document: MapNode, overlay: MapNode) -> MapNode:
    return _on_top(without(document, *NOT_SUITE), overlay)


def _spot(problem: Problem) -> tuple[object, ...]:
    """What a problem is about: the place and the last part of the key."""
    last = (problem.key or "").rpartition(".")[2]
    return (problem.path, problem.line, problem.column, last)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sorted by place; of several about one value the first, which reading found before checking."""
    first: dict[object, Problem] = {}
    for problem in problems:
        first.setdefault(_spot(problem), problem)
    return sorted(first.values(), key=lambda p: (p.path or "", p.line or 0, p.column or 0))
