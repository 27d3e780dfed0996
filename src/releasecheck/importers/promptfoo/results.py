"""Results that promptfoo wrote (`--output results.json`, version 3): what was answered and scored, as a baseline to be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import digest
from releasecheck.config.nodes import Entry, ListNode, MapNode, Node, plain
from releasecheck.importers.imported import Imported, Mapped, lines_bytes
from releasecheck.importers.promptfoo.reading import entry, items_of, number_at, text_at
from releasecheck.importers.promptfoo.scripts import template
from releasecheck.importers.promptfoo.suite import (
    Settings,
    case_rows,
    checked,
    ids_of,
    judged,
    suite_of,
)
from releasecheck.importers.promptfoo.targets import Made
from releasecheck.importers.promptfoo.templates import as_text
from releasecheck.importers.promptfoo.tests import KEYS, read_tests
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.importers.promptfoo.checks import Checks
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.tests import Test

VERSION: Final = 3
REPLAY: Final = "promptfoo_replay"
PASSED, SCORE = "recorded-pass", "recorded-score"
_ERROR: Final = 2
"""`failureReason` of a test whose call or grading ended in an error."""


def is_results(document: Node) -> bool:
    """Whether a document is what `promptfoo eval --output` writes."""
    inner = entry(document, "results")
    return isinstance(inner, MapNode) and isinstance(document, MapNode)


@dataclass(slots=True)
class _Scores:
    """Lines for judges of type precomputed, by judge."""

    lines: dict[str, list[dict[str, Json]]] = field(default_factory=dict)

    def add(self, judge: str, replay: Mapping[str, Json], value: Json, reason: str | None) -> None:
        """A score; it is for the answer that was recorded, and for no later one."""
        line: dict[str, Json] = {"id": replay["id"], "value": value}
        if "output" in replay:
            line["output_digest"] = digest(replay["output"])
        self.lines.setdefault(judge, []).append(
            line if not reason else {**line, "explanation": reason}
        )


def import_results(
    desk: Desk, document: Node, name: str, prompt: str | None, provider: str | None
) -> Imported:
    """A suite that replays the recorded answers, judged by what was recorded and by our own judges.

    Raises:
        ConfigError: everything that cannot be converted.
    """
    inner = entry(document, "results")
    version = number_at(entry(inner, "version")) if inner is not None else None
    rows = items_of(entry(inner, "results")) if inner is not None else ()
    if version != VERSION:
        desk.bad(
            document.place,
            f"expected results of version {VERSION}, found {version if version is None else f'{version:g}'}; export them anew with a current promptfoo",
        )
    if not rows:
        desk.bad(document.place, "there is no result in it, so that nothing could be compared with")
    desk.stop()
    rows = _of_one(desk, rows, prompt, provider, document)
    desk.stop()
    tests = [_test(desk, row) for row in rows]
    desk.stop()
    ids = ids_of(desk, tests)
    found = checked(desk, tests, recorded=True)
    bench = judged(desk, tests, found)
    cases = case_rows(desk, tests, ids, bench)
    desk.stop()
    scores, replayed = _recorded(desk, rows, ids, found)
    desk.stop()
    files = {
        f"{REPLAY}.py": template("replay.py"),
        "recorded.jsonl": lines_bytes(replayed),
    }
    mapped = [Mapped("results", f"{count(len(rows), 'case')}, answers in recorded.jsonl")]
    reached = {judge: {str(line["id"]) for line in lines} for judge, lines in scores.lines.items()}
    for judge, lines in scores.lines.items():
        files[f"recorded/{judge}.jsonl"] = lines_bytes(lines)
        mark = {"pass_at": 1} if judge != SCORE else {}
        spec: dict[str, Any] = {
            "id": judge,
            "type": "precomputed",
            "path": f"recorded/{judge}.jsonl",
            **mark,
        }
        if judge not in {PASSED, SCORE} and len(reached[judge]) < len(cases):
            spec["when"] = {"tags": [judge]}
            for case in cases:
                if case["id"] in reached[judge]:
                    case["tags"] = [*case.get("tags", []), judge]
        bench.judges.append(spec)
        mapped.append(
            Mapped(judge.replace("-", " ", 1), f"judge {judge} (precomputed)", len(lines))
        )
    bench.gates = [
        {"id": judge["id"], "metric": judge["id"], "no_regression": {"max_drop": 0.0}}
        for judge in bench.judges
        if judge["id"] != "answered"
    ]
    _notes(desk, replayed)
    target: dict[str, Any] = {
        "id": "promptfoo", "type": "python", "function": f"{REPLAY}:answer", "output": "output",
        "usage": {"tokens": "tokens", "cost_usd": "cost"},
    }  # fmt: skip
    more = {"baseline": {"path": "baseline", "on_missing": "bootstrap"}}
    return suite_of(desk, Settings(name), Made(target, files), bench, cases, mapped, more)


def _notes(desk: Desk, replayed: Sequence[dict[str, Json]]) -> None:
    desk.note(
        "run it, then `releasecheck baseline promote`: it has no baseline yet, so that its gates are neutral the first time; they then hold later answers against these"
    )
    desk.note("latency is that of the replay: what promptfoo measured is not taken over")
    failed = [str(row["id"]) for row in replayed if "error" in row]
    if failed:
        desk.note(
            f"{count(len(failed), 'recorded error')} stays one ({', '.join(failed[:3])}{', ...' if len(failed) > 3 else ''}): a run with it has no verdict, and cannot be promoted"
        )


def _pair(row: Node) -> tuple[str, str]:
    who, what = entry(row, "provider"), entry(row, "prompt")
    said = (
        text_at(who)
        or text_at(entry(who, "label") if who else None)
        or text_at(entry(who, "id") if who else None)
    )
    prompt = (text_at(entry(what, "label")) or text_at(entry(what, "raw"))) if what else None
    if what is not None and entry(row, "promptIdx") is not None and prompt is None:
        prompt = f"prompt {plain(entry(row, 'promptIdx') or what)}"
    return said or "unknown", prompt or "unknown"


def _of_one(
    desk: Desk, rows: tuple[Node, ...], prompt: str | None, provider: str | None, document: Node
) -> tuple[Node, ...]:
    """The rows of one provider and one prompt."""
    pairs = [_pair(row) for row in rows]
    wanted = []
    for place, (option, chosen) in enumerate((("provider", provider), ("prompt", prompt))):
        names = list(dict.fromkeys(pair[place] for pair in pairs))
        fits = [one for number, one in enumerate(names, 1) if chosen in (str(number), one)]
        if chosen is None and len(names) == 1:
            fits = names
        if len(fits) != 1:
            listed = "; ".join(
                f"{number}: {' '.join(one.split())[:50]}" for number, one in enumerate(names, 1)
            )
            desk.bad(
                document.place,
                f"there are results of {len(names)} {option}s, and a suite has one system under test; choose with --{option} by number or label ({listed})",
            )
        wanted += fits[:1]
    return tuple(row for row, pair in zip(rows, pairs, strict=True) if list(pair) == wanted)


def _test(desk: Desk, row: Node) -> Test:
    """The test of a row, in the words of a config."""
    case = entry(row, "testCase")
    entries = (
        {key: one for key, one in case.entries.items() if key in KEYS}
        if isinstance(case, MapNode)
        else {}
    )
    variables = entries.pop("vars", None)
    options = entries.pop("options", None)
    if options is not None and isinstance(options.node, MapNode):
        around = {
            key: one for key, one in options.node.entries.items() if key in {"prefix", "suffix"}
        }
        entries["options"] = Entry(options.place, MapNode(around, row.place))
    (found,) = read_tests(desk, ListNode((MapNode(entries, row.place),), row.place))
    # What was filled in then is data now: no template, no name of a file, no list of values.
    recorded = entry(row, "vars") or (None if variables is None else variables.node)
    values = None if recorded is None else plain(recorded)
    return replace(found, vars=values if isinstance(values, dict) else {})


def _recorded(
    desk: Desk, rows: Sequence[Node], ids: Sequence[str], found: Sequence[Checks]
) -> tuple[_Scores, list[dict[str, Json]]]:
    scores = _Scores()
    replayed: list[dict[str, Json]] = []
    for row, name, checks in zip(rows, ids, found, strict=True):
        replay, failed = _replay(row, name)
        replayed.append(replay)
        success, score = entry(row, "success"), number_at(entry(row, "score"))
        graded = None if success is None else plain(success)
        if not isinstance(graded, bool):
            desk.bad(row.place, f"the result of {name} says neither success nor failure")
            continue
        reason = text_at(entry(row, "error")) if not graded else None
        # An error was not measured: it has no score, not the 0 that stands there.
        scores.add(PASSED, replay, None if failed else graded, reason)
        scores.add(SCORE, replay, None if failed else score, None)
        _components(scores, row, replay, checks, failed=failed)
    return scores, replayed


def _replay(row: Node, name: str) -> tuple[dict[str, Json], bool]:
    """What is given again for a case, and whether it was an error."""
    response = entry(row, "response")
    output = None if response is None else entry(response, "output")
    said = text_at(entry(row, "error")) or (text_at(entry(response, "error")) if response else None)
    failed = number_at(entry(row, "failureReason")) == _ERROR or (
        response is not None and entry(response, "error") is not None
    )
    if output is None:
        return {"id": name, "error": said or "no answer was recorded"}, True
    if failed:
        return {"id": name, "error": said or "an error without a message"}, True
    replay: dict[str, Json] = {"id": name, "output": as_text(plain(output))}
    usage = entry(response, "tokenUsage") if response is not None else None
    tokens = number_at(entry(usage, "total")) if usage is not None else None
    more = {"tokens": tokens, "cost": number_at(entry(row, "cost"))}
    return {**replay, **{key: value for key, value in more.items() if value is not None}}, False


def _components(
    scores: _Scores, row: Node, replay: Mapping[str, Json], checks: Checks, *, failed: bool
) -> None:
    """What was recorded for assertions that only promptfoo can judge."""
    graded = entry(row, "gradingResult")
    parts = items_of(entry(graded, "componentResults")) if graded is not None else ()
    open_parts = list(parts)
    times: dict[str, int] = {}
    for kind, metric in checks.recorded:
        base = "recorded-" + _slug(metric or kind)
        if base in {PASSED, SCORE}:  # those are of the whole test
            base += "-of-assertion"
        times[base] = times.get(base, 0) + 1
        judge = base if times[base] == 1 else f"{base}-{times[base]}"
        part = next((one for one in open_parts if _is_of(one, kind, metric)), None)
        if part is None or failed:
            scores.add(judge, replay, None, "no score was recorded")
            continue
        open_parts.remove(part)
        value = plain(entry(part, "pass") or part)
        broken = plain(entry(entry(part, "metadata") or part, "graderError") or part) is True
        scores.add(
            judge,
            replay,
            value if isinstance(value, bool) and not broken else None,
            text_at(entry(part, "reason")),
        )


def _is_of(part: Node, kind: str, metric: str | None) -> bool:
    assertion = entry(part, "assertion")
    if assertion is None:
        return False
    return text_at(entry(assertion, "type")) == kind and (
        metric is None or text_at(entry(assertion, "metric")) in {metric, None}
    )


def _slug(text: str) -> str:
    import re

    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "score"
