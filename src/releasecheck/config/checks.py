"""Rules of a suite that no single field can check, as far as they need no cases.

A gate that could never block is an error: on an unknown metric, with a threshold outside of what its
judge can give, without a pass mark to count by. A threshold exactly at the end of the scale (`min: 0`,
`max: 1`) is legal and a note: such a gate cannot fail by the scores, but still refuses when one is
missing (B26). 0 and false are values everywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import jmespath
from jmespath.exceptions import JMESPathError

from releasecheck.config.comparing import check_comparing
from releasecheck.config.nodes import Loc, MapNode, problem_at
from releasecheck.judges.checks import deadline_note, spec_problems
from releasecheck.judges.wrap import Selector
from releasecheck.model.base import duration_words
from releasecheck.model.gate import BUILTIN_METRICS, GateSpec, favours_failures
from releasecheck.model.judge import (
    ContainsJudge,
    DeferringJudge,
    ExactJudge,
    Judge,
    LlmJudge,
    NumericJudge,
    OthersJudge,
    PrecomputedJudge,
    RankJudge,
    Rubric,
    SimilarityJudge,
    YesNoJudge,
    has_pass_mark,
    sentinel_ids,
    value_range,
)
from releasecheck.model.nearest import listing, nearest
from releasecheck.model.score import JudgeFailed
from releasecheck.model.suite import Suite
from releasecheck.model.target import HttpTarget
from releasecheck.references import PORT, references_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json
    from releasecheck.errors import Problem

_BUILTIN_TOP: Final = {"target_errors": 1.0}
"""Largest values of built-in metrics that have one; the smallest is 0 for all."""
_BAD_REFERENCE: Final = re.compile(
    r"(?<!\$)\$\{(?!\{)(?![A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\})[^}]{0,40}\}?"
)
_METRIC_WORDS: Final = {
    "pass_rate": "`pass_rate` is a stat: write {metric: JUDGE_ID, stat: pass_rate}",
    "error_rate": "it is called target_errors",
    "errors": "it is called target_errors",
    "latency": "it is called latency_ms",
    "cost": "it is called cost_usd",
}


def check_suite(suite: Suite, document: MapNode) -> tuple[list[Problem], list[Problem]]:
    """Problems of a suite, and notes on what is legal but may not be meant."""
    check = _Check(suite, document)
    check.ids()
    check.target()
    for position, judge in enumerate(suite.judges):
        check.judge(judge, ("judges", position))
    for position, gate in enumerate(suite.gates):
        check.gate(gate, ("gates", position))
    check_comparing(suite, check)
    return check.problems, check.notes


class _Check:
    def __init__(self, suite: Suite, document: MapNode) -> None:
        self._suite, self._document = suite, document
        self._judges = {judge.id: judge for judge in suite.judges}
        self.problems: list[Problem] = []
        self.notes: list[Problem] = []

    def bad(self, loc: Loc, message: str) -> None:
        """Something that cannot work."""
        self.problems.append(problem_at(self._document, loc, message))

    def note(self, loc: Loc, message: str) -> None:
        """Something legal that may not be meant."""
        self.notes.append(problem_at(self._document, loc, message))

    def ids(self) -> None:
        """Ids are unique, and no judge takes the name of a built-in metric."""
        for section, items in (("judges", self._suite.judges), ("gates", self._suite.gates)):
            first: dict[str, int] = {}
            for position, item in enumerate(items):
                loc = (section, position, "id")
                if item.id in first:
                    other = problem_at(self._document, (section, first[item.id], "id"), "")
                    self.bad(loc, f"the id {item.id!r} is already used in line {other.line}")
                first.setdefault(item.id, position)
                if section == "judges" and item.id in BUILTIN_METRICS:
                    self.bad(loc, f"{item.id!r} is a built-in metric; choose another id")

    def target(self) -> None:
        """Expressions of the target can be read, and its references can be filled."""
        target = self._suite.target
        self._jmespath(target.output, ("target", "output"))
        if target.usage is not None:
            self._jmespath(target.usage.tokens, ("target", "usage", "tokens"))
            self._jmespath(target.usage.cost_usd, ("target", "usage", "cost_usd"))
        if target.trace_id is not None and not target.trace_id.startswith("header:"):
            self._jmespath(target.trace_id, ("target", "trace_id"))
        if isinstance(target, HttpTarget) and not (target.fingerprint or "").startswith("header:"):
            self._jmespath(target.fingerprint, ("target", "fingerprint"))
        written = target.model_dump(by_alias=True)
        self._references(written, ("target",))
        names = {reference.name for reference in references_in(written)}
        if PORT in names and target.start is None:
            self.bad(
                ("target",),
                f"${{{PORT}}} is the port of a target that we start; add `start`, or name the port",
            )

    def judge(self, judge: Judge, loc: Loc) -> None:
        """Its expressions, pass mark and direction make sense."""
        for problem in spec_problems(judge):
            self.bad((*loc, problem.key or "type"), problem.message)
        if not isinstance(judge, YesNoJudge | SimilarityJudge | RankJudge):
            self._references(judge.model_dump(by_alias=True), loc)
        negate = isinstance(judge, YesNoJudge | OthersJudge) and judge.negate
        if negate and judge.better == "lower":
            self.bad(
                (*loc, "better"),
                "`negate: true` already turns the judge round; leave out `better: lower`",
            )
        elif isinstance(judge, YesNoJudge) and judge.better == "lower" and judge.pass_at is None:
            self.bad(
                (*loc, "better"),
                "with `better: lower` every answer passes at the default `pass_at` of 1; "
                "write `negate: true` instead, or `pass_at: 0`",
            )
        if (late := deadline_note(judge, self._suite.settle.deadline)) is not None:
            self.note((*loc, "deadline"), late)
        own = judge.deadline if isinstance(judge, DeferringJudge | PrecomputedJudge) else None
        if own is not None and own >= self._suite.expires:
            self.note(
                (*loc, "deadline"),
                f"the judge is waited for {duration_words(own)}, and the run is closed "
                f"{duration_words(self._suite.expires)} after it was planned; set `expires` of the suite to more "
                f"than {duration_words(own)}",
            )
        self._sentinel_parts(judge, (*loc, "sentinels"))
        self._pass_at(judge, (*loc, "pass_at"))
        self._pass_rule(judge, (*loc, "pass_rule"))

    def _sentinel_parts(self, judge: Judge, loc: Loc) -> None:
        """A sentinel in which the judge's `input` finds nothing can never get a score."""
        try:
            select = None if judge.input is None else Selector(judge.input)
        except ValueError:
            return  # Said already.
        for name, one in zip(sentinel_ids(judge), judge.sentinels, strict=True):
            part = None if select is None else select(one.output)
            if isinstance(part, JudgeFailed):
                self.bad(
                    loc,
                    f"the sentinel {name!r} could get no score: {part.failure.message}; its `output` is a whole "
                    "answer, as the target gives it",
                )

    def _pass_at(self, judge: Judge, loc: Loc) -> None:
        scale = value_range(judge)
        if judge.pass_at is None or scale is None:
            return
        low, high = scale
        if not low <= judge.pass_at <= high:
            self.bad(
                loc,
                f"expected a number from {low:g} to {high:g}, the scale of {judge.type!r} judges; "
                f"found {judge.pass_at:g}",
            )
        elif judge.pass_at == (low if judge.better == "higher" else high):
            self.note(loc, f"every value of {judge.id!r} passes at {judge.pass_at:g}")

    def _pass_rule(self, judge: Judge, loc: Loc) -> None:
        k, found, n = judge.pass_rule.partition("-of-")
        if not found:
            return
        if int(k) > int(n):
            self.bad(loc, f"{judge.pass_rule!r} can never pass; the first number is at most {n}")
        elif int(n) != self._suite.trials:
            self.bad(
                loc,
                f"{judge.pass_rule!r} counts {n} trials, and `trials` is {self._suite.trials}; "
                "they must agree",
            )

    def gate(self, gate: GateSpec, loc: Loc) -> None:
        """It measures something that exists, with a rule that can block."""
        if gate.metric in BUILTIN_METRICS:
            self._builtin_gate(gate, loc)
        elif gate.metric in self._judges:
            self._judge_gate(gate, self._judges[gate.metric], loc)
        else:
            self.bad((*loc, "metric"), self._no_metric(gate.metric))

    def _no_metric(self, found: str) -> str:
        known = [*self._judges, *BUILTIN_METRICS]
        message = f"there is no metric {found[:60]!r}"
        if found in _METRIC_WORDS:
            return f"{message}; {_METRIC_WORDS[found]}"
        if near := nearest(found, known):
            message += f"; did you mean {near!r}?"
        return f"{message} (judges: {listing(self._judges)}; built in: {listing(BUILTIN_METRICS)})"

    def _builtin_gate(self, gate: GateSpec, loc: Loc) -> None:
        name = f"{gate.metric!r} is a built-in metric and has no pass or fail"
        if gate.require is not None:
            self.bad((*loc, "require"), f"{name}; use min or max")
        if gate.stat == "pass_rate":
            self.bad((*loc, "stat"), f"{name}; use mean, min, max, p50, p90, p95, p99 or sum")
        if gate.no_regression is not None and gate.no_regression.max_new_failures is not None:
            self.bad((*loc, "no_regression", "max_new_failures"), f"{name}; use max_drop")
        if gate.on_target_failure == "count_as_fail":
            self.bad(
                (*loc, "on_target_failure"),
                f"{gate.metric!r} has no worst value to count a failure as; "
                "leave it out and add a gate on target_errors",
            )
        self._threshold(gate, (0.0, _BUILTIN_TOP.get(gate.metric)), loc)

    def _judge_gate(self, gate: GateSpec, judge: Judge, loc: Loc) -> None:
        by_pass = gate.require is not None or gate.stat == "pass_rate"
        counts_new = (
            gate.no_regression is not None and gate.no_regression.max_new_failures is not None
        )
        if (by_pass or counts_new) and not has_pass_mark(judge):
            place = "require" if gate.require is not None else "stat"
            key: Loc = (place,) if by_pass else ("no_regression", "max_new_failures")
            self.bad(
                (*loc, *key),
                f"the judge {judge.id!r} has no pass mark; give it a `pass_at`",
            )
        if gate.require is not None and gate.stat != "mean":
            self.bad((*loc, "stat"), "`require` looks at every case by itself; leave out `stat`")
        self._counted_failures(gate, judge, loc, by_pass=by_pass)
        scale = (0.0, 1.0) if gate.stat == "pass_rate" else value_range(judge)
        self._threshold(gate, scale, loc)

    def _counted_failures(self, gate: GateSpec, judge: Judge, loc: Loc, *, by_pass: bool) -> None:
        place = (*loc, "on_target_failure")
        limits = value_range(judge)
        if gate.on_target_failure == "count_as_fail" and limits is None and not by_pass:
            self.bad(
                place,
                f"the worst value of the {judge.type} judge {judge.id!r} is not known; give it a "
                "`scale`, or use `stat: pass_rate` or `require: all` with it",
            )
        elif rule := favours_failures(gate, judge.better):
            counts = "not passed"
            if limits is not None and gate.stat != "pass_rate":
                worst = limits[0] if judge.better == "higher" else limits[1]
                counts = f"{worst:g}, the worst value of {judge.id!r}"
            self.bad(
                place,
                f"a failed call would count as {counts}, and so help to stay "
                f"{'below' if rule == 'max' else 'above'} `{rule}`: leave it out and add a gate on "
                "target_errors",
            )

    def _threshold(
        self, gate: GateSpec, scale: tuple[float, float | None] | None, loc: Loc
    ) -> None:
        if scale is None:
            return
        low, high = scale
        if gate.stat == "sum":
            high = None
        for key, value in (("min", gate.min), ("max", gate.max)):
            if value is None:
                continue
            outside = value < low or (high is not None and value > high)
            if outside:
                end = f"{low:g} to {high:g}" if high is not None else f"{low:g} upwards"
                advice = "; write 85 % as 0.85" if high == 1 and value > 1 else ""
                self.bad(
                    (*loc, key),
                    f"{gate.metric!r} goes from {end}, so that {key} {value:g} decides nothing"
                    f"{advice}",
                )
            elif value == (low if key == "min" else high):
                self.note(
                    (*loc, key),
                    f"no score can fall outside {key} {value:g}; this gate only demands that no "
                    "score is missing",
                )
        self._drop(gate, high, loc)

    def _drop(self, gate: GateSpec, high: float | None, loc: Loc) -> None:
        rule = gate.no_regression
        if rule is None or high is None:
            return
        place = (*loc, "no_regression", "max_drop")
        if rule.max_drop > high:
            self.bad(
                place,
                f"{gate.metric!r} goes from 0 to {high:g}, so that it can never drop by more than "
                f"{rule.max_drop:g}; write 2 % as 0.02",
            )
        elif rule.max_drop == high and rule.max_new_failures is None:
            self.note(place, f"no drop can exceed {rule.max_drop:g}")

    def _jmespath(self, expression: str | None, loc: Loc) -> None:
        if expression is None:
            return
        try:
            jmespath.compile(expression)
        except (JMESPathError, RecursionError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
            self.bad(loc, f"expected a JMESPath expression, found {expression[:60]!r}: {reason}")

    def _references(self, value: Json, loc: Loc) -> None:
        for inner, text in _texts(value, loc):
            if bad := _BAD_REFERENCE.search(text):
                self.bad(
                    inner,
                    f"expected ${{NAME}} or ${{NAME:-default}}, found {bad[0][:40]!r}; "
                    "write $${ for a literal ${",
                )


def _texts(value: Json, loc: Loc) -> Iterator[tuple[Loc, str]]:
    if isinstance(value, str):
        yield loc, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*loc, str(key)))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from _texts(item, (*loc, position))


def need_expected(judge: Judge) -> bool:
    """Whether a judge compares with the case's `expected`."""
    if isinstance(judge, ContainsJudge):
        return judge.value is None
    if isinstance(judge, LlmJudge):
        return isinstance(judge.rubric, Rubric) and "expected" in judge.rubric.needs
    return isinstance(judge, ExactJudge | NumericJudge | SimilarityJudge | RankJudge)
