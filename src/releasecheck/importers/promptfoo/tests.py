"""Tests as promptfoo would run them: defaults, scenarios and lists of values worked in."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import Entry, ListNode, MapNode, Node, Place, Scalar, plain
from releasecheck.importers.promptfoo.columns import test_of_row
from releasecheck.importers.promptfoo.reading import FILE, Desk, entry, items_of, number_at, text_at
from releasecheck.importers.promptfoo.templates import Unset, Untranslatable, Var, parse, render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json

MOST: Final = 100_000
"""Tests that come out of lists and scenarios; more is a mistake."""
KEYS: Final = (
    "description", "vars", "assert", "threshold", "metadata", "options",
)  # fmt: skip
REFUSED: Final = (
    "provider", "providers", "prompts", "providerOutput", "assertScoringFunction", "id",
)  # fmt: skip
OPTIONS: Final = (
    "prefix", "suffix", "provider", "disableVarExpansion", "disableDefaultAsserts", "runSerially",
)  # fmt: skip
OPTIONS_REFUSED: Final = (
    "transform", "transformVars", "postprocess", "rubricPrompt", "storeOutputAs", "repeat", "response_format",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Test:
    """One test, with everything that holds for it."""

    place: Place
    description: str | None = None
    vars: Mapping[str, Json] | None = None
    asserts: tuple[Node, ...] = ()
    shared: tuple[Node, ...] = ()
    """Those of `defaultTest`, which a test can turn off; those of a scenario it cannot."""
    threshold: Node | None = None
    metadata: Mapping[str, Json] | None = None
    options: Mapping[str, Node] | None = None

    __test__ = False  # pytest collects classes by this name

    @property
    def variables(self) -> Mapping[str, Json]:
        """What it sets."""
        return self.vars or {}

    def option(self, name: str) -> Node | None:
        """One of its options."""
        return (self.options or {}).get(name)


def read_tests(desk: Desk, document: Node, references: Node | None = None) -> list[Test]:
    """Every test of a config, or of a bare list of tests, in their order."""
    if isinstance(document, ListNode):
        return list(_expanded(desk, Test(document.place), document))
    root = references or document
    every = _one(desk, _default(desk, document), root, "defaultTest")
    default = replace(every, asserts=(), shared=every.asserts)
    found: list[Test] = []
    if (tests := entry(document, "tests")) is not None:
        found += _expanded(desk, default, tests, root)
    for scenario in _loaded(desk, items_of(entry(document, "scenarios")), root):
        if not isinstance(scenario, MapNode):
            desk.bad(scenario.place, "expected a scenario, a mapping with `config` and `tests`")
            continue
        desk.keys(scenario, ("description", "config", "tests"), "a scenario")
        settings = list(_loaded(desk, items_of(entry(scenario, "config")), root))
        if (inner := entry(scenario, "tests")) is not None and not items_of(inner):
            desk.bad(
                inner.place, "the scenario's `tests` are empty, so that it would measure nothing"
            )
        if not settings:
            desk.bad(
                scenario.place,
                "the scenario has no `config`, so that its tests would not run; give it one, or move them to `tests`",
            )
        for setting in settings:
            below = _under(default, _one(desk, setting, root, "a scenario's config"))
            found += _expanded(desk, below, entry(scenario, "tests") or setting, root)
        if len(found) > MOST:
            break
    if len(found) > MOST:
        desk.bad(document.place, f"the scenarios multiply to more than {MOST} tests")
    return found


def _default(desk: Desk, document: Node) -> Node | None:
    node = entry(document, "defaultTest")
    name = text_at(node)
    if node is None or name is None:
        return node
    files = desk.found(name, node.place) if name.startswith(FILE) else []
    if not files:
        desk.bad(node.place, "expected a mapping, or `file://` with the file that holds it")
        return None
    return desk.document(files[0])


def _expanded(desk: Desk, default: Test, tests: Node, root: Node | None = None) -> Iterator[Test]:
    for node in _loaded(desk, items_of(tests), root):
        merged = _under(default, _one(desk, node, root, "a test"))
        whole = replace(merged, asserts=(*merged.shared, *merged.asserts), shared=())
        yield from _multiplied(desk, whole)


def _loaded(desk: Desk, nodes: tuple[Node, ...], root: Node | None) -> Iterator[Node]:
    """The entries, those of files in the place of `file://`."""
    for node in nodes:
        name = text_at(node)
        if name is None:
            node = referred(desk, node, root)  # noqa: PLW2901
            inside = text_at(entry(node, "path")) or text_at(entry(node, "$values"))
            if inside is not None and inside.startswith(FILE):
                if entry(node, "config") is not None:
                    desk.bad(
                        node.place,
                        "tests that a program generates are not converted; run it and name the file that it gives",
                    )
                    continue
                name = inside
        if name is None:
            yield node
            continue
        for path in desk.found(name if name.startswith(FILE) else FILE + name, node.place):
            yield from rows_of(desk, path, node.place)


def rows_of(desk: Desk, path: Path, place: Place) -> Iterator[Node]:
    """The tests of a file."""
    suffix = path.suffix.lower()
    if suffix == ".csv":
        yield from (test_of_row(desk, row) for row in desk.table(path).items)
    elif suffix == ".jsonl":
        yield from desk.rows(path).items
    elif suffix in {".yaml", ".yml", ".json"}:
        yield from items_of(desk.document(path))
    else:
        desk.bad(
            place,
            f"{path.name}: tests are read from .yaml, .json, .jsonl and .csv; export {path.suffix or 'it'} to one of them",
        )


def referred(desk: Desk, node: Node, root: Node | None) -> Node:
    """What `$ref: '#/assertionTemplates/name'` stands for."""
    target = text_at(entry(node, "$ref"))
    if target is None:
        return node
    found = root
    for part in target.removeprefix("#/").split("/"):
        found = None if found is None else entry(found, part)
    if found is None or not target.startswith("#/"):
        desk.bad(
            node.place,
            f"$ref: {target!r} names nothing in this file; expected such as '#/assertionTemplates/name'",
        )
        return Scalar(None, node.place)
    return found


def _one(desk: Desk, node: Node | None, root: Node | None, what: str) -> Test:
    if node is None:
        return Test(root.place if root is not None else Place("", 1, 1))
    if not isinstance(node, MapNode):
        if not (isinstance(node, Scalar) and node.value is None):
            desk.bad(node.place, f"expected {what}, a mapping with vars and assert")
        return Test(node.place)
    desk.keys(node, KEYS, what, REFUSED)
    options = _mapping(desk, node, "options", what)
    desk.keys(options, OPTIONS, f"the options of {what}", OPTIONS_REFUSED)
    if "runSerially" in options.entries:
        desk.note("runSerially: set `concurrency: 1` of the target for this")
    described = text_at(entry(node, "description"))
    return Test(
        node.place,
        described,
        _vars(desk, node, what),
        tuple(_loaded_asserts(desk, node, root)),
        threshold=entry(node, "threshold"),
        metadata=_metadata(_mapping(desk, node, "metadata", what)),
        options={key: one.node for key, one in options.entries.items()},
    )


def _loaded_asserts(desk: Desk, node: MapNode, root: Node | None) -> Iterator[Node]:
    for one in items_of(entry(node, "assert")):
        name = text_at(one)
        if name is not None and name.startswith(FILE):
            for path in desk.found(name, one.place):
                yield from items_of(desk.document(path))
        else:
            yield referred(desk, one, root)


def _mapping(desk: Desk, node: MapNode, key: str, what: str) -> MapNode:
    found = entry(node, key)
    if found is None or isinstance(found, MapNode):
        return found or MapNode({}, node.place)
    desk.bad(found.place, f"expected a mapping as `{key}` of {what}")
    return MapNode({}, node.place)


def _metadata(node: MapNode) -> Mapping[str, Json]:
    found = plain(node)
    return found if isinstance(found, dict) else {}


def _vars(desk: Desk, node: MapNode, what: str) -> Mapping[str, Json]:
    found = entry(node, "vars")
    if found is not None and (name := text_at(found)) is not None:
        path = desk.one(name if name.startswith(FILE) else FILE + name, found.place)
        found = desk.document(path) if path else None
    if found is None:
        return {}
    if not isinstance(found, MapNode):
        desk.bad(found.place, f"expected a mapping as `vars` of {what}, or the file that holds it")
        return {}
    return {key: _value(desk, one) for key, one in found.entries.items()}


def _value(desk: Desk, found: Entry) -> Json:
    value = plain(found.node)
    if isinstance(value, str) and value.startswith(FILE):
        return _file_value(desk, value, found.place)
    if isinstance(value, list):
        return [
            _file_value(desk, one, found.place)
            if isinstance(one, str) and one.startswith(FILE)
            else one
            for one in value
        ]
    return value


def _file_value(desk: Desk, name: str, place: Place) -> Json:
    from releasecheck.config.text import read_text

    paths = desk.found(name, place)
    if len(paths) != 1:
        if paths:
            desk.bad(place, f"{name}: as a variable, name one file")
        return ""
    suffix = paths[0].suffix.lower()
    if suffix in {".yaml", ".yml", ".json"}:
        return plain(desk.document(paths[0]))
    if suffix in {".txt", ".md", ""}:
        return read_text(paths[0]).strip()
    desk.bad(
        place,
        f"{name}: variables are read from .txt, .md, .yaml and .json; write its text into one of them",
    )
    return ""


def _under(default: Test, test: Test) -> Test:
    """`test` on top of what holds for all."""
    mine = test.options or {}
    off = mine.get("disableDefaultAsserts")
    shared = () if off is not None and plain(off) is True else default.shared
    return Test(
        test.place,
        test.description or default.description,
        {**default.variables, **test.variables},
        (*default.asserts, *test.asserts),
        (*shared, *test.shared),
        test.threshold or default.threshold,
        {**(default.metadata or {}), **(test.metadata or {})},
        {**(default.options or {}), **mine},
    )


def _multiplied(desk: Desk, test: Test) -> Iterator[Test]:
    """One test for each combination of the variables that are lists."""
    off = test.option("disableVarExpansion")
    values = test.variables
    many = (
        []
        if off is not None and plain(off) is True
        else [name for name, value in values.items() if isinstance(value, list)]
    )
    size = 1
    for name in many:
        size *= len(values[name])
        if not values[name]:
            desk.bad(
                test.place, f"the list of the variable {name!r} is empty, so that the test is none"
            )
    if size > MOST:
        desk.bad(test.place, f"the lists of its variables multiply to {size} tests; at most {MOST}")
        return
    for chosen in itertools.product(*(values[name] for name in many)):
        one = {**values, **dict(zip(many, chosen, strict=True))}
        yield replace(test, vars=_inserted(desk, one, test.place))


def _inserted(desk: Desk, values: Mapping[str, Json], place: Place) -> Mapping[str, Json]:
    """Variables that name other variables of their test filled in; all other text is data."""
    found = dict(values)
    for name, value in values.items():
        if not isinstance(value, str) or ("{{" not in value and "{%" not in value):
            continue
        try:
            parts = parse(value)
            named = [part for part in parts if isinstance(part, Var)]
            if any(part.path[0] == name for part in named):
                raise Unset(name)  # noqa: TRY301 - it names itself
            found[name] = render(parts, values)
        except (Untranslatable, Unset):
            desk.note(
                f"{place.path}:{place.line}: the variable {name!r} holds text that looks like a template; "
                "promptfoo would render it, here it is data and goes in as it is"
            )
    return found


def number_of(desk: Desk, node: Node | None, what: str) -> float | None:
    """A number that a test gives; also as the text of a CSV cell."""
    if node is None:
        return None
    found = number_at(node)
    if found is None and (text := text_at(node)) is not None:
        try:
            found = float(text)
        except ValueError:
            found = None
    if found is None or not math.isfinite(found):
        desk.bad(node.place, f"expected a number as {what}, found {str(plain(node))[:40]!r}")
        return None
    return found
