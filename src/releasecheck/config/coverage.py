"""Whether judges and gates reach cases of the dataset: what compares nothing is an error.

These rules hold for the whole dataset. In a partial plan a gate may find none of its cases; that is
for the gates to say (`not_selected`), not a mistake in the config.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.config.checks import need_expected
from releasecheck.config.nodes import Loc, MapNode, problem_at
from releasecheck.judges.normalize import text_of
from releasecheck.judges.numeric import number_of
from releasecheck.judges.rank import relevant_ids
from releasecheck.judges.wrap import ExpectedPart
from releasecheck.model.gate import BUILTIN_METRICS
from releasecheck.model.judge import ContainsJudge, NumericJudge, RankJudge, SimilarityJudge
from releasecheck.model.nearest import listing, nearest
from releasecheck.model.score import JudgeFailed
from releasecheck.stats import count_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.errors import Problem
    from releasecheck.model.case import Case
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.judge import Judge
    from releasecheck.model.suite import Suite

_NAMED: Final = 3
"""Rows named as examples of a kind of problem."""


def check_coverage(
    suite: Suite, document: MapNode, cases: Sequence[Case], folder: str
) -> list[Problem]:
    """Problems between a suite and the whole of its cases.

    Args:
        suite: the checked suite.
        document: to point at lines in the config.
        cases: every case of the dataset.
        folder: what dataset paths are relative to, as the user would name it.
    """
    cover = _Cover(suite, document, cases, folder)
    for position, judge in enumerate(suite.judges):
        cover.judge(judge, ("judges", position))
    cover.unjudged()
    for position, gate in enumerate(suite.gates):
        cover.gate(gate, ("gates", position))
    return cover.problems


def _parts(judge: Judge, cases: Sequence[Case]) -> dict[str, Json]:
    """What each case expects of a judge, by the case's id; None where it names nothing.

    An expression that cannot be evaluated on a case leaves it without, which the judge says for itself.
    """
    if judge.expected is None:
        return {case.id: case.expected for case in cases}
    try:
        part = ExpectedPart(judge.expected)
    except ValueError:
        return {case.id: None for case in cases}  # said where the judge itself is checked
    found = {case.id: part(case.expected) for case in cases}
    return {name: None if isinstance(one, JudgeFailed) else one for name, one in found.items()}


class _Cover:
    def __init__(self, suite: Suite, document: MapNode, cases: Sequence[Case], folder: str) -> None:
        self._suite, self._document, self._cases = suite, document, cases
        self._folder = folder.rstrip("/") + "/" if folder not in {"", "."} else ""
        self._splits = {case.split for case in cases}
        self._tags = {tag for case in cases for tag in case.tags}
        self._reach: dict[str, list[Case]] = {}
        self.problems: list[Problem] = []

    def _bad(self, loc: Loc, message: str) -> None:
        self.problems.append(problem_at(self._document, loc, message))

    def _unknown(self, loc: Loc, what: str, found: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(found, names)
        hint = f"did you mean {near!r}?" if near else f"there are {listing(names) or 'none'}"
        self._bad(loc, f"no case has the {what} {found[:80]!r}; {hint}")

    def judge(self, judge: Judge, loc: Loc) -> None:
        """It applies to something, and what it compares with is there."""
        when = judge.when
        parts = _parts(judge, self._cases)
        reached = [
            case
            for case in self._cases
            if when is None
            or when.admits(case.tags, case.split, has_expected=parts[case.id] is not None)
        ]
        self._reach[judge.id] = reached
        if when is not None:
            self._names(when.tags, when.split, (*loc, "when"))
            if not reached and not self._has_problem_in((*loc, "when")):
                self._bad((*loc, "when"), f"no case fits, so that {judge.id!r} judges nothing")
        if need_expected(judge):
            self._expected(judge, reached, parts, loc)

    def _names(self, tags: Sequence[str] | None, split: str | None, loc: Loc) -> None:
        for tag in tags or ():
            if tag not in self._tags:
                self._unknown((*loc, "tags"), "tag", tag, self._tags)
        if split is not None and split != "all" and split not in self._splits:
            self._unknown((*loc, "split"), "split", split, self._splits)

    def _has_problem_in(self, loc: Loc) -> bool:
        start = problem_at(self._document, loc, "").key or ""
        return any((problem.key or "").startswith(start) for problem in self.problems)

    def _expected(
        self, judge: Judge, reached: Sequence[Case], parts: Mapping[str, Json], loc: Loc
    ) -> None:
        named = "`expected`" if judge.expected is None else f"`{judge.expected}` of `expected`"
        without = [case for case in reached if parts[case.id] is None]
        if without:
            self._bad(
                loc,
                f"the {judge.type} judge {judge.id!r} compares with {named}, and "
                f"{self._count(without, len(reached))} none ({self._rows(without)}); add it there, "
                "or restrict the judge with `when: {has: expected}`",
            )
        fits, wanted = _shape(judge)
        odd = [c for c in reached if parts[c.id] is not None and not fits(parts[c.id])]
        if odd:
            self._bad(
                loc,
                f"the {judge.type} judge {judge.id!r} needs {wanted} as {named}, and "
                f"{self._count(odd, len(reached))} something else ({self._rows(odd)})",
            )

    @staticmethod
    def _count(found: Sequence[Case], of: int) -> str:
        return f"{count_of(len(found), of)} ha{'s' if len(found) == 1 else 've'}"

    def _rows(self, cases: Sequence[Case]) -> str:
        shown = [f"{self._folder}{c.source.path}:{c.source.line}" for c in cases[:_NAMED]]
        return ", ".join(shown) + (", ..." if len(cases) > _NAMED else "")

    def unjudged(self) -> None:
        """Every case has a judge (B22)."""
        judged = {case.id for reached in self._reach.values() for case in reached}
        rest = [case for case in self._cases if case.id not in judged]
        if rest:
            self._bad(
                ("judges",),
                f"no judge applies to {len(rest)} of {len(self._cases)} cases "
                f"({self._rows(rest)}), because of `when`",
            )

    def gate(self, gate: GateSpec, loc: Loc) -> None:
        """It selects cases, and its judge has something to say about some of them."""
        before = len(self.problems)
        if gate.split != "all" and gate.split not in self._splits:
            self._unknown((*loc, "split"), "split", gate.split, self._splits)
        chosen = [case for case in self._cases if gate.split in {"all", case.split}]
        if gate.cases is not None:
            self._names(gate.cases.tags, None, (*loc, "cases"))
            self._ids(gate.cases.ids, (*loc, "cases", "ids"))
            tags, ids = set(gate.cases.tags or ()), set(gate.cases.ids or ())
            chosen = [
                case
                for case in chosen
                if (gate.cases.tags is None or tags & set(case.tags))
                and (gate.cases.ids is None or case.id in ids)
            ]
        if len(self.problems) > before:
            return
        if gate.min_scored is not None and 0 < len(chosen) < gate.min_scored:
            self._bad(
                (*loc, "min_scored"),
                f"it has {len(chosen)} cases, so that {gate.min_scored} of them can never have a score",
            )
        if not chosen:
            self._bad(loc, "no case is both in its split and in its `cases`; it would gate nothing")
        elif gate.metric not in BUILTIN_METRICS:
            reached = {case.id for case in self._reach.get(gate.metric, ())}
            if not any(case.id in reached for case in chosen):
                self._bad(
                    loc,
                    f"the judge {gate.metric!r} applies to none of its {len(chosen)} cases, because "
                    "of its `when`; the gate would compare nothing",
                )

    def _ids(self, ids: Sequence[str] | None, loc: Loc) -> None:
        known = {case.id for case in self._cases}
        for name in ids or ():
            if name not in known:
                near = nearest(name, known)
                hint = f"; did you mean {near!r}?" if near else ""
                self._bad(loc, f"there is no case {name[:80]!r}{hint}")


def _shape(judge: Judge) -> tuple[Callable[[Json], bool], str]:
    """Which expected values a judge can compare with, and their name."""
    if isinstance(judge, NumericJudge):
        return (lambda value: number_of(value) is not None), "a number"
    if isinstance(judge, RankJudge):
        return (lambda value: relevant_ids(value) is not None), "a list of ids, or ids with grades,"
    if isinstance(judge, SimilarityJudge):
        return (lambda value: text_of(value) is not None), "a text"
    if isinstance(judge, ContainsJudge):
        return _is_needle, "a text that is not empty, or a list of them,"
    return (lambda _: True), ""


def _is_needle(value: Json) -> bool:
    needles = value if isinstance(value, list) else [value]
    return bool(needles) and all(text_of(needle) for needle in needles)
