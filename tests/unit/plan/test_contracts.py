"""A judge under a contract that is not spoken here is refused by name, not left out (S1-14, S1-15, G-37)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from releasecheck.canonical import dump_document, parse_json
from releasecheck.errors import UsageError
from releasecheck.model.plan import plan_digest
from releasecheck.pipeline.folders import open_plan
from releasecheck.plan import PLAN_FILE, read_plan
from tests.unit.plan.building import cases, frozen, suite


def planned(contract: str) -> dict[str, Any]:
    """A plan whose digest fits, as a version that spoke this contract would have written it."""
    of = suite(
        judges=[{"id": "j", "type": "http", "url": "http://judge.test/"}],
        gates=[{"id": "g", "metric": "j", "min": 0.5}],
    )
    document: dict[str, Any] = parse_json(frozen(cases(1), 1, of=of).files[PLAN_FILE])
    document["judges"][0]["contract"] = contract
    return document | {"plan_digest": plan_digest(document)}


def test_read_plan__evaluator_2_is_spoken() -> None:
    assert read_plan(planned("evaluator@2")).judges[0].contract == "evaluator@2"


@pytest.mark.parametrize("contract", ["evaluator@1", "evaluator@3"])
def test_read_plan__another_evaluator__is_refused(contract: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_plan(planned(contract))
    assert f"judge j was planned under the contract '{contract}'" in str(refused.value)
    assert "Change the judge to evaluator@2" in str(refused.value)


def test_read_plan__a_later_version_of_ours__is_refused() -> None:
    with pytest.raises(UsageError, match=r"'llm@9'.* Plan anew with this version"):
        read_plan(planned("llm@9"))


def test_open_plan__evaluator_1__exits_3(tmp_path: Path) -> None:
    """S1-15: where it is opened, whoever opens it."""
    for name, data in frozen(cases(1), 1).files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / PLAN_FILE).write_bytes(dump_document(planned("evaluator@1")))
    with pytest.raises(UsageError, match="evaluator@1") as refused:
        open_plan(tmp_path)
    assert refused.value.exit_code == 3
