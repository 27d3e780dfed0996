"""`promptfooconfig`, a bare file of tests, or a file of results: which one it is, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import ListNode, MapNode, Node, Place
from releasecheck.importers.imported import Imported, Mapped
from releasecheck.importers.promptfoo import prompts, providers
from releasecheck.importers.promptfoo.reading import Desk, entry, items_of
from releasecheck.importers.promptfoo.rendering import raw_text
from releasecheck.importers.promptfoo.results import import_results, is_results
from releasecheck.importers.promptfoo.suite import (
    Settings,
    case_rows,
    checked,
    ids_of,
    judged,
    settings_of,
    suite_of,
    tests_mapped,
)
from releasecheck.importers.promptfoo.targets import Made, target_of
from releasecheck.importers.promptfoo.tests import read_tests, rows_of
from releasecheck.importers.sections import named_target

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.importers.promptfoo.tests import Test

_KEYS: Final = (
    "$schema", "description", "tags", "prompts", "providers", "targets", "tests", "defaultTest", "scenarios",
    "evaluateOptions", "commandLineOptions", "outputPath", "sharing", "writeLatestResults", "metadata",
    "assertionTemplates", "env",
)  # fmt: skip
_REFUSED: Final = (
    "extensions",
    "nunjucksFilters",
    "derivedMetrics",
    "redteam",
    "tracing",
    "datasets",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was said on the command line."""

    suite: str | None = None
    """Name of the suite; None takes the file's."""
    target: Path | None = None
    """A file with the target to ask, in place of a provider."""
    prompt: str | None = None
    """Number or label of the prompt."""
    provider: str | None = None
    """Number, label or id of the provider."""


def import_promptfoo(path: Path, out: Path, choice: Choice | None = None) -> Imported:
    """The suite that a file of promptfoo is.

    Raises:
        ConfigError: everything that cannot be converted, each with its file and line.
    """
    choice = choice or Choice()
    desk = Desk(path.parent)
    name = choice.suite or _name(path)
    if path.suffix.lower() in {".csv", ".jsonl"}:
        document: Node = ListNode(tuple(_bare(desk, path)), _start(path))
    else:
        document = desk.document(path)
    if is_results(document):
        return import_results(desk, document, name, choice.prompt, choice.provider)
    if isinstance(document, MapNode):
        desk.keys(document, _KEYS, "the config", _REFUSED)
        if entry(document, "commandLineOptions") is not None:
            desk.note("commandLineOptions are not taken over")
        if entry(document, "env") is not None:
            desk.note(
                "env: set these variables yourself before a run; nothing is taken from the file"
            )
    elif not isinstance(document, ListNode):
        desk.bad(document.place, "expected a config of promptfoo, or a list of tests")
    tests = read_tests(desk, document)
    if not tests:
        desk.bad(document.place, "there is no test, so that nothing would be measured")
    ids = ids_of(desk, tests)
    made, mapped = _target(desk, document, tests, out, choice)
    told = None if made is None else made.prompt
    bench = judged(desk, tests, checked(desk, tests), told)
    rows = case_rows(desk, tests, ids, bench)
    settings = (
        settings_of(desk, document, name) if isinstance(document, MapNode) else Settings(name)
    )
    desk.stop()
    assert made is not None  # noqa: S101 - why there is none would have been said
    desk.note(
        "each judge has a gate `require: all`: in promptfoo one failing test fails the run; loosen a gate to `min` where a share is enough"
    )
    return suite_of(desk, settings, made, bench, rows, (tests_mapped(tests), *mapped))


def _bare(desk: Desk, path: Path) -> list[Node]:
    return list(rows_of(desk, path, _start(path)))


def _start(path: Path) -> Place:
    return Place(path.as_posix(), 1, 1)


def _name(path: Path) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", path.name.partition(".")[0].lower()).strip("-")[:63]
    return name.strip("-") or "promptfoo"


def _target(
    desk: Desk, document: Node, tests: list[Test], out: Path, choice: Choice
) -> tuple[Made | None, list[Mapped]]:
    if choice.target is not None:
        given = named_target(choice.target)
        if entry(document, "prompts") is not None:
            desk.note(
                "the prompts of the config are not used: the target of --target says what is sent; a case's variables are `input.NAME` there"
            )
        became = f"target {given['type']}, from {choice.target.name}"
        return Made(given), [Mapped("provider", became)]
    if not isinstance(document, MapNode):
        desk.bad(
            document.place,
            "a file of tests names no system under test; say with --target FILE what is asked",
        )
        return None, []
    found = prompts.read_prompts(desk, document)
    one = providers.chosen(
        desk, providers.read_providers(desk, document), choice.provider, document
    )
    if one is not None and one.prompts:
        found = [prompt for prompt in found if _takes(one.prompts, prompt.label)]
    node = entry(document, "prompts") or document
    prompt = prompts.chosen(desk, found, choice.prompt, next(iter(items_of(node)), node))
    if one is None or prompt is None:
        return None, []
    made = target_of(desk, one, prompt, tests, out)
    if made is None:
        return None, []
    made.prompt = raw_text(prompt.content)
    shown = " ".join(prompt.label.split())[:50]
    return made, [
        Mapped(f"provider {one.label}", made.became),
        Mapped(f"prompt {shown}", f"{made.became.partition(',')[0]}, what it is sent"),
    ]


def _takes(patterns: tuple[str, ...], label: str) -> bool:
    return any(
        label == one
        or label.startswith((f"{one}:", one.removesuffix("*") if one.endswith("*") else f"{one}:"))
        for one in patterns
    )
