"""Reading a plan back: nothing in it is believed before its digest was computed again."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec
from pydantic import ValidationError

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.errors import DigestMismatch, Untrusted, UsageError
from releasecheck.model.base import require_schema
from releasecheck.model.case import Case
from releasecheck.model.plan import Plan, plan_digest
from releasecheck.plan.freeze import PLAN_FILE, case_file, cases_digest
from releasecheck.plan.identity import CONTRACTS, judge_identity, target_identity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from releasecheck.canonical import Json

_RUN_ID: Final = re.compile(r"rc-[0-9a-f]{12}-[a-z0-9-]{1,40}")


def verify_plan(document: Json, files: Mapping[str, bytes]) -> Plan:
    """The plan in `document`, after all of it was checked.

    Args:
        document: `plan.json` as a JSON value.
        files: its case files by name.

    Raises:
        UsageError: another kind of document, or one of another major version.
        DigestMismatch: something was changed after it was written.
        Untrusted: it is no plan that we could have written.
    """
    plan = read_plan(document)
    rows: dict[int, tuple[str, str, str, tuple[str, ...]]] = {}
    ids: set[str] = set()
    splits: Counter[str] = Counter()
    for shard in plan.shards:
        if shard.file not in files:
            message = f"the plan's file {shard.file} is missing; get the whole plan folder again"
            raise Untrusted(message)
        lines = files[shard.file].splitlines(keepends=True)
        for case, identity in _checked_cases(plan, shard.index, lines):
            if case.index in rows or case.id in ids:
                message = f"{shard.file}: the case {case.id[:80]!r} is in the plan twice"
                raise Untrusted(message)
            rows[case.index] = (case.id, identity, case.split, case.tags)
            ids.add(case.id)
            splits[case.split] += 1
    if dict(splits) != plan.splits:
        message = f"the case files hold other splits than {PLAN_FILE} names"
        raise Untrusted(message)
    found = cases_digest([rows[index] for index in range(plan.cases)])
    _same(f"{PLAN_FILE}: cases_digest", found, plan.cases_digest)
    return plan


def read_plan(document: Json, name: str = PLAN_FILE) -> Plan:
    """`plan.json` alone, or that of a revision: schema, shape, and every digest that needs no case file.

    Raises:
        UsageError: another kind of document, one of another major version, or with a judge whose contract
            is not spoken here.
        DigestMismatch: something was changed after it was written.
        Untrusted: it is no plan that we could have written.
    """
    if not isinstance(document, dict):
        message = f"{name}: expected a JSON object"
        raise Untrusted(message)
    require_schema(document.get("schema"), "plan", path=name)
    try:
        plan = Plan.model_validate(document)
        found = plan_digest(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        message = f"{name}: {place}: {first['msg']}; it was not written by this program"
        raise Untrusted(message) from None
    except (KeyError, TypeError, JsonProblem) as error:
        message = f"{name}: it has no digest: {type(error).__name__}: {error}"
        raise Untrusted(message) from None
    _same(name, found, plan.plan_digest)
    _spoken(plan, name)
    _same(f"{name}: target", target_identity(plan.target), plan.target_digest)
    for judge in plan.judges:
        identity = judge_identity(judge.spec, judge.files)
        _same(f"{name}: judge {judge.id}", identity.digest, judge.digest)
    _sound(plan, name)
    return plan


def _spoken(plan: Plan, name: str) -> None:
    """Refuse judges under contracts that are not spoken here: leaving one out would lose its gates."""
    for judge in plan.judges:
        if judge.contract not in CONTRACTS:
            known = ", ".join(sorted(CONTRACTS))
            advice = (
                "Change the judge to evaluator@2 (docs/evaluator-protocol.md) and plan anew"
                if judge.contract.startswith("evaluator@")
                else "Plan anew with this version"
            )
            message = (
                f"{name}: judge {judge.id} was planned under the contract {judge.contract[:60]!r}, "
                f"which is refused; this version speaks {known}. {advice}"
            )
            raise UsageError(message)


def _sound(plan: Plan, name: str) -> None:
    """What no digest covers and later steps rely on."""
    message = None
    if not _RUN_ID.fullmatch(plan.run_id):
        message = f"{plan.run_id[:80]!r} is no run id"
    elif min(plan.cases, plan.trials, plan.batch, len(plan.judges), len(plan.gates)) < 1:
        message = "it plans nothing: cases, trials, batch, judges and gates are at least 1"
    elif [shard.index for shard in plan.shards] != list(range(len(plan.shards))):
        message = "its shards are not numbered from 0"
    elif any(shard.file != case_file(shard.index) for shard in plan.shards):
        message = "a shard names another file than its own"
    elif sum(shard.cases for shard in plan.shards) != plan.cases:
        message = "its shards do not add up to its cases"
    if message:
        message = f"{name}: {message}; it was not written by this program"
        raise Untrusted(message)


def iterate_cases(plan: Plan, shard: int, lines: Iterable[bytes]) -> Iterator[Case]:
    """The cases of one shard from the lines of its file, each checked as it passes.

    The digest of the whole file is known after the last line only: who needs it all checked before
    the first use takes `tuple(...)` of this.

    Raises:
        DigestMismatch: a case or the file was changed after it was written.
        Untrusted: a line is no case, or is out of order.
    """
    return (case for case, _ in _checked_cases(plan, shard, lines))


def _checked_cases(plan: Plan, shard: int, lines: Iterable[bytes]) -> Iterator[tuple[Case, str]]:
    """Cases with their digests."""
    planned = plan.shards[shard]
    state, last, count = sha256(), -1, 0
    for count, line in enumerate(lines, start=1):
        state.update(line)
        case, identity = _case(line, f"{planned.file}:{count}")
        if not last < case.index < plan.cases:
            message = f"{planned.file}:{count}: the case {case.id[:80]!r} is out of plan order"
            raise Untrusted(message)
        last = case.index
        yield case, identity
    _same(planned.file, "sha256:" + state.hexdigest(), planned.digest)
    if count != planned.cases:
        message = f"{planned.file}: expected {planned.cases} cases, found {count}"
        raise Untrusted(message)


def _case(line: bytes, place: str) -> tuple[Case, str]:
    try:
        row = parse_json(line)
        case = Case.from_json(row)
        recorded = row["digest"]
        found = case.digest
    except JsonProblem as problem:
        message = f"{place}: not a case of a plan: {problem}; get the whole plan folder again"
        raise Untrusted(message) from None
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        message = f"{place}: not a case of a plan: {type(error).__name__}: {error}"
        raise Untrusted(message) from None
    _same(f"{place}: case {case.id[:80]!r}", found, recorded)
    return case, found


def _same(what: str, found: str, recorded: object) -> None:
    if found != recorded:
        raise DigestMismatch(what, found=found, expected=str(recorded)[:80])
