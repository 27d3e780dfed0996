"""Merge once more, written from the contract's text (section 4) over plain dicts, slow and obvious."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from releasecheck.merge import Merged
from releasecheck.model.table import STATES
from tests.builders import Frame

Line: TypeAlias = dict[str, Any]
MEASURED = ("scored", "not-applicable")


def merge_files(frame: Frame, files: Sequence[bytes]) -> dict[str, Any]:
    """What counts, from the bytes of ledger files in any order."""
    lines = _in_order(files)
    facts: dict[str, Any] = {"outputs": {}, "pairs": {}, "conflicts": set(), "lost": 0}
    for case in (case.id for case in frame.cases):
        for trial in range(frame.plan.trials):
            mine = [line for line in lines if line.get("case") == case and line["trial"] == trial]
            outputs = [line for line in mine if line["record"] == "output"]
            scores = [line for line in mine if line["record"] == "score"]
            judges = [judge.id for judge in frame.plan.judges]
            counted, lost = _output_that_counts(outputs, scores, judges)
            facts["lost"] += lost
            facts["outputs"][case, trial] = _output_facts(counted)
            for judge in judges:
                at = (case, trial, judge)
                said = [line for line in scores if line["judge"] == judge]
                facts["pairs"][at] = _pair_facts(counted, said)
                facts["conflicts"] |= {
                    (*at, *pair) for pair in _conflicts(facts["pairs"][at], said)
                }
    facts["deadlines"] = {}
    for line in lines:
        if line["record"] == "deadline":
            for ticket in line["tickets"]:
                facts["deadlines"].setdefault((line["judge"], ticket), line["deadline"])
    return facts


def _in_order(files: Sequence[bytes]) -> list[Line]:
    """All records: lowest attempt, shard before finish, earlier line; each attempt once."""
    attempts: dict[tuple[int, bool, int], list[Line]] = {}
    for data in files:
        whole = [json.loads(line) for line in data.split(b"\n")[:-1]]  # a torn last line is dropped
        if not whole:
            continue
        header, *records = whole
        key = (header["attempt"], header["shard"] is None, header["shard"] or 0)
        if key not in attempts or _texts(records) > _texts(attempts[key]):
            attempts[key] = records  # of two deliveries the one that was purged less
    return [record for key in sorted(attempts) for record in attempts[key]]


def _texts(records: list[Line]) -> int:
    return sum(
        record["output"] is not None
        if record["record"] == "output"
        else record.get("state") == "scored" and record["reason"] is not None
        for record in records
    )


def _output_that_counts(
    outputs: list[Line], scores: list[Line], judges: list[str]
) -> tuple[Line | None, int]:
    """The lowest attempt whose call succeeded, else the failure of the highest.

    An output that was asked again because the one before was lost takes its place, unless every judge
    has measured that one.
    """
    counted: Line | None = None
    lost = 0
    for output in outputs:
        if output["failure"] is not None:
            if counted is None or counted["failure"] is not None:
                counted = output
            continue
        if counted is None or counted["failure"] is not None:
            counted = output
            continue
        if "output_lost" in output["notes"]:
            measured = {
                score["judge"]
                for score in scores
                if score["output_digest"] == counted["output_digest"] and score["state"] in MEASURED
            }
            if output["output_digest"] == counted["output_digest"] or measured < set(judges):
                counted = output
                lost += 1
    return counted, lost


def _output_facts(counted: Line | None) -> tuple[Any, ...]:
    if counted is None:
        return ("none",)
    if counted["failure"] is not None:
        return ("failed", counted["failure"]["retryable"])
    return ("answered", counted["latency_ms"], counted["output"] is not None)


def _pair_facts(
    counted: Line | None, said: list[Line]
) -> tuple[str, float | None, bool, str | None]:
    """(state, value, mendable, open ticket)."""
    if counted is None:
        return ("missing", None, True, None)
    if counted["failure"] is not None:
        return ("failed", None, counted["failure"]["retryable"], None)
    # Only scores of that output_digest count.
    scores = [score for score in said if score["output_digest"] == counted["output_digest"]]
    for score in scores:
        if score["state"] in MEASURED:  # the first measured one wins
            return (score["state"], score["value"], False, None)
    ticket = _open_ticket(scores)
    if ticket is not None:
        return ("pending", None, True, ticket)
    if any(score["state"] == "missing" for score in scores):
        return ("missing", None, False, None)
    if scores:
        return ("failed", None, scores[-1]["failure"]["retryable"], None)
    return ("missing", None, True, None)


def _open_ticket(scores: list[Line]) -> str | None:
    """The first ticket that neither `missing` has ended nor a failure under it has answered since."""
    for at, score in enumerate(scores):
        if score["state"] != "pending":
            continue
        mine = [other for other in scores if other["ticket"] == score["ticket"]]
        ended = any(other["state"] == "missing" for other in mine)
        answered = any(
            other["state"] == "failed" and other["ticket"] == score["ticket"]
            for other in scores[at:]
        )
        if not ended and not answered:
            ticket: str = score["ticket"]
            return ticket
    return None


def _conflicts(
    pair: tuple[str, float | None, bool, str | None], said: list[Line]
) -> set[tuple[float | None, float | None]]:
    """Measurements of whichever output that say something else than the one that counts."""
    state, value, _, _ = pair
    if state not in MEASURED:
        return set()
    return {
        (value, score["value"])
        for score in said
        if score["state"] in MEASURED and (score["state"], score["value"]) != (state, value)
    }


def facts_of(frame: Frame, merged: Merged) -> dict[str, Any]:
    """A merged set in the reference's words."""
    table = merged.table
    judges = [judge.id for judge in frame.plan.judges]
    facts: dict[str, Any] = {"outputs": {}, "pairs": {}}
    for index, case in enumerate(frame.cases):
        for trial in range(frame.plan.trials):
            kind = ("none", "answered", "failed")[table.target[index, trial]]
            mendable = table.mendable[index, trial]
            facts["outputs"][case.id, trial] = {
                "none": ("none",),
                "failed": ("failed", bool(mendable.all())),
                "answered": (
                    "answered",
                    _number(table.latency_ms[index, trial]),
                    bool(merged.stored[index, trial]),
                ),
            }[kind]
            for judge, name in enumerate(judges):
                at = (index, trial, judge)
                facts["pairs"][case.id, trial, name] = (
                    STATES[table.state[at]],
                    _number(table.value[at]),
                    bool(table.mendable[at]),
                    merged.tickets.get(at),
                )
    facts["conflicts"] = {
        (found.case, found.trial, found.judge, found.counted, found.other)
        for found in merged.conflicts
    }
    facts["lost"] = merged.outputs_lost
    facts["deadlines"] = {(found.judge, found.ticket): found.deadline for found in merged.deadlines}
    return facts


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
