"""What a job looks for, what was refused, and how a gate says that nothing was found (G-21, trap 24)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from releasecheck.drivers.github.ancestry import commit_seen
from releasecheck.drivers.github.errors import BadAnswer
from releasecheck.drivers.github.found import Chosen, FromRepository, NoneFound
from releasecheck.drivers.github.refusals import MOST_KEPT, RefusalLog
from releasecheck.drivers.github.wanted import Committed, Wanted, wanted_in
from releasecheck.gates import decide
from releasecheck.model.gate import GateSpec, NoRegression
from releasecheck.model.suite import BaselineRule
from tests.unit.github.test_context import AFTER, BASE, HEAD, PULL, REPOSITORY, SHA, read
from tests.unit.tables import plan_for, score_table

GROUP = {
    "repository": REPOSITORY,
    "merge_group": {
        "base_sha": BASE,
        "base_ref": "refs/heads/release/1",
        "head_sha": HEAD,
        "head_ref": "refs/heads/gh-readonly-queue/release/1/pr-1-x",
    },
}
TAGGED = {
    "repository": REPOSITORY,
    "action": "published",
    "release": {"id": 5, "tag_name": "v1", "draft": False, "prerelease": False},
}
WORKFLOW = ".github/workflows/check.yml"


@pytest.mark.parametrize(
    ("event", "name", "base", "branch", "workflow"),
    [
        (PULL, "pull_request", BASE, "main", WORKFLOW),
        (GROUP, "merge_group", BASE, "release/1", WORKFLOW),
        ({"repository": REPOSITORY}, "push", SHA, "main", WORKFLOW),
        ({"repository": REPOSITORY}, "workflow_dispatch", SHA, "main", WORKFLOW),
        ({}, "schedule", SHA, "main", WORKFLOW),
        (TAGGED, "release", SHA, "main", WORKFLOW),
        (AFTER, "workflow_run", SHA, "main", None),
        (PULL, "pull_request_target", BASE, "main", None),
    ],
)
def test_wanted_in__event(
    tmp_path: Path, event: dict[str, Any], name: str, base: str, branch: str, workflow: str | None
) -> None:
    """G-21: a change is compared with its base commit, everything else with its own past."""
    committed = Committed(tmp_path, "suite/baseline")
    context = read(tmp_path, event, name)
    assert wanted_in(context, "s", committed) == Wanted(
        repository="octo/app",
        suite="s",
        base=base,
        branch=branch,
        workflow=workflow,
        own_run=1001,
        committed=committed,
    )


def test_wanted_in__named(tmp_path: Path) -> None:
    """The inputs of the action come first; empty ones are none."""
    context = read(tmp_path, PULL, "pull_request")
    named = wanted_in(context, "s", branch="next", workflow=".github/workflows/nightly.yml")
    assert (named.branch, named.workflow) == ("next", ".github/workflows/nightly.yml")
    unnamed = wanted_in(context, "s", branch="", workflow="")
    assert (unnamed.branch, unnamed.workflow) == ("main", WORKFLOW)


def test_refusals__bounded_and_counted() -> None:
    log = RefusalLog()
    for number in range(MOST_KEPT + 7):
        log.add(f"run {number}", "expired", "gone\n::error::x" + "y" * 5000, run_id=number)
    log.add("run x", "fork", "elsewhere")
    refused = log.done()
    assert (len(refused.kept), refused.total) == (MOST_KEPT, MOST_KEPT + 8)
    assert refused.summary == f"{MOST_KEPT + 7} expired, 1 from a fork"
    assert len(refused.lines()) == MOST_KEPT + 1
    assert all("\n" not in line and len(line) < 500 for line in refused.lines())
    assert refused.kept[0].to_json()["run_id"] == 0


def test_context__holds_no_empty_fact() -> None:
    source = FromRepository(path="baseline", accepted_in=None)
    chosen = Chosen(
        folder=Path("x"),
        source=source,
        run_id="rc",
        commit=None,
        why="w",
        refused=RefusalLog().done(),
    )
    assert chosen.context() == {"baseline_source": "repository", "baseline_path": "baseline"}


@pytest.mark.parametrize(
    "item", [None, {}, {"sha": "main", "commit": {"committer": {"date": "x"}}}]
)
def test_commit_seen__is_no_commit(item: object) -> None:
    with pytest.raises(BadAnswer):
        commit_seen("/commits/x", item)


@pytest.mark.parametrize(
    ("on_missing", "outcome"), [("bootstrap", "bootstrap"), ("refuse", "not_comparable")]
)
def test_gate__says_what_the_search_found(on_missing: Any, outcome: str) -> None:
    """Traps 24 and 26: expired or renamed never reads as never there, least of all where it is green."""
    found = NoneFound(
        why="there were baselines of this suite, but all 2 have expired",
        refused=RefusalLog().done(),
    )
    gate = GateSpec(id="no-worse", metric="exact", no_regression=NoRegression(max_drop=0.1))
    table = score_table({"exact": [1, 1]})
    plan = plan_for(table, gate, baseline_rule=BaselineRule(on_missing=on_missing))
    plan = plan.model_copy(update={"context": {**plan.context, **found.context()}})
    (result,) = decide(table, plan, None)
    assert result.outcome == outcome
    assert "all 2 have expired" in result.reason
