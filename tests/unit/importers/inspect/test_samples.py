"""Samples of Inspect as suites: a field map, a scorer, and what neither can be converted from (issue 6, item 6)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.importers.inspect_samples import field_map, import_samples, is_log
from releasecheck.importers.inspect_scorer import Scorer, scorer_of
from tests.unit.importers.suites import refusal, rows, written

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.importers.imported import Imported

ROWS = [
    {"qid": 7, "question": "Capital of France?", "answer": "Paris", "region": "eu", "by": "me"},
    {"qid": "jp", "question": "Capital of Japan?", "answer": ["Tokyo", "Tōkyō"], "region": "asia", "by": "me"},
]  # fmt: skip
MAP = ("id=qid", "input=question", "expected=answer", "metadata=region,")


def lines(folder: Path, found: list[Any], name: str = "capitals.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
    return path


def imported(path: Path, fields: tuple[str, ...] = (), scorer: Scorer | None = None) -> Imported:
    return import_samples(path, field_map(fields), scorer or Scorer("includes"), None, None)


def test_import_samples__reads_rows_through_a_field_map(tmp_path: Path) -> None:
    made = imported(lines(tmp_path, ROWS), MAP)
    suite = written(made, tmp_path)
    assert rows(made, "cases.jsonl") == [
        {"id": 7, "input": "Capital of France?", "expected": "Paris", "metadata": {"region": "eu"}},
        {"id": "jp", "input": "Capital of Japan?", "expected": ["Tokyo", "Tōkyō"], "metadata": {"region": "asia"}},
    ]  # fmt: skip
    assert suite["suite"] == "capitals"
    assert suite["target"]["messages"] == [{"role": "user", "content": "{{ input }}"}]
    # Several targets are any of: `contains` would want them all.
    assert suite["judges"][0]["function"] == "judges:includes"
    assert any("'by'" in note for note in made.notes)


def test_import_samples__reads_tables_and_numbers_what_has_no_id(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfinput,target,metadata\r\nA?,a,"{""k"": 1}"\r\nB?,b,\r\n')
    made = imported(path)
    suite = written(made, tmp_path)
    assert rows(made, "cases.jsonl") == [
        {"id": "1", "input": "A?", "expected": "a", "metadata": {"k": 1}},
        {"id": "2", "input": "B?", "expected": "b"},
    ]
    assert suite["judges"] == [{"id": "includes", "type": "contains", "normalize": ["casefold"]}]
    assert any("numbered from 1" in note for note in made.notes)


def test_import_samples__sends_conversations_whole(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "short"}, {"role": "user", "content": "hi", "id": "x"}]
    path = lines(tmp_path, [{"input": talk, "target": 5}, {"input": "hi", "target": "yo"}])
    made = imported(path, scorer=Scorer("exact"))
    assert written(made, tmp_path)["target"]["messages"] == "{{ input }}"
    cases = rows(made, "cases.jsonl")
    assert cases[0]["input"] == [
        {"role": "system", "content": "short"},
        {"role": "user", "content": "hi"},
    ]
    assert cases[1]["input"] == [{"role": "user", "content": "hi"}]
    assert cases[0]["expected"] == "5"


@pytest.mark.parametrize(
    ("row", "words"),
    [({"input": "q", "target": "a", "choices": ["a", "b"]}, "multiple_choice solver, which is not converted"),
     ({"input": "q", "target": "a", "sandbox": "docker"}, "`sandbox` needs Inspect"),
     ({"input": "", "target": "a"}, "no input"),
     ({"question": "q", "target": "a"}, "--field input="),
     ({"input": 5, "target": "a"}, "list of messages, found a number"),
     ({"input": [{"content": "x"}], "target": "a"}, "message 0"),
     ({"input": "q"}, "no target, and includes compares"),
     ({"input": "q", "target": ["a", ""]}, "an empty target is in every answer"),
     ({"input": "q", "target": "a", "metadata": 3}, "metadata: expected an object"),
     ({"input": "q", "target": "a", "id": " x"}, "white space")],
)  # fmt: skip
def test_import_samples__refuses_rows_by_line(
    row: dict[str, Any], words: str, tmp_path: Path
) -> None:
    path = lines(tmp_path, [{"input": "fine", "target": "a", "id": "fine"}, row])
    text = refusal(lambda: imported(path))
    assert words in text
    assert "capitals.jsonl:2:" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [("", "the file is empty"), ("\n\n", "only blank lines"), ("[" * 100_000, "JSON array"),
     ('{"input": "q", "target": "a", "id": "x"}\n' * 2, "already used in line 1"),
     ('{"input": 1' + "0" * 400 + "}", "beyond 2^53 - 1"), ("{'input': 'q'}", "no single quotes")],
)  # fmt: skip
def test_import_samples__survives_hostile_files(content: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(content + ("\n[" if content.startswith("[") else ""), encoding="utf-8")
    assert words in refusal(lambda: imported(path))


def test_import_samples__without_a_scorer_waits_for_scores(tmp_path: Path) -> None:
    made = imported(lines(tmp_path, [{"input": "q"}]), scorer=Scorer("none"))
    suite = written(made, tmp_path)
    assert suite["judges"] == [
        {"id": "scores", "type": "precomputed", "path": "scores.jsonl", "wait": True}
    ]


def test_field_map__refuses_what_it_does_not_know() -> None:
    text = refusal(lambda: field_map(["inptu=q", "id", "target="]))
    assert "did you mean 'input'" in text
    assert text.count("--field") == 3


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("pattern", {}, "needs --pattern"), ("match", {"pattern": "a"}, "takes no --pattern"),
     ("pattern", {"pattern": "("}, "no regular expression"), ("includes", {"location": "any"}, "no --location"),
     ("exact", {"case_sensitive": True}, "no --case-sensitive"), ("match", {"match_all": True}, "no --match-all")],
)  # fmt: skip
def test_scorer_of__refuses_options_that_say_nothing(
    name: str, options: dict[str, Any], words: str
) -> None:
    given = {"location": "end", "case_sensitive": False, "pattern": None, "match_all": False}
    assert words in refusal(lambda: scorer_of(name, **{**given, **options}))


@pytest.mark.parametrize(
    ("name", "start", "log"),
    [("a.eval", b"", True), ("a.json", b'\xef\xbb\xbf {"version": 2', True), ("a.json", b"[", False),
     ("a.jsonl", b"{", False), ("a.csv", b"id", False), ("a.json", b"PK\x03\x04", True)],
)  # fmt: skip
def test_is_log__by_what_stands_in_it(name: str, start: bytes, log: bool, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(start)
    assert is_log(path) is log
