"""Every written report is read again and held against the scorecard (B104, B107).

A report that lost a failure on the way, or that no program can parse, is worse than none: the difference is
an error of ours and ends the run (exit 4), however good the verdict was. Files are read as streams.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from xml.parsers import expat

from releasecheck.canonical import JsonProblem, parse_json, parse_own
from releasecheck.errors import Untrusted
from releasecheck.model.results import RowScore
from releasecheck.model.scorecard import Scorecard
from releasecheck.scorecard.differs import Differs as _Differs
from releasecheck.scorecard.differs import expected_states as _expected_states
from releasecheck.scorecard.differs import same as _same
from releasecheck.scorecard.differs import same_states as _same_states
from releasecheck.scorecard.readback_data import check_csv, check_sarif
from releasecheck.scorecard.readback_html import check_html
from releasecheck.scorecard.verdict import gate_word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from releasecheck.scorecard.differs import Reader

States: TypeAlias = "Counter[str]"
_JUNIT_OUTCOMES: Final = {
    "pass": "passed",
    "bootstrap": "skipped",
    "not_selected": "skipped",
    "not_comparable": "error",
    "blocked_missing": "error",
    "block": "failure",
}


def check_reports(files: Mapping[str, bytes | Reader], scorecard: Scorecard) -> None:
    """Compare counts, gates and verdict of each report in `files` (by its name in the bundle).

    Raises:
        Untrusted: a report is damaged, or says something else than the scorecard.
    """
    failing: dict[str, int] = {}
    for name, source in files.items():
        check = CHECKS.get(name)
        if check is None:
            known = ", ".join(sorted(CHECKS))
            message = f"{name}: no report of ours has this name; expected one of {known}"
            raise ValueError(message)
        try:
            read = source if callable(source) else lambda held=source: (held,)
            number = check(read, scorecard)
            if number is not None:
                failing[name] = number
                _agree(failing)
        except _Differs as error:
            message = (
                f"{name}: {error}. The report was written wrongly, so nothing here may be relied on; "
                "please report this"
            )
            raise Untrusted(message) from None


def _agree(failing: Mapping[str, int]) -> None:
    """The scorecard counts no scores that do not pass, so the reports that do are held against each other."""
    (first, expected), *others = failing.items()
    if others and (found := others[-1][1]) != expected:
        message = f"{found} scores in it do not pass, and in {first} there are {expected}"
        raise _Differs(message)


# --- JSON -------------------------------------------------------------------------------------------


def _check_json(read: Reader, scorecard: Scorecard) -> None:
    try:
        found = Scorecard.model_validate(parse_json(b"".join(read())))
    except (JsonProblem, ValueError) as error:
        message = f"it is no scorecard ({str(error)[:300]})"
        raise _Differs(message) from None
    if found != scorecard:
        fields = [
            name
            for name in Scorecard.model_fields
            if getattr(found, name) != getattr(scorecard, name)
        ]
        message = f"it differs from what was decided in {', '.join(fields)}"
        raise _Differs(message)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        message = "its last line is not complete"
        raise _Differs(message)


def _check_results(read: Reader, scorecard: Scorecard) -> int:
    states: States = Counter()
    trials = failing = 0
    for number, line in enumerate(_lines(read()), start=1):
        try:
            row = parse_own(line)
            cells = {name: RowScore.from_json(cell) for name, cell in row["scores"].items()}
            states.update(cell.state.replace("-", "_") for cell in cells.values())
            failing += sum(
                cell.state == "scored" and row["passed"].get(name) is False
                for name, cell in cells.items()
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            message = f"line {number} is no result"
            raise _Differs(message) from None
        trials += 1
    _same("trials", trials, scorecard.counts.trials)
    _same_states(states, scorecard)
    return failing


# --- JUnit ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Junit:
    """What a JUnit file says in its tests and in its totals."""

    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    totals: dict[str, dict[str, str]] = field(default_factory=dict)
    whole: dict[str, str] = field(default_factory=dict)
    suite: str = ""
    current: str = ""
    kinds: Counter[str] = field(default_factory=Counter)
    said: dict[str, str] = field(default_factory=dict)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "testsuites":
                self.whole = attributes
            case "testsuite":
                self.suite = attributes["name"].rpartition(": ")[2]
                self.outcomes[self.suite] = Counter()
                self.totals[self.suite] = attributes
            case "testcase":
                self.current = "passed"
            case "property":
                self.said[attributes["name"]] = attributes["value"]
            case "failure" | "error" | "skipped":
                self.current = name
                if name == "error":
                    self.kinds[attributes["type"]] += 1
            case _:
                pass

    def end(self, name: str) -> None:
        if name == "testcase":
            self.outcomes[self.suite][self.current] += 1


def _check_junit(read: Reader, scorecard: Scorecard) -> int:
    found = _Junit()
    try:
        parse_xml(read(), found.start, found.end)
    except KeyError as error:
        message = f"an element has no {error}"
        raise _Differs(message) from None
    # Files of older versions have no properties.
    for name, is_so in (("run_id", scorecard.run_id), ("verdict", scorecard.verdict or "waiting")):
        _same(name, found.said.get(name, is_so), is_so)
    everything = found.outcomes.get("cases", Counter()) + found.outcomes.get("gates", Counter())
    said_of = {**found.totals, "all": found.whole}
    for suite in ("cases", "gates", "all"):
        if suite not in said_of:
            message = f"it has no suite of {suite}"
            raise _Differs(message)
        tests = found.outcomes.get(suite, everything)
        said = said_of[suite]
        _same(f"{suite}: tests", said.get("tests"), str(tests.total()))
        for key, outcome in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if suite == "all" and key == "skipped":
                continue  # readers' schemas have no place for it there
            _same(f"{suite}: {key}", said.get(key), str(tests[outcome]))
    counts, cases = scorecard.counts, found.outcomes["cases"]
    _same("measured scores", cases["passed"] + cases["failure"], counts.scored)
    _same("skipped scores", cases["skipped"], counts.not_applicable)
    for state in ("failed", "missing", "pending"):
        _same(f"{state} scores", found.kinds[state], getattr(counts, state))
    expected = Counter(
        "skipped" if gate.waived else _JUNIT_OUTCOMES[gate.outcome] for gate in scorecard.gates
    )
    _same("gates", dict(found.outcomes["gates"]), dict(expected))
    return cases["failure"]


def parse_xml(
    pieces: Iterable[bytes],
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
) -> None:
    """Read XML as a stream; a document that is not well-formed is a difference."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        for piece in pieces:
            parser.Parse(piece, False)  # noqa: FBT003 - expat's own interface
        parser.Parse(b"", True)  # noqa: FBT003
    except expat.ExpatError as error:
        message = f"it is not well-formed XML ({error})"
        raise _Differs(message) from None


