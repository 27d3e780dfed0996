"""Logs of Inspect as suites (issue 6, item 6): what was recorded, and nothing else."""

from __future__ import annotations

import json
import math
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import digest
from releasecheck.importers.inspect_files import read_log_file
from releasecheck.importers.inspect_log import import_log
from tests.unit.importers.inspect.logs import REAL_EVAL, REAL_JSON, eval_log, json_log, log, sample
from tests.unit.importers.suites import refusal, rows, written

if TYPE_CHECKING:
    from pathlib import Path


def test_import_log__takes_a_real_one_in_both_formats_alike(tmp_path: Path) -> None:
    from_zip, from_json = import_log(REAL_EVAL, None), import_log(REAL_JSON, None)
    suite = written(from_zip, tmp_path)
    assert suite["suite"] == "capitals"
    assert suite["trials"] == 2
    assert rows(from_zip, "cases.jsonl") == rows(from_json, "cases.jsonl") == [
        {"id": "fr", "input": "What is the capital of France?", "expected": "Paris", "metadata": {"region": "eu"}},
        {"id": "2", "input": "What is the capital of Japan?", "expected": ["Tokyo", "Tōkyō"]},
    ]  # fmt: skip
    assert [judge["id"] for judge in suite["judges"]] == [
        "includes",
        "manners-length",
        "manners-tone",
        "match",
    ]
    assert [judge.get("pass_at") for judge in suite["judges"]] == [1, None, None, 1]
    outputs = {(row["id"], row["trial"]): row["output"] for row in rows(from_zip, "outputs.jsonl")}
    assert outputs == {
        ("fr", 0): "It is Paris.",
        ("2", 0): "Kyoto",
        ("fr", 1): "I think it is Paris",
        ("2", 1): "Tokyo, of course",
    }
    scores = {
        (row["id"], row["trial"], row["judge"]): row["value"]
        for row in rows(from_zip, "scores.jsonl")
    }
    assert (scores["fr", 0, "match"], scores["2", 0, "match"]) == (1.0, 0.0)
    assert scores["2", 1, "includes"] == 1.0
    assert scores["2", 1, "manners-length"] == 16
    assert rows(from_zip, "outputs.jsonl")[0]["usage"] == {"total_tokens": 45}
    # A score is of the very answer it was given to: a live target behind it gets none of them.
    digests = {
        (row["id"], row["trial"]): row["output_digest"] for row in rows(from_zip, "scores.jsonl")
    }
    assert digests == {key: digest(output) for key, output in outputs.items()}


def values(**scores: Any) -> dict[str, Any]:
    return {"scores": {name: {"value": value} for name, value in scores.items()}}


