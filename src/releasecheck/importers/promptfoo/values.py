"""The value of an assertion: the test's variables filled in, and what a `file://` holds in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import plain
from releasecheck.config.text import read_text
from releasecheck.importers.promptfoo.reading import FILE, entry
from releasecheck.importers.promptfoo.templates import Unset, Untranslatable, parse, render
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.config.nodes import MapNode, Place
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.tests import Test


class Bad:
    """Stands for a value that could not be had; why has been said."""


_BAD: Final = Bad()


class Values:
    """Fills in the values of one test's assertions."""

    def __init__(self, desk: Desk, test: Test) -> None:
        self._desk, self._test = desk, test

    def of(self, node: MapNode, kind: str) -> Json | Bad:
        """The value with the test's variables in it, and what a `file://` holds in its place."""
        found = entry(node, "value")
        if found is None:
            return None
        value = plain(found)
        if isinstance(value, str) and value.startswith(FILE) and kind != "python":
            value = self._file(value, found.place)
        if isinstance(value, str) and kind == "python":
            return self._filled(value, found.place)
        return self._rendered(value, found.place)

    def _file(self, name: str, place: Place) -> Json:
        path = self._desk.one(name, place)
        if path is None:
            return _BAD
        suffix = path.suffix.lower()
        if suffix in {".json", ".yaml", ".yml"}:
            return plain(self._desk.document(path))
        if suffix in {".txt", ".md", ""}:
            return read_text(path)
        self._desk.bad(
            place,
            f"{name}: a value is read from .txt, .md, .json and .yaml; a program that gives one is not run",
        )
        return _BAD

    def _rendered(self, value: Json, place: Place) -> Json | Bad:
        if isinstance(value, Bad):
            return value
        if isinstance(value, str):
            return self._filled(value, place)
        if isinstance(value, list):
            parts = [self._rendered(one, place) for one in value]
            return _BAD if any(isinstance(one, Bad) for one in parts) else parts
        if isinstance(value, dict):
            made = {key: self._rendered(one, place) for key, one in value.items()}
            return _BAD if any(isinstance(one, Bad) for one in made.values()) else made
        return value

    def _filled(self, text: str, place: Place) -> str | Bad:
        try:
            return render(parse(text), self._test.variables)
        except Untranslatable as error:
            self._desk.bad(place, f"the value of an assertion: {error.message}")
        except Unset as error:
            at = "" if place == self._test.place else f", used in {place.path}:{place.line}"
            self._desk.bad(
                self._test.place,
                f"the test sets no variable {error.name!r}{at}{did_you_mean(error.name, self._test.variables)}",
            )
        return _BAD