# --- Markdown ---------------------------------------------------------------------------------------

_VERDICT: Final = re.compile(
    r"Verdict <code>([a-z_ ]+)</code>(, overridden by a waiver)?, exit code (\d+)\.$"
)
_MORE_GATES: Final = re.compile(r"^and (\d+) more gates in `scorecard\.html`$")
_HEADER: Final = "| pairs | scored | not applicable | failed | missing | pending |"
_GATES_HEADER: Final = "| outcome | gate |"


def _check_summary(read: Reader, scorecard: Scorecard) -> None:
    try:
        lines = b"".join(read()).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        message = "it is not UTF-8"
        raise _Differs(message) from None
    said = next((match for line in lines[:5] if (match := _VERDICT.search(line))), None)
    if said is None:
        message = "it says no verdict at its beginning"
        raise _Differs(message)
    _same("verdict", said[1], scorecard.verdict or "none yet")
    _same("overridden", said[2] is not None, scorecard.overridden)
    _same("exit code", said[3], str(scorecard.exit_code))
    states = [str(number) for number in _expected_states(scorecard).values()]
    _same("scores", _rows_after(lines, _HEADER), [[str(scorecard.counts.pairs), *states]])
    gates = [row[0].partition(" ")[2] for row in _rows_after(lines, _GATES_HEADER)]
    more = sum(int(match[1]) for line in lines if (match := _MORE_GATES.match(line)))
    _same("gates", len(gates) + more, len(scorecard.gates))
    if not more:
        expected = Counter(map(gate_word, scorecard.gates))
        _same("outcomes", dict(Counter(gates)), dict(expected))


def _rows_after(lines: list[str], header: str) -> list[list[str]]:
    start = next((at for at, line in enumerate(lines) if line.startswith(header)), None)
    if start is None:
        message = f"it has no table {header}"
        raise _Differs(message)
    columns = lines[start].count("|")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        if line.count("|") != columns:
            message = f"a row of its table {header} has another number of cells"
            raise _Differs(message)
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


# --- Badge ------------------------------------------------------------------------------------------

BADGE_KEYS: Final = frozenset(
    {"schemaVersion", "label", "message", "color", "isError", "cacheSeconds"}
)
"""Keys a shields endpoint may have; any other one breaks the badge."""


def _check_badge(read: Reader, scorecard: Scorecard) -> None:
    try:
        badge: dict[str, Any] = parse_json(b"".join(read()))
    except JsonProblem as error:
        message = f"it is no JSON ({error})"
        raise _Differs(message) from None
    _same("other keys", sorted(set(badge) - BADGE_KEYS), [])
    if badge["color"] == "brightgreen":
        _same("verdict", "pass", scorecard.verdict)
    _same("waived", ", waived" in badge["message"], _claims_waiver(scorecard, badge["message"]))


def _claims_waiver(scorecard: Scorecard, message: str) -> bool:
    """Whether a badge that claims something has to say that it was overridden."""
    return scorecard.overridden and "blocked" in message


def _check_svg(read: Reader, scorecard: Scorecard) -> None:
    labels: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "svg":
            labels.append(attributes.get("aria-label", ""))

    parse_xml(read(), start, lambda _name: None)
    if len(labels) != 1 or not labels[0]:
        message = "it has no text for who cannot see it"
        raise _Differs(message)
    if ": pass " in f"{labels[0]} ":
        _same("verdict", "pass", scorecard.verdict)


CHECKS: Final[dict[str, Callable[[Reader, Scorecard], int | None]]] = {
    "scorecard.json": _check_json,
    "results.jsonl": _check_results,
    "scorecard.html": check_html,
    "summary.md": _check_summary,
    "junit.xml": _check_junit,
    "results.sarif": check_sarif,
    "results.csv": check_csv,
    "badge.json": _check_badge,
    "badge.svg": _check_svg,
}
"""The check of each file of a bundle that is a report; gives how many scores it says do not pass, where it says so."""
