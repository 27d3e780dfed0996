"""Files of another tool as nodes with places, and every problem found on the way."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.config.nodes import Entry, ListNode, MapNode, Node, Place, Scalar, plain
from releasecheck.config.reading import read_yaml
from releasecheck.config.rows import read_json, read_jsonl
from releasecheck.config.table import read_csv
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.nearest import did_you_mean, listing

if TYPE_CHECKING:
    from collections.abc import Collection

    from releasecheck.canonical import Json
    from releasecheck.config.rows import Rows

FILE: Final = "file://"
_AGREED: Final = ("YAML 1.1 boolean", "YAML 1.1 base-60 number")
"""Words that promptfoo's reader, which is one of YAML 1.2, takes for the text they are."""
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".csv")


class Desk:
    """Reads the files of one import and collects what is wrong in them."""

    def __init__(self, base: Path) -> None:
        self.base = base
        """What `file://` is relative to."""
        self._inside = _checkout(base)
        self.problems: list[Problem] = []
        self._said: set[Problem] = set()
        self.notes: dict[str, None] = {}
        """What somebody has to know; each once."""

    def bad(self, place: Place, message: str, key: str | None = None) -> None:
        """Note what cannot be converted, and go on."""
        found = Problem(message, place.path, place.line, place.column, key)
        if found not in self._said:
            self._said.add(found)
            self.problems.append(found)

    def note(self, text: str) -> None:
        """Say something once."""
        self.notes[text] = None

    def stop(self) -> None:
        """End here if anything is wrong.

        Raises:
            ConfigError: with everything that was found.
        """
        if self.problems:
            raise ConfigError(self.problems)

    def document(self, path: Path) -> Node:
        """A YAML or JSON document.

        Raises:
            ConfigError: it cannot be read at all.
        """
        shown, text = path.as_posix(), read_text(path)
        if path.suffix.lower() == ".json" and text.lstrip().startswith("["):
            return self._rows(read_json(text, shown))
        try:
            node, problems = read_yaml(text, shown)
        except ConfigError:
            if path.suffix.lower() != ".json":
                raise
            return _json(text, shown)
        self.problems += [
            problem for problem in problems if not any(word in problem.message for word in _AGREED)
        ]
        return node

    def rows(self, path: Path) -> ListNode:
        """The objects of a .jsonl file, each at its line."""
        return self._rows(read_jsonl(read_text(path), path.as_posix()))

    def table(self, path: Path) -> ListNode:
        """The rows of a .csv file, every column in each."""
        rows = read_csv(read_text(path), path.as_posix())
        for row in rows.rows:
            for column in rows.columns:
                row.fields.setdefault(column, "")
        return self._rows(rows)

    def _rows(self, rows: Rows) -> ListNode:
        self.problems += rows.problems
        if not rows.rows and not rows.problems:
            self.problems.append(Problem(f"no tests: {rows.empty}", rows.path))
        items = tuple(node_of(row.fields, Place(rows.path, row.line, 1)) for row in rows.rows)
        return ListNode(items, Place(rows.path, 1, 1))

    def found(self, reference: str, place: Place) -> list[Path]:
        """The files that a `file://` reference names: one, those of a folder, or those a glob fits.

        A suite of others may not carry files of this machine into its cases, so that all lie in the checkout.
        """
        found = self._named(reference, place)
        outside = [path for path in found if not self._is_inside(path.resolve())]
        if outside:
            self.bad(
                place,
                f"{reference}: {outside[0].name} lies outside of {self._inside.name or 'its folder'}, the folder that "
                "the config is part of; copy it beside the config",
            )
            return []
        return found

    def _is_inside(self, path: Path) -> bool:
        """Whether it is a file of the checkout; what Git keeps there may hold the keys of its remotes."""
        return path.is_relative_to(self._inside) and ".git" not in path.parts

    def one(self, reference: str, place: Place) -> Path | None:
        """The one file that a reference names; several are refused, since all but one would be left out."""
        found = self.found(reference, place)
        if len(found) > 1:
            self.bad(place, f"{reference}: it names {len(found)} files; name one")
        return found[0] if len(found) == 1 else None

    def _named(self, reference: str, place: Place) -> list[Path]:
        name = reference.removeprefix(FILE)
        path = self.base / name
        if path.is_file():
            return [path]
        if path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.suffix.lower() in _SUFFIXES)
            if not inside:
                self.bad(place, f"{reference}: the folder holds no file of tests")
            return inside
        if glob.has_magic(name):
            matches = sorted(glob.glob(name, root_dir=self.base, recursive=True))  # noqa: PTH207
            if matches:
                return [self.base / match for match in matches]
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        hint = did_you_mean(Path(name).name, beside)
        self.bad(place, f"{reference}: there is no such file beside the config{hint}")
        return []

    def keys(
        self, node: MapNode, known: Collection[str], what: str, refused: Collection[str] = ()
    ) -> None:
        """Refuse the keys that have no meaning here, by their names."""
        for key, entry in node.entries.items():
            if key in known:
                continue
            if key in refused:
                message = f"`{key}` of {what} has nothing that it could become here; remove it, or do its work elsewhere"
            else:
                message = f"unknown key {key[:60]!r} of {what}; known are {listing(sorted(known), shown=20)}{did_you_mean(key, known)}"
            self.bad(entry.place, message)


def _checkout(folder: Path) -> Path:
    """The repository that a folder is in, or the folder itself."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), here)


def node_of(value: Json, place: Place) -> Node:
    """A value as a node, all of it at one place."""
    if isinstance(value, dict):
        return MapNode(
            {key: Entry(place, node_of(item, place)) for key, item in value.items()}, place
        )
    if isinstance(value, list):
        return ListNode(tuple(node_of(item, place) for item in value), place)
    return Scalar(value, place)


def _json(text: str, shown: str) -> Node:
    try:
        return node_of(parse_json(text), Place(shown, 1, 1))
    except JsonProblem as error:
        problem = Problem(f"not JSON: {error.message}", shown, error.line, error.column)
        raise ConfigError([problem]) from None


def entry(node: Node, key: str) -> Node | None:
    """The value of a key; None where there is none, or a null."""
    if not isinstance(node, MapNode) or key not in node.entries:
        return None
    found = node.entries[key].node
    return None if isinstance(found, Scalar) and found.value is None else found


def text_at(node: Node | None) -> str | None:
    """A text, if it is one."""
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


def number_at(node: Node | None) -> float | None:
    """A number, if it is one."""
    value = None if node is None else plain(node)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The entries of a list, or the one value that stands for such a list."""
    if node is None:
        return ()
    return tuple(node.items) if isinstance(node, ListNode) else (node,)
