"""Judges and gates against the cases: what reaches nothing is an error (G-07, B22, B25)."""

from __future__ import annotations

import pytest

from tests.unit.config.folder import Folder, config, lines

ROWS = lines(
    {"id": "c1", "input": "a", "expected": "a", "tags": ["smoke"], "split": "main"},
    {"id": "c2", "input": "b", "tags": ["math"], "split": "hard"},
    {"id": "c3", "input": "c", "expected": "c"},
)
WITH = "[{id: j, type: exact, when: {has: expected}}, {id: k, type: contains, value: x}]"


@pytest.mark.parametrize(
    ("judges", "gate", "expected"),
    [
        (WITH, "metric: j, min: 0.5, split: mian",
         "r.yaml:6:45: gates[0].split: no case has the split 'mian'; did you mean 'main'?"),
        (WITH, "metric: j, min: 0.5, split: other",
         "r.yaml:6:45: gates[0].split: no case has the split 'other'; there are 'hard', 'main'"),
        (WITH, "metric: j, min: 0.5, cases: {tags: [smoek]}",
         "r.yaml:6:46: gates[0].cases.tags: no case has the tag 'smoek'; did you mean 'smoke'?"),
        (WITH, "metric: j, min: 0.5, cases: {ids: [c1, c22]}",
         "r.yaml:6:46: gates[0].cases.ids: there is no case 'c22'; did you mean 'c2'?"),
        (WITH, "metric: j, min: 0.5, split: hard, cases: {tags: [smoke]}",
         "r.yaml:6:9: gates[0]: no case is both in its split and in its `cases`; it would gate nothing"),
        (WITH, "metric: j, min: 0.5, split: hard",
         "r.yaml:6:9: gates[0]: the judge 'j' applies to none of its 1 cases, because of its `when`; "
         "the gate would compare nothing"),
        ("[{id: j, type: contains, value: x, when: {tags: [mth]}}, {id: k, type: contains, value: x}]",
         "metric: k, min: 0.5",
         "r.yaml:5:51: judges[0].when.tags: no case has the tag 'mth'; did you mean 'math'?"),
        ("[{id: j, type: contains, value: x, when: {split: hrd}}, {id: k, type: contains, value: x}]",
         "metric: k, min: 0.5",
         "r.yaml:5:58: judges[0].when.split: no case has the split 'hrd'; did you mean 'hard'?"),
        ("[{id: j, type: contains, value: x, when: {split: hard, tags: [smoke]}}, {id: k, type: "
         "contains, value: x}]", "metric: k, min: 0.5",
         "r.yaml:5:44: judges[0].when: no case fits, so that 'j' judges nothing"),
        ("[{id: j, type: exact, when: {has: expected}}]", "metric: j, min: 0.5",
         "r.yaml:5:1: judges: no judge applies to 1 of 3 cases (FOLDER/c.jsonl:2), because of `when`"),
        ("[{id: j, type: exact}]", "metric: j, min: 0.5",
         "r.yaml:5:10: judges[0]: the exact judge 'j' compares with `expected`, and 1 of 3 cases has "
         "none (FOLDER/c.jsonl:2); add it there, or restrict the judge with `when: {has: expected}`"),
        ("[{id: j, type: contains}]", "metric: j, min: 0.5",
         "r.yaml:5:10: judges[0]: the contains judge 'j' compares with `expected`, and 1 of 3 cases "
         "has none (FOLDER/c.jsonl:2); add it there, or restrict the judge with `when: {has: expected}`"),
    ],
)  # fmt: skip
def test_check_coverage__what_reaches_nothing(
    folder: Folder, judges: str, gate: str, expected: str
) -> None:
    text = config(judges=judges, gates=f"[{{id: g, {gate}}}]")

    assert folder.refused(text, ROWS) == [expected.replace("FOLDER/", "")]


@pytest.mark.parametrize(
    ("kind", "expected", "wanted"),
    [
        ("numeric", "many", "a number"),
        ("numeric", True, "a number"),
        ("numeric", [1], "a number"),
        ("recall", "doc-1", "a list of ids, or ids with grades,"),
        ("ndcg", {"doc-1": "high"}, "a list of ids, or ids with grades,"),
        ("mrr", [["doc-1"]], "a list of ids, or ids with grades,"),
        ("similarity", {"a": 1}, "a text"),
        ("contains", "", "a text that is not empty, or a list of them,"),
        ("contains", [], "a text that is not empty, or a list of them,"),
    ],
)
def test_check_coverage__expected_of_another_kind(
    folder: Folder, kind: str, expected: object, wanted: str
) -> None:
    rows = lines({"id": "c1", "input": "a", "expected": expected})

    assert folder.refused(config(judges=f"[{{id: j, type: {kind}}}]"), rows) == [
        f"r.yaml:5:10: judges[0]: the {kind} judge 'j' needs {wanted} as `expected`, and 1 of 1 case "
        "has something else (c.jsonl:1)"
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("exact", 0), ("exact", False), ("exact", ""), ("exact", []), ("numeric", 0), ("numeric", "5.5"),
        ("recall", ["a", 7]), ("ndcg", {"a": 3, "b": 0}), ("precision", []), ("contains", ["a", "b"]),
        ("contains", 0), ("similarity", ""),
    ],
)  # fmt: skip
def test_check_coverage__false_zero_and_empty_are_expected_values(
    folder: Folder, kind: str, expected: object
) -> None:
    """B26."""
    rows = lines({"id": "c1", "input": "a", "expected": expected})

    (case,) = folder.cases(config(judges=f"[{{id: j, type: {kind}}}]"), rows)

    assert case.expected == expected
    assert type(case.expected) is type(expected)


@pytest.mark.parametrize("expected", [0, False, "", [], {}])
def test_check_coverage__has_expected_holds_for_every_value_but_null(
    folder: Folder, expected: object
) -> None:
    """B26."""
    text = config(judges="[{id: j, type: exact, when: {has: expected}}]")

    assert folder.cases(text, lines({"id": "c1", "input": "a", "expected": expected}))
    assert folder.refused(text, lines({"id": "c1", "input": "a", "expected": None}))


def test_check_coverage__gates_and_judges_that_reach(folder: Folder) -> None:
    gates = (
        "[{id: a, metric: j, split: main, min: 0.5}, {id: b, metric: k, split: hard, min: 0.5},"
        " {id: c, metric: j, cases: {tags: [smoke]}, require: all},"
        " {id: d, metric: latency_ms, split: hard, cases: {ids: [c2]}, max: 5}]"
    )

    assert len(folder.cases(config(judges=WITH, gates=gates), ROWS)) == 3


def test_check_coverage__a_part_of_expected(folder: Folder) -> None:
    """A judge with `expected: PATH` reaches the cases that name the part, and says which do not."""
    rows = lines(
        {"id": "c1", "input": "a", "expected": {"right": "a"}},
        {"id": "c2", "input": "b", "expected": {"source": "s"}},
    )
    right = "{id: j, type: exact, expected: right"
    source = "{id: k, type: contains, expected: source, when: {has: expected}}"
    gate = "[{id: g, metric: j, min: 0.5}]"
    assert folder.refused(config(judges=f"[{right}}}, {source}]", gates=gate), rows) == [
        "r.yaml:5:10: judges[0]: the exact judge 'j' compares with `right` of `expected`, and 1 of 2 cases has "
        "none (c.jsonl:2); add it there, or restrict the judge with `when: {has: expected}`"
    ]
    wrong = config(judges="[{id: j, type: exact, expected: 'a['}]", gates=gate)
    assert "not a JMESPath" in folder.refused(wrong, rows)[0]