@pytest.mark.parametrize(
    ("value", "counts"),
    [("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), (True, True), ("yes", 1.0), ("FALSE", 0.0), ("2.5", 2.5),
     (math.nan, None), (math.inf, None), ("NaN", None), (None, None), (0.25, 0.25)],
)  # fmt: skip
def test_import_log__gives_values_the_meaning_they_have_there(
    value: object, counts: float | None, tmp_path: Path
) -> None:
    # B13: no value is missing, never 0.
    made = import_log(json_log(tmp_path, log(sample(**values(match=value)))), None)
    assert [row["value"] for row in rows(made, "scores.jsonl")] == [counts]
    said = any("no value for 1 answer" in note for note in made.notes)
    assert said is (counts is None)


def test_import_log__refuses_values_that_nobody_can_count_and_takes_the_rest(
    tmp_path: Path,
) -> None:
    path = json_log(tmp_path, log(sample(**values(match="C", grade="B+", tags=["x"]))))
    text = refusal(lambda: import_log(path, None))
    assert "grade gave 'B+'" in text
    assert "--leave-out grade" in text
    assert "tags gave a list" in text
    suite = written(import_log(path, None, leave_out=("grade", "tags")), tmp_path)
    assert [judge["id"] for judge in suite["judges"]] == ["match"]


def test_import_log__keeps_errors_failures_and_missing_scores_missing(tmp_path: Path) -> None:
    found = log(
        sample("good"),
        sample("broken", error={"message": "Timeout: no answer"}, **values(match="C")),
        sample("silent", output={"choices": [], "completion": ""}),
        sample("unjudged", scores={}),
        sample("withdrawn", invalidation={"author": "me"}),
    )
    made = import_log(json_log(tmp_path, found), None)
    written(made, tmp_path)
    failures = {
        row["id"]: row["failure"] for row in rows(made, "outputs.jsonl") if "failure" in row
    }
    assert failures["broken"] == "Timeout: no answer"
    assert "no output" in failures["silent"]
    assert "invalid" in failures["withdrawn"]
    # A score of an answer that failed is none: there is no answer it could be about.
    assert [row["id"] for row in rows(made, "scores.jsonl")] == ["good"]
    assert any(note.startswith("3 answers failed in the log") for note in made.notes)
    assert any("match: the log has no value for 1 answer" in note for note in made.notes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"status": "error", "error": {"message": "out of credit"}}, "'error': out of credit"),
     ({"status": "started"}, "'started'"),
     ({"version": 1}, "found version 1"),
     ({"version": None}, "no version"),
     ({"invalidated": True}, "marked this log as invalid"),
     ({"eval": []}, "expected what was run"),
     ({"samples": None}, "holds no samples"),
     ({"samples": []}, "holds no samples"),
     ({"results": {"total_samples": 3}}, "3 samples over all epochs, the log holds 1")],
)  # fmt: skip
def test_import_log__refuses_a_log_that_is_no_baseline(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    found = log(sample(), **changes)
    assert words in refusal(lambda: import_log(json_log(tmp_path, found), None))


@pytest.mark.parametrize(
    ("samples", "words"),
    [([sample("a"), sample("a")], "'a', epoch 1 stands in samples[0] too"),
     ([sample(1), sample("1")], "stands in samples[0] too"),
     ([sample(epoch=0)], "epoch from 1 to 1000, found 0"),
     ([sample(epoch=10**30)], "epoch from 1"),
     ([sample([])], "id, found a list"),
     ([sample("a\nb")], "U+000A"),
     ([sample("a"), sample("a", 2, input="another")], "input of sample 'a' differ"),
     ([sample(scores=[])], "no sample has a score"),
     ([sample(scores={"match": {}})], "'match' has no value"),
     ([7], "expected a sample, found a number")],
)  # fmt: skip
def test_import_log__names_the_sample_it_cannot_take(
    samples: list[Any], words: str, tmp_path: Path
) -> None:
    text = refusal(lambda: import_log(json_log(tmp_path, log(*samples)), None))
    assert words in text
    assert "log.json" in text


def test_import_log__takes_metadata_as_the_dataset_had_it(tmp_path: Path) -> None:
    start = {"event": "sample_init", "sample": {"metadata": {"region": "attachment://x"}}}
    first = sample(metadata={"seen": 1}, events=[start], attachments={"x": "eu"})
    other = sample("b", metadata={"k": 1, "seen": 0.5, "big": 10**30}, choices=["A", "B"])
    again = sample("b", 2, metadata={"k": 1, "seen": 0.7, "big": 10**30}, choices=["A", "B"])
    made = import_log(json_log(tmp_path, log(first, other, again, sample("a", 2, events=[start], attachments={"x": "eu"}))), None)  # fmt: skip
    written(made, tmp_path)
    assert [row["metadata"] for row in rows(made, "cases.jsonl")] == [
        {"region": "eu"},
        {"k": 1, "big": "1" + "0" * 30, "choices": ["A", "B"]},
    ]
    assert any("differs between epochs" in note for note in made.notes)


def test_import_log__leaves_out_what_is_of_one_run_in_messages(tmp_path: Path) -> None:
    # Ids of messages are drawn anew for each run: with them no case would ever be the same.
    message = {"role": "user", "content": "hi", "id": "r4nd0m", "source": "input"}
    made = import_log(json_log(tmp_path, log(sample(input=[message]))), None)
    assert rows(made, "cases.jsonl")[0]["input"] == [{"role": "user", "content": "hi"}]


def test_import_log__says_which_way_is_better_only_where_told(tmp_path: Path) -> None:
    path = json_log(tmp_path, log(sample(**values(edits=3))))
    suite = written(import_log(path, None, lower=["edits"]), tmp_path)
    assert suite["judges"][0]["better"] == "lower"
    assert "--lower-is-better edit: there is no such score" in refusal(
        lambda: import_log(path, None, lower=["edit"])
    )


def torn(path: Path) -> None:
    path.write_bytes(REAL_EVAL.read_bytes()[:-40])


def flipped(path: Path) -> None:
    data = bytearray(REAL_EVAL.read_bytes())
    at = data.index(b"samples/fr_epoch_1.json") + 200
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def journal(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("_journal/start.json", "{}")


def stranger(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("../../etc/passwd", "x")


def nested(path: Path) -> None:
    path.write_bytes(b"[" * 100_000)


def half(path: Path) -> None:
    path.write_bytes(b'{"version": 2, "status": "succ')


@pytest.mark.parametrize(
    ("make", "words"),
    [(torn, "cannot be read"), (flipped, "cannot be read"),
     (journal, "the eval has not ended"), (stranger, "no header.json in it"),
     (nested, "expected an `.eval` log"), (lambda path: path.write_bytes(b""), "expected an `.eval` log")],
)  # fmt: skip
def test_import_log__survives_hostile_zip_files(make: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    make(path)
    assert words in refusal(lambda: import_log(path, None))
    assert [found.name for found in tmp_path.iterdir()] == ["log.eval"]


@pytest.mark.parametrize(
    ("text", "words"),
    [("[" * 100_000, "nested deeper than 200 levels"), ("[" * 900 + "]" * 900, "nested deeper than 200"), ('{"version": 2, "status": "succ', "not JSON"), ("", "not JSON"),
     ('{"version": 2, "version": 2}', "given twice"), ("[]", "expected a log of Inspect"),
     ('{"version": ' + "9" * 5000 + "}", "found version")],
)  # fmt: skip
def test_import_log__survives_hostile_documents(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(text, encoding="utf-8")
    assert words in refusal(lambda: import_log(path, None))


def test_import_log__refuses_content_too_deep_for_a_suite(tmp_path: Path) -> None:
    deep: Any = "x"
    for _ in range(190):
        deep = [deep]
    path = eval_log(tmp_path, log(sample(metadata={"deep": deep})))
    assert "nested deeper than" in refusal(lambda: import_log(path, None))


def test_read_log_file__reads_no_further_than_it_has_to(tmp_path: Path) -> None:
    found = log(sample("small"), sample("large", metadata={"zeros": "0" * 2**21}))
    path = eval_log(tmp_path, found)
    assert path.stat().st_size < 2**14
    text = refusal(lambda: list(read_log_file(path, largest=2**20).samples))
    assert "log.eval/samples/large_epoch_1.json: it unpacks to more than 1 MiB" in text
    assert len(list(read_log_file(path).samples)) == 2


def test_import_log__takes_scores_given_elsewhere(tmp_path: Path) -> None:
    # The shape of Inspect's precomputed_scores: no epoch is all of them, one that is named goes first.
    path = json_log(tmp_path, log(sample("a"), sample("a", 2), sample("b"), sample("b", 2)))
    ratings = tmp_path / "ratings.jsonl"
    given = [
        {"id": "a", "value": "C", "answer": "yes", "extra": 1},
        {"id": "a", "value": {"tone": 2}, "epoch": 2, "explanation": "rude"},
        {"id": "zz", "value": 1},
    ]
    ratings.write_text("".join(json.dumps(one) + "\n" for one in given), encoding="utf-8")
    made = import_log(path, None, scores=ratings)
    suite = written(made, tmp_path)
    assert [judge["id"] for judge in suite["judges"]] == ["match", "ratings", "ratings-tone"]
    scores = [
        (row["judge"], row["id"], row["trial"], row["value"]) for row in rows(made, "scores.jsonl")
    ]
    assert scores[4:] == [("ratings", "a", 0, 1.0), ("ratings-tone", "a", 1, 2)]
    assert any("ratings: the log has no value for 3 answers" in note for note in made.notes)
    assert any("1 record of samples that the log does not have" in note for note in made.notes)
    given += [{"id": "a", "value": 0}, {"value": 1}, {"id": "b"}, {"id": "b", "value": "?", "epoch": 2}, {"id": "b", "value": 1, "epoch": 0}]  # fmt: skip
    ratings.write_text("".join(json.dumps(one) + "\n" for one in given), encoding="utf-8")
    text = refusal(lambda: import_log(path, None, scores=ratings))
    for words in (
        "4: id: a second score",
        "5: id: `id` names",
        "6: value: there is no",
        "7: value: what '?'",
        "8: epoch",
    ):
        assert words in text
