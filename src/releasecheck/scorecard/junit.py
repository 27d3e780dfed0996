"""`junit.xml`: one testcase for each case, trial and judge, and one for each gate.

`failure` is a measured "no", `error` is no measurement, `skipped` is a legitimate absence. Both passes over
the rows are streams; the first one counts, because the totals stand before the tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.model.judge import pass_mark
from releasecheck.scorecard.exceptions import quarantine_notice, waiver_of
from releasecheck.scorecard.numbers import shown
from releasecheck.scorecard.texts import as_text, cut, shorten
from releasecheck.scorecard.xml import HEAD, Xml, element, end, start, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from releasecheck.model.results import RowScore, RowView
    from releasecheck.model.scorecard import GateResult, Outcome, Scorecard
    from releasecheck.scorecard.report import Report

_LONGEST: Final = 2000
_LONGEST_MESSAGE: Final = 500
_CHUNK: Final = 64 * 1024
_GATES: Final[dict[Outcome, str]] = {
    "pass": "passed",
    "bootstrap": "skipped",
    "not_selected": "skipped",
    "not_comparable": "error",
    "blocked_missing": "error",
    "block": "failure",
}


@dataclass(slots=True)
class _Totals:
    tests: int = 0
    failure: int = 0
    error: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def add(self, outcome: str) -> None:
        self.tests += 1
        if outcome != "passed":
            setattr(self, outcome, getattr(self, outcome) + 1)

    def attributes(self, name: str) -> dict[str, str]:
        """Of the root, where the schema that Jenkins checks with has no place for `skipped`."""
        return {
            "name": name,
            "tests": str(self.tests),
            "failures": str(self.failure),
            "errors": str(self.error),
            "time": f"{self.seconds:.3f}",
        }

    def of_suite(self, name: str, at: str | None) -> dict[str, str]:
        """Of a suite, with the time when it began."""
        found = {**self.attributes(name), "skipped": str(self.skipped)}
        return found if at is None else {**found, "timestamp": at}


def render_junit(report: Report) -> Iterator[bytes]:
    """The file in pieces."""
    return _chunks(_document(report))


def _chunks(parts: Iterable[str]) -> Iterator[bytes]:
    held: list[str] = []
    size = 0
    for part in parts:
        held.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield "".join(held).encode("utf-8")
            held, size = [], 0
    yield "".join(held).encode("utf-8")


def _document(report: Report) -> Iterator[str]:
    suite = report.scorecard.suite
    cases, gates = _count_cases(report.rows()), _count_gates(report.scorecard.gates)
    both = _Totals(
        cases.tests + gates.tests,
        cases.failure + gates.failure,
        cases.error + gates.error,
        cases.skipped + gates.skipped,
        cases.seconds,
    )
    yield HEAD
    yield start("testsuites", both.attributes(suite)) + "\n"
    yield start("testsuite", cases.of_suite(f"{suite}: cases", report.plan.created_at)) + "\n"
    yield _properties(report.scorecard) + "\n"
    marks = {judge.id: pass_mark(judge.spec) for judge in report.plan.judges}
    several = report.plan.trials > 1
    aside = _quarantined(report.scorecard)
    for view in report.rows():
        yield from _tests_of(view, suite, marks, aside, several=several)
    yield end("testsuite") + "\n"
    at = report.scorecard.created_at
    yield start("testsuite", gates.of_suite(f"{suite}: gates", at)) + "\n"
    for gate in report.scorecard.gates:
        yield _gate(report.scorecard, gate, suite) + "\n"
    yield end("testsuite") + "\n" + end("testsuites") + "\n"


def _properties(card: Scorecard) -> Xml:
    """Which run this is, and what came of it."""
    said = {
        "run_id": card.run_id,
        "plan_digest": card.plan_digest,
        "mode": card.mode,
        "verdict": card.verdict or "waiting",
        "exit_code": str(card.exit_code),
    }
    every = (element("property", {"name": name, "value": said[name]}) for name in said)
    return element("properties", {}, *every)


def _count_cases(rows: Iterator[RowView]) -> _Totals:
    totals = _Totals()
    times: list[float] = []
    for view in rows:
        times.append((view.row.latency_ms or 0.0) / 1000)
        if len(times) > 1000:
            times = [math.fsum(times)]
        for judge, score in view.row.scores.items():
            totals.add(_outcome(score, passed=view.row.passed.get(judge)))
    totals.seconds = math.fsum(times)
    return totals


def gate_result(gate: GateResult) -> str:
    """How a gate's test ends: a block that is waived is no failure, and no pass either."""
    return "skipped" if gate.waived else _GATES[gate.outcome]


