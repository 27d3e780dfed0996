"""Checks of what a suite says about comparing: how gates decide, the anchor, quarantines and waivers."""

from __future__ import annotations

from posixpath import normpath
from typing import TYPE_CHECKING, Final, Protocol

from releasecheck.model.gate import BUILTIN_METRICS, PAIRED_STATS
from releasecheck.model.nearest import nearest
from releasecheck.model.suite import ANCHOR_SUFFIX, planned_gates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.config.nodes import Loc
    from releasecheck.model.gate import GateSpec
    from releasecheck.model.suite import Suite

LONGEST_ID: Final = 63


class Said(Protocol):
    """Where problems go."""

    def bad(self, loc: Loc, message: str) -> None:
        """Something that cannot work."""
        ...

    def note(self, loc: Loc, message: str) -> None:
        """Something legal that may not be meant."""
        ...


def check_comparing(suite: Suite, said: Said) -> None:
    """Everything about comparing that can be known without the cases."""
    for position, gate in enumerate(suite.gates):
        _rule(suite, gate, ("gates", position), said)
    _anchor(suite, said)
    _waivers(suite, said)
    _quarantine(suite, said)
    if suite.baseline.rejudge_baseline and not _comparisons(suite):
        message = "no gate compares with a baseline, so there is nothing to judge again for"
        said.note(("baseline", "rejudge_baseline"), message)


def _rule(suite: Suite, gate: GateSpec, loc: Loc, said: Said) -> None:
    rule = gate.no_regression
    if rule is None:
        return
    if rule.decide != "point" and gate.stat not in PAIRED_STATS:
        said.bad(
            (*loc, "no_regression", "decide"),
            f"`{rule.decide}` tests pairs of cases, and {gate.stat} belongs to no pair; use stat mean, pass_rate or "
            "sum, or `decide: point`",
        )
    if rule.underpowered == "refuse" and gate.stat not in PAIRED_STATS:
        said.bad(
            (*loc, "no_regression", "underpowered"),
            f"what a suite can see of {gate.stat} is not known; use stat mean, pass_rate or sum",
        )
    if rule.against == "anchor" and suite.baseline.anchor is None:
        said.bad(
            (*loc, "no_regression", "against"),
            "there is no anchor; name its folder in `baseline: {anchor: FOLDER}`",
        )


def _comparisons(suite: Suite) -> list[GateSpec]:
    return [gate for gate in suite.gates if gate.no_regression is not None]


def _anchor(suite: Suite, said: Said) -> None:
    anchor = suite.baseline.anchor
    if anchor is None:
        return
    loc = ("baseline", "anchor")
    gates = planned_gates(suite)
    against = [gate.no_regression.against for gate in gates if gate.no_regression is not None]
    if "anchor" not in against:
        said.bad(loc, "no gate compares with it; give one `no_regression: {against: anchor}`")
    if normpath(anchor) == normpath(suite.baseline.path):
        said.bad(loc, "the anchor is the baseline itself, so that both move along together")
    own = [gate.id for gate in suite.gates]
    for gate in gates:
        if gate.id not in own and own.count(gate.id.removesuffix(ANCHOR_SUFFIX)) == 1:
            position = own.index(gate.id.removesuffix(ANCHOR_SUFFIX))
            if len(gate.id) > LONGEST_ID:
                said.bad(
                    ("gates", position, "id"),
                    f"with an anchor there is a second gate {gate.id!r}, which is too long; choose a shorter id",
                )
    ids = [gate.id for gate in gates]
    for position, gate in enumerate(suite.gates):
        if gate.id.endswith(ANCHOR_SUFFIX) and ids.count(gate.id) > 1 and own.count(gate.id) == 1:
            said.bad(
                ("gates", position, "id"),
                f"{gate.id!r} is the name of the anchor's gate beside "
                f"{gate.id.removesuffix(ANCHOR_SUFFIX)!r}; choose another id",
            )


def _waivers(suite: Suite, said: Said) -> None:
    gates = [gate.id for gate in planned_gates(suite)]
    seen: set[str] = set()
    for position, waiver in enumerate(suite.waivers):
        loc = ("waivers", position, "gate")
        if waiver.gate not in gates:
            said.bad(loc, _unknown("gate", waiver.gate, gates))
        elif waiver.gate in seen:
            said.bad(loc, f"there are two waivers for the gate {waiver.gate!r}; keep one")
        seen.add(waiver.gate)


def _quarantine(suite: Suite, said: Said) -> None:
    known = [*(judge.id for judge in suite.judges), *BUILTIN_METRICS]
    seen: set[tuple[str, str | None]] = set()
    for position, one in enumerate(suite.quarantine):
        if one.judge is not None and one.judge not in known:
            said.bad(("quarantine", position, "judge"), _unknown("judge", one.judge, known))
        if (one.case, one.judge) in seen or (one.judge is not None and (one.case, None) in seen):
            message = f"the case {one.case[:80]!r} is quarantined twice; keep one"
            said.bad(("quarantine", position, "case"), message)
        seen.add((one.case, one.judge))


def _unknown(what: str, found: str, known: Iterable[str]) -> str:
    near = nearest(found, known)
    return f"there is no {what} {found[:80]!r}" + (f"; did you mean {near!r}?" if near else "")
