"""Everything together: cases, judges, gates and target as one suite."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import canonical
from releasecheck.config.nodes import MapNode, plain
from releasecheck.importers.imported import CONFIG, Imported, Mapped, config_bytes, lines_bytes
from releasecheck.importers.promptfoo.asserts import checks_of
from releasecheck.importers.promptfoo.judges import Panel, limit_gates, seated
from releasecheck.importers.promptfoo.reading import entry, text_at
from releasecheck.importers.promptfoo.rendering import PREFIX, SUFFIX
from releasecheck.importers.promptfoo.templates import Unset, Untranslatable, parse, render
from releasecheck.importers.promptfoo.tests import number_of
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Node
    from releasecheck.importers.promptfoo.checks import Checks
    from releasecheck.importers.promptfoo.judges import Bench
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.targets import Made
    from releasecheck.importers.promptfoo.tests import Test

CASES: Final = "cases.jsonl"
_DIGITS: Final = 10
"""Of the digest in a case's id: enough for a million tests."""
HEAD: Final = ("Made by `releasecheck import promptfoo`; from here on it is yours to change.",)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the config says about running."""

    name: str
    trials: int = 1
    concurrency: int | None = None
    timeout_s: float | None = None


def case_id(description: str | None, variables: Mapping[str, Json]) -> str:
    """A name that stays while description and variables do: promptfoo has none."""
    texts = [one for one in variables.values() if isinstance(one, str)]
    told = description or max(texts, key=len, default="")
    words = re.sub(r"[^\w]+", "-", told.casefold()).strip("-_")[:48].strip("-_") or "test"
    identity = canonical([description, dict(variables)])
    return f"{words}-{hashlib.sha256(identity).hexdigest()[:_DIGITS]}"


def ids_of(desk: Desk, tests: Sequence[Test]) -> list[str]:
    """An id for each test; two that cannot be told apart are refused."""
    first: dict[str, Test] = {}
    ids: list[str] = []
    for test in tests:
        name = case_id(test.description, test.variables)
        other = first.setdefault(name, test)
        if other is not test:
            desk.bad(
                test.place,
                f"this test has the same description and variables as the one in {other.place.path}:{other.place.line}, so that nothing tells them apart from run to run; give each a `description` of its own",
            )
        ids.append(name)
    return ids


def judged(
    desk: Desk, tests: Sequence[Test], found: Sequence[Checks], prompt: str | None = None
) -> Bench:
    """Judges and gates of the tests."""
    panel = Panel()
    for one in found:
        panel.add(one.checks)
    bench = seated(panel, prompt)
    for place, message in bench.bad:
        desk.bad(place, message)
    limit_gates(bench, [one.limits for one in found])
    for test in tests:
        if not test.asserts:
            desk.bad(
                test.place,
                "the test has no assertion: promptfoo passes it whatever comes, and nothing would be "
                "measured; give it an `assert`, or remove it",
            )
    return bench


def checked(desk: Desk, tests: Sequence[Test], *, recorded: bool = False) -> list[Checks]:
    """What every test asserts."""
    return [checks_of(desk, test, recorded=recorded) for test in tests]


def case_rows(
    desk: Desk, tests: Sequence[Test], ids: Sequence[str], bench: Bench
) -> list[dict[str, Json]]:
    """The dataset."""
    around = any(test.option(name) is not None for test in tests for name in ("prefix", "suffix"))
    rows: list[dict[str, Json]] = []
    for place, (test, name) in enumerate(zip(tests, ids, strict=True)):
        metadata = dict(test.metadata or {})
        if test.description is not None:
            metadata.setdefault("description", test.description)
        if around:
            metadata |= {
                PREFIX: _around(desk, test, "prefix"),
                SUFFIX: _around(desk, test, "suffix"),
            }
        row: dict[str, Json] = {"id": name, "input": dict(test.variables), "metadata": metadata}
        if bench.expected[place]:
            row["expected"] = bench.expected[place]
        if bench.tags[place]:
            row["tags"] = bench.tags[place]
        rows.append({key: value for key, value in row.items() if key != "metadata" or value})
    return rows


def _around(desk: Desk, test: Test, name: str) -> str:
    node = test.option(name)
    text = "" if node is None else text_at(node) or str(plain(node))
    try:
        return render(parse(text), test.variables)
    except Untranslatable as error:
        desk.bad(test.place, f"its {name}: {error.message}")
    except Unset as error:
        desk.bad(
            test.place, f"its {name} uses the variable {error.name!r}, which the test does not set"
        )
    return ""


def suite_of(
    desk: Desk,
    settings: Settings,
    made: Made,
    bench: Bench,
    rows: Sequence[Mapping[str, Json]],
    mapped: Sequence[Mapped],
    more: Mapping[str, Json] | None = None,
) -> Imported:
    """The suite with its files."""
    target = dict(made.target)
    if settings.concurrency is not None:
        target.setdefault("concurrency", settings.concurrency)
    if settings.timeout_s is not None:
        target.setdefault("timeout", settings.timeout_s)
    suite: dict[str, Any] = {
        "version": 1,
        "suite": settings.name,
        "cases": [{"path": CASES}],
        "expect_cases": len(rows),
        "target": target,
        "judges": bench.judges,
        "gates": bench.gates,
        **(more or {}),
    }
    if settings.trials > 1:
        suite["trials"] = settings.trials
    files = {
        **bench.files,
        **made.files,
        CASES: lines_bytes(rows),
        CONFIG: config_bytes(suite, HEAD),
    }
    return Imported(files, (*mapped, *bench.mapped), (*desk.notes, *bench.notes))


def settings_of(desk: Desk, document: Node, name: str) -> Settings:
    """Repeats, concurrency and time-outs."""
    options = entry(document, "evaluateOptions")
    if options is None:
        return Settings(name)
    known = (
        "repeat",
        "maxConcurrency",
        "timeoutMs",
        "showProgressBar",
        "cache",
        "delay",
        "maxEvalTimeMs",
    )
    if isinstance(options, MapNode):
        desk.keys(options, known, "evaluateOptions")
    for key, instead in (
        ("delay", "`rate_limit` of the target"),
        ("maxEvalTimeMs", "`budget: {time: ...}`"),
    ):
        if entry(options, key) is not None:
            desk.note(f"evaluateOptions.{key}: set {instead} for this")
    if not isinstance(options, MapNode):
        desk.bad(options.place, "expected a mapping as `evaluateOptions`")
    repeat, at_once, wait = (
        number_of(desk, entry(options, key), f"evaluateOptions.{key}") for key in known[:3]
    )
    if repeat is not None and (repeat < 1 or repeat != int(repeat)):
        desk.bad(
            options.place,
            f"evaluateOptions.repeat: expected a whole number from 1, found {repeat:g}",
        )
    return Settings(
        name,
        max(1, int(repeat or 1)),
        None if not at_once else int(at_once),
        None if not wait else wait / 1000,
    )


def tests_mapped(tests: Sequence[Test]) -> Mapped:
    """The line about cases."""
    return Mapped("tests", f"{count(len(tests), 'case')} in {CASES}")