def _count_gates(gates: Iterable[GateResult]) -> _Totals:
    totals = _Totals()
    for gate in gates:
        totals.add(gate_result(gate))
    return totals


def _outcome(score: RowScore, *, passed: bool | None) -> str:
    match score.state:
        case "scored":
            return "failure" if passed is False else "passed"
        case "not-applicable":
            return "skipped"
        case _:
            return "error"


def _tests_of(
    view: RowView,
    suite: str,
    marks: Mapping[str, float | None],
    aside: Mapping[tuple[str, str | None], str],
    *,
    several: bool,
) -> Iterator[str]:
    name = f"{view.case.id} [trial {view.row.trial}]" if several else view.case.id
    for judge, score in view.row.scores.items():
        attributes = {"classname": f"{suite}.{judge}", "name": name}
        if view.row.latency_ms is not None:
            attributes["time"] = f"{view.row.latency_ms / 1000:.3f}"
        known = aside.get((view.case.id, judge)) or aside.get((view.case.id, None), "")
        inside = _inside(view, judge, score, marks.get(judge), known)
        yield element("testcase", attributes, *inside) + "\n"


def _quarantined(card: Scorecard) -> dict[tuple[str, str | None], str]:
    """(case, judge, or None for all of them) -> that it is in quarantine, and why."""
    return {(one.case, one.judge): quarantine_notice(one) for one in card.quarantine}


def _inside(
    view: RowView, judge: str, score: RowScore, mark: float | None, known: str
) -> tuple[Xml, ...]:
    match _outcome(score, passed=view.row.passed.get(judge)):
        case "failure":
            message = f"{shown(judge, score.value, [mark])} does not pass"
            if mark is not None:
                message += f" (pass mark {shown(judge, mark)})"
            if known:
                message += f"; {known}"
            return (_result("failure", "not passed", message, _details(view, score)),)
        case "error":
            why = _why(view, score) + (f"; {known}" if known else "")
            return (_result("error", score.state, why, _details(view, score)),)
        case "skipped":
            return (element("skipped", {"message": _message(score.reason or "not applicable")}),)
        case _:
            value = shown(judge, score.value, [mark])
            return (element("system-out", {}, text(f"value {value}")),) if mark is None else ()


def _message(words: str) -> str:
    return shorten(words.replace("\n", " "), _LONGEST_MESSAGE)


def _result(name: str, kind: str, message: str, details: str) -> Xml:
    return element(name, {"type": kind, "message": _message(message)}, text(details))


def _why(view: RowView, score: RowScore) -> str:
    failed = view.row.failure
    if failed is not None:
        return f"the target failed ({failed.code}): {failed.message or 'its message was removed'}"
    return f"{score.state}: {score.reason or 'no reason was given'}"


def _details(view: RowView, score: RowScore) -> str:
    case = view.case
    lines = [f"{case.source.path}:{case.source.line}, split {case.split}"]
    if score.reason:
        lines.append(f"reason: {_short(score.reason)}")
    if case.expected is not None:
        lines.append(f"expected: {_short(as_text(case.expected))}")
    if view.row.output is not None:
        lines.append(f"answer: {_short(as_text(view.row.output))}")
    return "\n".join(lines)


def _short(words: str) -> str:
    part = cut(words, _LONGEST)
    return f"{part.text} [{part.more} more characters, {part.digest}]" if part.more else part.text


def _gate(card: Scorecard, gate: GateResult, suite: str) -> Xml:
    attributes = {"classname": f"{suite}.gates", "name": gate.id}
    what = f"{gate.metric}, {gate.stat} in {gate.split}: {gate.rule}"
    match gate_result(gate):
        case "passed":
            inside = element("system-out", {}, text(f"{what}\n{gate.reason}"))
        case "skipped":
            waiver = waiver_of(card, gate)
            words = f"{gate.outcome}: {gate.reason}"
            if waiver is not None:
                words = f"blocked, and waived until {waiver.until} by {waiver.who}: {waiver.why}; {gate.reason}"
            inside = element("skipped", {"message": _message(words)})
        case kind:
            inside = _result(kind, gate.outcome, gate.reason, what)
    return element("testcase", attributes, inside)
