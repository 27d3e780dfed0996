"""A plan is what its artifact's name says (P-11, trap 6)."""

from __future__ import annotations

import pytest

from releasecheck.drivers.github.fetching import check_plan_is, is_bundle_file
from releasecheck.drivers.github.names import PlanName
from releasecheck.errors import Untrusted

NAME = PlanName("docs", "0" * 12, 1)


def check(workflow_run: int | None, **other: str) -> None:
    given = {
        "suite": "docs", "plan_digest": "sha256:" + "0" * 64, "run_id": f"rc-{'0' * 12}-7", **other,
    }  # fmt: skip
    check_plan_is(NAME, workflow_run=workflow_run, **given)


def test_check_plan_is__its_own() -> None:
    check(7)


def test_check_plan_is__an_adopted_one_has_the_run_id_of_another_run() -> None:
    check(None, run_id=f"rc-{'f' * 12}-99")


@pytest.mark.parametrize("workflow_run", [7, None])
@pytest.mark.parametrize(
    "other", [{"suite": "others"}, {"plan_digest": "sha256:" + "f" * 64}], ids=["suite", "digest"]
)
def test_check_plan_is__exchanged(workflow_run: int | None, other: dict[str, str]) -> None:
    """Adopted or not: a plan cannot say of itself that its name is not to be looked at."""
    with pytest.raises(Untrusted, match="it was exchanged"):
        check(workflow_run, **other)


def test_check_plan_is__of_another_run() -> None:
    with pytest.raises(Untrusted, match="this is workflow run 8"):
        check(8)


@pytest.mark.parametrize("side", ["baseline", "anchor"])
def test_is_bundle_file__what_a_plan_compares_with(side: str) -> None:
    """Shards judge the outputs of both, and `verify` needs them."""
    for name in ("scorecard.json", "manifest.json", "results.jsonl"):
        assert is_bundle_file(f"plan/{side}/{name}")
    assert not is_bundle_file(f"plan/{side}/app.py")
    assert not is_bundle_file(f"{side}/results.jsonl")
