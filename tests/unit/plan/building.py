"""Builders for plan tests: a small suite, cases, and a frozen plan of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from releasecheck.model.case import Case, Source
from releasecheck.model.plan import Root
from releasecheck.model.policy import Policy
from releasecheck.model.suite import Suite
from releasecheck.plan import Circumstances, Frozen, assign_shards, freeze, judge_identity, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CREATED = "2026-01-05T09:00:00.000Z"
DIGEST = "sha256:" + "a" * 64


def suite(**changes: Any) -> Suite:
    document: dict[str, Any] = {
        "version": 1,
        "suite": "s",
        "cases": [{"path": "c.jsonl"}],
        "target": {"type": "http", "url": "${URL}/x", "concurrency": 8, "rate_limit": "10/s"},
        "judges": [{"id": "j", "type": "exact"}],
        "gates": [{"id": "g", "metric": "j", "min": 0.5}],
    }
    return Suite.model_validate(document | changes)


def case(name: str, index: int = 0, **changes: Any) -> Case:
    fields: dict[str, Any] = {
        "id": name, "input": f"question {name}", "expected": name, "split": "main", "tags": (),
        "metadata": {}, "source": Source("c.jsonl", index + 1), "index": index,
    }  # fmt: skip
    return Case(**(fields | changes))


def cases(count: int) -> list[Case]:
    return [case(f"c{index:03}", index) for index in range(count)]


def circumstances(**changes: Any) -> Circumstances:
    fields: dict[str, Any] = {
        "unique": "u1", "created_at": CREATED, "tool": "releasecheck/0.1.0",
        "policy": Policy(file="r.yaml", digest=DIGEST), "root": Root(from_cwd=".", config="r.yaml"),
    }  # fmt: skip
    return Circumstances(**(fields | changes))


def frozen(
    held: Sequence[Case],
    shards: int = 2,
    *,
    of: Suite | None = None,
    times: Mapping[str, float] | None = None,
    **changes: Any,
) -> Frozen:
    """A full plan."""
    of = of or suite()
    chosen = select(held)
    return freeze(
        of,
        chosen,
        [judge_identity(judge) for judge in of.judges],
        assign_shards(chosen.cases, shards, times),
        circumstances(**changes),
        times,
    )
