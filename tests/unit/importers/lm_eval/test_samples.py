"""Samples of lm-evaluation-harness as suites (issue 6, item 6)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.importers.lm_eval import Options, import_samples, task_and_date
from tests.unit.importers.suites import refusal, rows, written

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.importers.imported import Imported

NAME = "samples_gsm8k_2026-01-16T16-02-26.648276.jsonl"


def row(number: int = 0, filter_: str = "none", **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "doc_id": number,
        "doc": {"question": f"{number}+1?", "answer": str(number + 1)},
        "target": str(number + 1),
        "arguments": {"gen_args_0": {"arg_0": f"Q: {number}+1?", "arg_1": {"until": ["\n"]}}},
        "resps": [[f" {number + 1}"]],
        "filtered_resps": [str(number + 1)],
        "filter": filter_,
        "metrics": ["exact_match"],
        "doc_hash": "x",
        "exact_match": 1.0,
    }
    return {key: value for key, value in {**made, **changes}.items() if value != "absent"}


def imported(
    folder: Path, *found: Any, name: str = NAME, results: Any = None, **options: Any
) -> Imported:
    path = folder / name
    path.write_text("".join(json.dumps(one) + "\r\n" for one in found), encoding="utf-8")
    if results is not None:
        beside = folder / "results_2026-01-16T16-02-26.648276.json"
        beside.write_text(json.dumps(results), encoding="utf-8")
    return import_samples(path, None, None, Options(**options))


def test_import_samples__replays_filtered_responses(tmp_path: Path) -> None:
    made = imported(tmp_path, row(0), row(1, exact_match=0, filtered_resps=["[invalid]"]))
    suite = written(made, tmp_path)
    assert suite["suite"] == "gsm8k"
    assert rows(made, "cases.jsonl")[1] == {"id": "1", "input": "Q: 1+1?", "expected": "2"}
    assert [one["output"] for one in rows(made, "outputs.jsonl")] == ["1", "[invalid]"]
    assert [one["value"] for one in rows(made, "scores.jsonl")] == [1.0, 0]
    assert suite["judges"] == [
        {
            "id": "exact-match",
            "type": "precomputed",
            "path": "scores.jsonl",
            "pass_at": 1,
            "scale": [0, 1],
        }
    ]


def test_import_samples__keeps_choices_with_their_likelihoods(tmp_path: Path) -> None:
    # Likelihoods may be infinite; no metric column is named in older logs.
    old = row(
        arguments=[["Sky is", " blue"], ["Sky is", " green"]], filtered_resps=[[-1.5, True], [-math.inf, False]],
        metrics="absent", exact_match="absent", acc=1, acc_norm=math.nan, target=0, filter="absent",
    )  # fmt: skip
    made = imported(tmp_path, old, name="arc.jsonl")
    suite = written(made, tmp_path)
    assert suite["suite"] == "arc"
    assert rows(made, "cases.jsonl")[0]["input"] == [["Sky is", " blue"], ["Sky is", " green"]]
    assert rows(made, "cases.jsonl")[0]["expected"] == 0
    assert rows(made, "outputs.jsonl")[0]["output"] == [[-1.5, True], ["-Infinity", False]]
    assert {one["judge"]: one["value"] for one in rows(made, "scores.jsonl")} == {
        "acc": 1,
        "acc-norm": None,
    }


def test_import_samples__chooses_one_filter(tmp_path: Path) -> None:
    both = [row(0, "strict"), row(0, "flexible", exact_match=0.0)]
    text = refusal(lambda: imported(tmp_path, *both))
    assert "'strict', 'flexible'; choose one with --filter" in text
    made = imported(tmp_path, *both, filter="flexible")
    assert [one["value"] for one in rows(made, "scores.jsonl")] == [0.0]
    assert "no row was scored by the filter 'lax'" in refusal(
        lambda: imported(tmp_path, *both, filter="lax")
    )


def test_import_samples__reads_which_way_is_better(tmp_path: Path) -> None:
    metrics: dict[str, Any] = {
        "metrics": ["word_perplexity", "odd", "exact_match"],
        "word_perplexity": 12.5,
        "odd": 3,
    }
    text = refusal(lambda: imported(tmp_path, row(**metrics)))
    assert "odd: which way this metric is better is not known" in text
    assert "word_perplexity:" not in text
    told: list[tuple[Any, dict[str, Any]]] = [
        ({"higher_is_better": {"gsm8k": {"odd": False}}}, {}),
        (None, {"lower": ("odd",)}),
        ({"higher_is_better": {"gsm8k": {"odd": True}}}, {"lower": ("odd",)}),
    ]
    for results, options in told:
        suite = written(imported(tmp_path, row(**metrics), results=results, **options), tmp_path)
        better = {judge["id"]: judge.get("better", "higher") for judge in suite["judges"]}
        assert better == {"exact-match": "higher", "odd": "lower", "word-perplexity": "lower"}


def test_import_samples__refuses_metrics_that_no_document_has_alone(tmp_path: Path) -> None:
    corpus = row(metrics=["exact_match", "bleu"], bleu=["1", "1"])
    text = refusal(lambda: imported(tmp_path, corpus))
    assert f"{NAME}:1: bleu: expected a number, found a list" in text
    suite = written(imported(tmp_path, corpus, leave_out=("bleu",)), tmp_path)
    assert [judge["id"] for judge in suite["judges"]] == ["exact-match"]
    assert "--leave-out blue: there is no such score" in refusal(
        lambda: imported(tmp_path, corpus, leave_out=("blue", "bleu"))
    )


def test_import_samples__fails_where_nothing_was_answered_and_says_what_input_it_took(
    tmp_path: Path,
) -> None:
    made = imported(
        tmp_path,
        row(0, filtered_resps=[]),
        row(1, arguments="absent"),
        row(2, filtered_resps=[None]),
    )
    written(made, tmp_path)
    assert ["failure" in one for one in rows(made, "outputs.jsonl")] == [True, False, True]
    assert rows(made, "cases.jsonl")[1]["input"] == {"question": "1+1?", "answer": "2"}
    assert any("may hold the right answer" in note for note in made.notes)


@pytest.mark.parametrize(
    ("bad", "words"),
    [(row(0), "doc_id 0 stands in line 1 too"), (row(doc_id="absent"), "doc_id, found nothing"),
     (row(1, metrics=["f1"]), "'f1' has no value"), ([], "expected a sample, an object, found a list"),
     (row(1, arguments=[], doc="absent"), "input is null")],
)  # fmt: skip
def test_import_samples__refuses_rows_by_line(bad: Any, words: str, tmp_path: Path) -> None:
    text = refusal(lambda: imported(tmp_path, row(0), bad))
    assert words in text
    assert f"{NAME}:2" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "no samples"), ("\ufeff\n\n", "no samples"), ("[" * 100_000, "nested deeper than 200"),
     ('{"doc_id": 1' + "0" * 5000 + "}", "found a number"), ('{"doc_id": 1', "s.jsonl:1:13: not JSON"),
     ('{"doc_id": 1, "filtered_resps": ["a"], "doc": "q", "metrics": []}', "no row has a metric")],
)  # fmt: skip
def test_import_samples__survives_hostile_files(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(lambda: import_samples(path, None, None, Options()))


@pytest.mark.parametrize(
    ("name", "task", "date"),
    [
        (NAME, "gsm8k", "2026-01-16T16-02-26.648276"),
        ("samples_a_b_c.jsonl", "a_b_c", None),
        ("x.jsonl", "x", None),
    ],
)
def test_task_and_date__from_the_name(
    name: str, task: str, date: str | None, tmp_path: Path
) -> None:
    assert task_and_date(tmp_path / name) == (task, date)
