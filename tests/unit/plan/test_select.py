"""Which cases a plan holds (contract 2: full, preview, delta)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.errors import UsageError
from releasecheck.model.case import Case
from releasecheck.plan import Changed, select
from tests.strategies import case_lists
from tests.unit.plan.building import case, cases


def test_select__full_is_everything() -> None:
    found = select(cases(3))

    assert [c.id for c in found.cases] == ["c000", "c001", "c002"]
    assert (found.mode, found.selection.asked, found.selection.of) == ("full", "all", 3)


def test_select__the_sample_is_the_same_everywhere() -> None:
    """Pinned: no library's generator and no hash seed may change it."""
    found = select(cases(100), mode="preview", preview=5, seed=7)

    assert [c.id for c in found.cases] == ["c003", "c009", "c024", "c052", "c090"]
    assert [c.index for c in found.cases] == [0, 1, 2, 3, 4]
    assert (found.mode, found.selection.asked, found.selection.of) == ("preview", "preview 5", 100)


def test_select__another_seed_is_another_sample() -> None:
    samples = {
        tuple(c.id for c in select(cases(100), mode="preview", seed=seed).cases)
        for seed in range(20)
    }

    assert len(samples) == 20
    assert all(len(sample) == 10 for sample in samples)


@given(case_lists(), st.integers(1, 40), st.integers())
def test_select__a_sample_keeps_the_order_of_the_dataset(
    held: list[Case], preview: int, seed: int
) -> None:
    found = select(held, mode="preview", preview=preview, seed=seed)

    order = [c.id for c in held]
    places = [order.index(c.id) for c in found.cases]
    assert places == sorted(set(places))
    assert len(places) == min(preview, len(held))


@given(case_lists(least=2), st.integers(1, 5))
def test_select__a_sample_depends_on_ids_not_on_places(held: list[Case], preview: int) -> None:
    """B100: the same cases are sampled from another order of the same dataset."""
    turned = [case(c.id, index) for index, c in enumerate(reversed(held))]

    one = select(held, mode="preview", preview=preview, seed=1)
    two = select(turned, mode="preview", preview=preview, seed=1)

    assert {c.id for c in one.cases} == {c.id for c in two.cases}


def test_select__ids_in_dataset_order_once_each() -> None:
    found = select(cases(5), ids=["c003", " c001 ", "c003", ""])

    assert [(c.id, c.index) for c in found.cases] == [("c001", 0), ("c003", 1)]
    assert (found.mode, found.selection.asked) == ("delta", "ids")
    assert found.selection.ids == ("c001", "c003")


def test_select__ids_match_however_an_accent_is_composed() -> None:
    assert len(select([case("caf\u00e9")], ids=["cafe\u0301"]).cases) == 1


def test_select__unknown_ids_name_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        select(cases(5), ids=["c0003", "c001", "zzz"])

    assert str(caught.value) == (
        "the suite has no case 'c0003' (did you mean 'c003'?), 'zzz'; it has 5, beginning with 'c000', "
        "'c001', 'c002'"
    )


def test_select__changed_cases() -> None:
    found = select(cases(5), changed=Changed("main", {"c004", "c002", "gone"}))

    assert [c.id for c in found.cases] == ["c002", "c004"]
    assert (found.mode, found.selection.asked, found.selection.note) == (
        "delta",
        "changed since main",
        None,
    )


def test_select__nothing_changed_runs_the_preview_and_says_so() -> None:
    """Contract section 6."""
    found = select(cases(50), changed=Changed("v1.0", set()), preview=4, seed=3)

    assert found.cases == select(cases(50), mode="preview", preview=4, seed=3).cases
    assert (found.mode, found.selection.asked) == ("preview", "changed since v1.0")
    assert found.selection.note == "no case changed since v1.0; a preview of 4 runs instead"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preview": 0, "mode": "preview"}, "a preview needs at least 1 case, found 0"),
        ({"preview": -1}, "a preview needs at least 1 case, found -1"),
        ({"ids": []}, "no case is named; give at least one id"),
        ({"ids": [" "]}, "no case is named; give at least one id"),
        ({"mode": "delta"}, "a delta plan needs to know which cases: give ids, or a ref to compare with"),
        ({"mode": "full", "ids": ["c000"]}, "ids choose cases for a delta plan, but the mode is 'full'; "
         "leave out one"),
        ({"mode": "preview", "changed": Changed("main", set())}, "a ref to compare with choose cases"),
        ({"ids": ["c000"], "changed": Changed("main", set())}, "choose cases by id or by what changed, "
         "not by both"),
    ],
)  # fmt: skip
def test_select__what_cannot_be_asked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        select(cases(3), **options)

    assert str(caught.value).startswith(message)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("mode", ["full", "preview"])
def test_select__no_cases_is_never_a_plan(mode: Any) -> None:
    """G-07, B11."""
    with pytest.raises(UsageError, match="no cases"):
        select([], mode=mode)
