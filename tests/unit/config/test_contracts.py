"""evaluator@1 in a config is refused by name (S1-14)."""

from __future__ import annotations

import pytest

from tests.unit.config.folder import Folder, config


@pytest.mark.parametrize("contract", ["evaluator@1", "evaluator@2"])
def test_load_suite__a_contract_is_no_key(folder: Folder, contract: str) -> None:
    judge = f"{{id: j, type: http, url: 'http://judge.test/', contract: {contract}}}"
    problems = folder.refused(config(judges=f"[{judge}]", gates="[{id: g, metric: j, min: 0}]"))
    assert len(problems) == 1
    assert "judges[0].contract: unknown key `contract`; leave it out: " in problems[0]
    assert "evaluator@1 is refused, and every http judge must speak evaluator@2" in problems[0]


def test_load_suite__a_contract_is_no_type(folder: Folder) -> None:
    judge = "{id: j, type: evaluator@1, url: 'http://judge.test/'}"
    problems = folder.refused(config(judges=f"[{judge}]", gates="[{id: g, metric: j, min: 0}]"))
    assert "'evaluator@1' is no type of judge: it is called 'http' here" in problems[0]
    assert "evaluator@1 is refused" in problems[0]
