"""Names of artifacts (contract section 7, P-03, P-04, P-06, C-09)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.drivers.github.names import (
    MOST,
    ArtifactName,
    BaselineName,
    PageName,
    PlanName,
    PublishedName,
    ScorecardName,
    ShardName,
    build,
    parse,
)

SUITES = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True) | st.sampled_from(
    [
        "a-noplan",
        "plan",
        "shard-0-a1",
        "x-0123456789ab-3",
        "s-a1-u2",
        "noplan-noplan",
        "-".join("abc"),
    ]
)
PLANS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True) | st.just("noplan")
NUMBERS = st.integers(1, MOST)
PARTS = st.tuples(SUITES, PLANS, NUMBERS, st.integers(1, 9))
PLAIN = st.sampled_from([PlanName, ScorecardName, PageName, BaselineName, PublishedName])
NAMES: st.SearchStrategy[ArtifactName] = st.builds(
    lambda kind, parts: kind(*parts), PLAIN, PARTS
) | st.builds(lambda parts, index: ShardName(*parts, index=index), PARTS, st.integers(0, MOST))


@given(NAMES)
def test_parse__what_was_built(name: ArtifactName) -> None:
    assert parse(build(name)) == name


@given(NAMES, NAMES)
def test_build__two_names_are_two_texts(one: ArtifactName, other: ArtifactName) -> None:
    assert (build(one) == build(other)) == (one == other)


def test_build__the_contract() -> None:
    plan = "0123456789ab"
    assert build(PlanName("my-suite", plan, 2)) == f"releasecheck-plan-my-suite-{plan}-a2"
    assert build(ShardName("s", plan, 1, index=7)) == f"releasecheck-shard-s-{plan}-7-a1"
    assert build(ScorecardName("s", "noplan", 1)) == "releasecheck-scorecard-s-noplan-a1"
    assert build(PageName("s", plan, 1)) == f"releasecheck-scorecard-s-{plan}-a1.html"
    assert build(BaselineName("s", plan, 1)) == f"releasecheck-baseline-s-{plan}-a1"
    assert build(PublishedName("s", plan, 1)) == f"releasecheck-published-s-{plan}-a1"


def test_build__a_second_upload_has_a_name_of_its_own() -> None:
    """P-06, C-09: a name is taken even by an upload that failed."""
    assert build(ShardName("s", "noplan", 3, 2, index=0)) == "releasecheck-shard-s-noplan-0-a3-u2"
    assert build(PageName("s", "noplan", 3, 2)) == "releasecheck-scorecard-s-noplan-a3-u2.html"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "releasecheck-plan-s-0123456789ab",
        "releasecheck-plan-s-0123456789ab-a0",
        "releasecheck-plan-s-0123456789ab-a01",
        "releasecheck-plan-s-0123456789ab-a1-u1",
        "releasecheck-plan-s-0123456789ab-a1-u0",
        "releasecheck-plan-s-0123456789ab-a1\n",
        "releasecheck-plan-s-0123456789AB-a1",
        "releasecheck-plan-s-0123456789a-a1",
        "releasecheck-plan-S-0123456789ab-a1",
        "releasecheck-plan-s-0123456789ab-3-a1",
        "releasecheck-plan-s-0123456789ab-a1.html",
        "releasecheck-shard-s-0123456789ab-a1",
        "releasecheck-shard-s-0123456789ab-01-a1",
        "releasecheck-shard-s-0123456789ab--1-a1",
        "releasecheck-other-s-0123456789ab-a1",
        "releasecheck-scorecard-s-0123456789ab-a1.HTML",
        "xreleasecheck-plan-s-0123456789ab-a1",
        "releasecheck-plan--0123456789ab-a1",
        "releasecheck-plan-" + "s" * 64 + "-0123456789ab-a1",
        "releasecheck-plan-s-0123456789ab-a\u0661",
    ],
)
def test_parse__what_is_not_ours(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("suite", "plan", "attempt", "upload"),
    [("S", "noplan", 1, 1), ("s", "short", 1, 1), ("s", "noplan", 0, 1), ("s", "noplan", 1, 0)],
)
def test_names__what_none_can_hold(suite: str, plan: str, attempt: int, upload: int) -> None:
    with pytest.raises(ValueError, match=r"suite|attempt"):
        PlanName(suite, plan, attempt, upload)


def test_names__no_shard_before_the_first() -> None:
    with pytest.raises(ValueError, match="shard -1"):
        ShardName("s", "noplan", 1, index=-1)
