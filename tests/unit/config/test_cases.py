"""`load_cases`: dataset files to cases (B01, B02, B05, B07, B08, B10, B11, B16, B22, contract 3)."""

from __future__ import annotations

import pytest

from releasecheck.config import load_cases, load_suite
from releasecheck.errors import ConfigError
from releasecheck.model.case import Case, Source
from tests.unit.config.folder import ROW, Folder, config, lines

BOM = b"\xef\xbb\xbf"


def test_load_cases__every_field(folder: Folder) -> None:
    (case,) = folder.data(
        "d/c.jsonl",
        lines(
            {"id": "c1", "input": {"q": 1}, "expected": ["x"], "split": "hard", "tags": ["a", "b", "a"],
             "metadata": {"k": None}, "context": "ctx"}
        ),
    )  # fmt: skip

    assert case == Case(
        id="c1",
        input={"q": 1},
        expected=["x"],
        split="hard",
        tags=("a", "b"),
        metadata={"k": None, "context": "ctx"},
        source=Source("d/c.jsonl", 1),
        index=0,
    )


def test_load_cases__what_a_row_may_leave_out(folder: Folder) -> None:
    (case,) = folder.data("c.jsonl", lines({"id": 7, "input": False}), ", split: other")

    assert (case.id, case.input, case.expected) == ("7", False, None)
    assert (case.split, case.tags, case.metadata) == ("other", (), {})


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("c.jsonl", b'{"id":"c1","input":"x","expected":"x"}\n'),
        ("c.json", b'[{"id":"c1","input":"x","expected":"x"}]'),
        ("c.csv", b"id,input,expected\r\nc1,x,x\r\n"),
        ("c.JSONL", b'{"id":"c1","input":"x","expected":"x"}'),
    ],
)
@pytest.mark.parametrize("mark", [b"", BOM])
def test_load_cases__a_byte_order_mark_through_every_door(
    folder: Folder, name: str, data: bytes, mark: bytes
) -> None:
    """B01, B02."""
    (case,) = folder.data(name, mark + data)

    assert (case.id, case.input, case.expected) == ("c1", "x", "x")


def test_load_cases__csv_cells_are_text(folder: Folder) -> None:
    first, second = folder.data(
        "c.csv",
        "id,input,expected,split,tags,metadata.lang,weight,metadata.none\r\n"
        '1,"how, many?",5,hard,"a; b,c",en,0.5,\r\n'
        'c2,yes?,"",,,de,,""\r\n',
    )

    assert (first.id, first.input, first.expected, first.split) == ("1", "how, many?", "5", "hard")
    assert first.tags == ("a", "b", "c")
    assert first.metadata == {"lang": "en", "weight": "0.5"}
    assert (second.expected, second.split, second.tags) == ("", "main", ())
    assert second.metadata == {"lang": "de", "none": ""}
    assert (first.source.line, second.source.line) == (2, 3)


def test_load_cases__an_empty_csv_cell_is_absent(folder: Folder) -> None:
    (case,) = folder.data("c.csv", "id,input,expected\nc1,x,\n")

    assert case.expected is None


def test_load_cases__fields_of_their_own(folder: Folder) -> None:
    """Dotted paths take their part; the rest of that object (here the answer) stays out."""
    (case,) = folder.data(
        "c.jsonl",
        lines(
            {"qid": "c1", "doc": {"question": "q", "answer": "a"}, "topic": "x", "a.b": "dotted"}
        ),
        ", fields: {id: qid, input: doc.question, tags: none, expected: a.b}",
    )

    assert (case.id, case.input, case.expected) == ("c1", "q", "dotted")
    assert case.metadata == {"topic": "x"}


def test_load_cases__names_of_built_ins_are_data_in_their_own_place(folder: Folder) -> None:
    """B16."""
    (case,) = folder.data(
        "c.jsonl",
        lines({"id": "c1", "input": "hi", "expected": "hello", "output": "x\ny", "score": 1,
               "passed": True, "error": "none"}),
    )  # fmt: skip

    assert (case.input, case.expected) == ("hi", "hello")
    assert case.metadata == {"output": "x\ny", "score": 1, "passed": True, "error": "none"}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # B10
        ('{"id": "c1", "input": ""}', "input: the input is an empty text; set `empty_input: run` if "
         "that is the question"),
        ('{"id": "c1", "input": null}', "input: the input is null; give a value, or remove the row"),
        ('{"id": "c1"}', "input: the row has no input; its fields are 'id' - name the right one in "
         "`fields`"),
        ('{"id": "c1", "input": " \\t"}', "input: the input is only white space; set `empty_input: run` "
         "if that is the question"),
        ('{"id": "c1", "inputs": "x"}', "input: the row has no input; did you mean 'inputs'? Say so in "
         "`fields: {input: inputs}`"),
        ('{"id": "c1", "vars": {"input": "x"}}', "input: the row has no input; there is one inside "
         "'vars': set `fields: {input: vars.input}`"),
        # ids
        ('{"input": "x"}', "id: the row has no id; its fields are 'input' - name the right one in "
         "`fields`"),
        ('{"id": "", "input": "x"}', "id: the id is empty"),
        ('{"id": " c1", "input": "x"}', "id: the id ' c1' has white space around it; remove it"),
        ('{"id": "a\\nb", "input": "x"}', "id: the id holds the control character U+000A; remove it"),
        ('{"id": "a\\u2028b", "input": "x"}', "id: the id holds the control character U+2028; remove "
         "it"),
        ('{"id": 1.5, "input": "x"}', "id: expected a text or whole number as id, found a number"),
        ('{"id": true, "input": "x"}', "id: expected a text or whole number as id, found true"),
        ('{"id": null, "input": "x"}', "id: expected a text or whole number as id, found null"),
        ('{"id": "' + "x" * 513 + '", "input": "x"}', "id: the id has 513 characters; at most 512"),
        # splits, tags, metadata
        ('{"id": "c1", "input": "x", "split": "all"}', "split: `all` is every case and can be no split; "
         "use another name"),
        ('{"id": "c1", "input": "x", "split": "Hard One"}', "split: expected a split of lower-case "
         "letters, digits, `_` and `-`; found 'Hard One'"),
        ('{"id": "c1", "input": "x", "split": 3}', "split: expected a split of lower-case letters, "
         "digits, `_` and `-`; found a number"),
        ('{"id": "c1", "input": "x", "tags": "smoke"}', "tags: expected a list of texts, found a text"),
        ('{"id": "c1", "input": "x", "tags": [1]}', "tags: expected texts of 1 to 100 characters as "
         "tags, found a number"),
        ('{"id": "c1", "input": "x", "tags": [""]}', "tags: expected texts of 1 to 100 characters as "
         "tags, found an empty text"),
        ('{"id": "c1", "input": "x", "metadata": []}', "metadata: expected an object, found a list"),
        ('{"id": "c1", "input": "x", "k": 1, "metadata": {"k": 2}}', "k: this field stands in the row "
         "and in its `metadata`; keep one"),
        # near misses of our fields, and B22
        ('{"id": "c1", "input": "x", "tag": ["smoke"]}', "tag: unknown field; did you mean 'tags'? "
         "(write it under `metadata` if it is data)"),
        ('{"id": "c1", "input": "x", "Expected": "y"}', "Expected: unknown field; did you mean "
         "'expected'? (write it under `metadata` if it is data)"),
        ('{"id": "c1", "input": "x", "judges": [{"type": "exact"}]}', "judges: this belongs in the "
         "config; inside of a case it would be data and check nothing"),
        ('{"id": "c1", "input": "x", "vars": {"judges": []}}', "vars.judges: this belongs in the "
         "config; inside of a case it would be data and check nothing"),
        ('{"id": "c1", "input": "x", "metadata": {"gates": {}}}', "metadata.gates: this belongs in the config; "
         "inside of a case it would be data and check nothing"),
    ],
)  # fmt: skip
def test_load_cases__rows_that_are_no_case(folder: Folder, row: str, expected: str) -> None:
    good = '{"id": "ok", "input": "x"}'

    assert folder.refused_data("c.jsonl", f"{good}\n\n{row}\n") == [f"c.jsonl:3: {expected}"]


def test_load_cases__empty_input_runs_when_the_suite_says_so(folder: Folder) -> None:
    """B10: null and absent stay errors."""
    rows = lines({"id": "c1", "input": ""}, {"id": "c2", "input": "  "})
    assert [c.input for c in folder.data("c.jsonl", rows, ", empty_input: run")] == ["", "  "]

    more = lines({"id": "c1", "input": None}, {"id": "c2"})
    assert len(folder.refused_data("c.jsonl", more, ", empty_input: run")) == 2

    assert folder.data("c.csv", "id,input\nc1,\n", ", empty_input: run")[0].input == ""


def test_load_cases__all_bad_rows_of_all_files_at_once(folder: Folder) -> None:
    """B08."""
    folder.write("a.jsonl", '{"id": "a1"}\n{"id": "a2", "input": "x"}\n{"id": "a3",}\n')
    folder.write("b.csv", 'id,input\nb1,\nb2,"x\n')
    text = config(cases="[{path: a.jsonl}, {path: b.csv}]")

    found = folder.refused(text, rows=None)

    assert [line.partition(": ")[0] for line in found] == [
        "a.jsonl:1", "a.jsonl:3:13", "b.csv:2", "b.csv:3:4",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("c.jsonl", b"", "the file is empty"),
        ("c.jsonl", BOM, "the file is empty"),
        ("c.jsonl", b"\n \n", "it holds only blank lines"),
        ("c.csv", b"", "the file is empty"),
        ("c.csv", b"\r\n\r\n", "it holds only blank lines"),
        ("c.csv", b"id,input,expected\n", "there is only a header row"),
        ("c.json", b"", "the file is empty"),
        ("c.json", b" \n", "it holds only blank lines"),
        ("c.json", b"[\n]", "the array has no entry"),
        ("c.json", b"{}", "expected an array of objects, found an object; one object on each line is a "
         ".jsonl file"),
        ("c.json", b"null", "expected an array of objects, found null"),
        ("c.json", b'{"cases": []}', "expected an array of objects, found an object; write the list "
         "under 'cases' as the whole file"),
    ],
)  # fmt: skip
def test_load_cases__no_cases_in_every_disguise(
    folder: Folder, name: str, data: bytes, message: str
) -> None:
    """B11: also beside a file that has cases."""
    folder.write("full.jsonl", ROW)
    text = config(cases=f"[{{path: full.jsonl}}, {{path: {name}}}]")
    folder.write(name, data)

    (problem,) = folder.refused(text, rows=None)

    assert problem.partition(" ")[2] == f"no cases: {message}"


@pytest.mark.parametrize(
    ("columns", "problems"),
    [
        ("id,question", ["c.csv:1: there is no column 'input'; found 'id', 'question'"]),
        ("ID,input", ["c.csv:1: there is no column 'id'; found 'ID', 'input'; did you mean 'ID'? Say so "
         "in `fields`"]),
        ("a,b", ["c.csv:1: there is no column 'id'; found 'a', 'b'",
                 "c.csv:1: there is no column 'input'; found 'a', 'b'"]),
    ],
)  # fmt: skip
def test_load_cases__columns_that_are_missing_name_those_found(
    folder: Folder, columns: str, problems: list[str]
) -> None:
    """B01."""
    assert folder.refused_data("c.csv", f"{columns}\nx,y\n") == problems


def test_load_cases__a_mapped_column_must_be_there(folder: Folder) -> None:
    entry = ", fields: {expected: answer}"

    assert folder.refused_data("c.csv", "id,input\nc1,x\n", entry) == [
        "c.csv:1: there is no column 'answer'; found 'id', 'input'"
    ]


def test_load_cases__a_metadata_column_is_refused(folder: Folder) -> None:
    assert folder.refused_data("c.csv", "id,input,metadata\nc1,x,{}\n") == [
        "c.csv:2: metadata: name a column for each key: `metadata.KEY`"
    ]


def test_load_cases__ids_are_unique_in_the_whole_suite(folder: Folder) -> None:
    """Both places are named; capitals make a difference, ways to compose an accent do not."""
    folder.write("a.jsonl", lines({"id": "x", "input": 1}, {"id": "caf\u00e9", "input": 1}))
    folder.write(
        "b.jsonl",
        lines({"id": "X", "input": 1}, {"id": "x", "input": 1}, {"id": "cafe\u0301", "input": 1}),
    )

    found = folder.refused(config(cases="[{path: '[ab].jsonl'}]"), rows=None)

    assert found == [
        "b.jsonl:2: id: the id 'x' is already used in a.jsonl:1",
        "b.jsonl:3: id: the id 'caf\u00e9' is already used in a.jsonl:2",
    ]


def test_load_cases__globs_are_sorted_and_entries_keep_their_order(folder: Folder) -> None:
    for name in ("z/2.jsonl", "z/10.jsonl", "a/deep/x.jsonl", "first.jsonl"):
        folder.write(name, lines({"id": name, "input": 1, "expected": 1}))
    text = config(cases="[{path: first.jsonl}, {path: '**/*.jsonl', split: x}]")
    text = text.replace("'**/*.jsonl'", "'[az]/**/*.jsonl'")

    cases = folder.cases(text, rows=None)

    assert [case.id for case in cases] == [
        "first.jsonl",
        "a/deep/x.jsonl",
        "z/10.jsonl",
        "z/2.jsonl",
    ]
    assert [case.index for case in cases] == [0, 1, 2, 3]
    assert [case.split for case in cases] == ["main", "x", "x", "x"]


def test_load_cases__paths_may_leave_the_folder_and_hold_brackets(folder: Folder) -> None:
    folder.write("shared/c[1].jsonl", ROW)
    folder.write("suite/r.yaml", config(cases="[{path: '../shared/c[1].jsonl'}]"))

    (case,) = load_cases(load_suite(folder.root / "suite/r.yaml"))

    assert case.source == Source("../shared/c[1].jsonl", 1)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("c.josnl", "r.yaml:3:16: cases[0].path: no file fits 'c.josnl' in .; did you mean 'c.jsonl'?"),
        ("data/*.jsonl", "r.yaml:3:16: cases[0].path: no file fits 'data/*.jsonl' in .; there is no "
         "such folder"),
        ("data\\c.jsonl", "r.yaml:3:16: cases[0].path: no file fits 'data\\\\c.jsonl' in .; write `/` "
         "between folders"),
        ("'${DATA}.jsonl'", "r.yaml:3:16: cases[0].path: no file fits '${DATA}.jsonl' in .; variables "
         "are not read here"),
        ("folder", "folder: expected a file, found a folder; write `path: folder/*.jsonl`"),
        ("notes.md", "notes.md: expected a .jsonl, .json or .csv file, found '.md'"),
        ("latin.jsonl", "latin.jsonl:1:8: expected UTF-8 text, found the byte 0xe9; the file is "
         "probably in Latin-1 or Windows-1252 - save it as UTF-8"),
        ("wide.jsonl", "wide.jsonl: expected UTF-8 text, found UTF-16; save it as UTF-8"),
        ("lfs.jsonl", "lfs.jsonl: this is a git-lfs pointer, not the file; run `git lfs pull` first"),
        ("login.json", "login.json: this is an HTML page, not data; probably a login or error page was "
         "saved"),
    ],
)  # fmt: skip
def test_load_cases__files_that_are_not_there_or_no_data(
    folder: Folder, path: str, expected: str
) -> None:
    folder.write("folder/c.jsonl", ROW)
    folder.write("notes.md", "x")
    folder.write("latin.jsonl", '{"id":"é"}'.encode("latin-1"))
    folder.write("wide.jsonl", "{}".encode("utf-16"))
    folder.write("lfs.jsonl", "version https://git-lfs.github.com/spec/v1\n")
    folder.write("login.json", "\n<html>")

    assert folder.refused(config(cases=f"[{{path: {path}}}]")) == [expected]


def test_load_cases__a_file_is_read_once(folder: Folder) -> None:
    assert folder.refused(config(cases="[{path: c.jsonl}, {path: '*.jsonl'}]")) == [
        "r.yaml:3:33: cases[1].path: c.jsonl is already read by cases[0]"
    ]


def test_load_cases__the_pin(folder: Folder) -> None:
    """B04: a count that was written down finds what was lost."""
    assert folder.refused(config(more="expect_cases: 3\n")) == [
        "r.yaml:7:15: expect_cases: expected 3 cases, found 1 (1 in c.jsonl); a lost case is not a "
        "better average"
    ]
    assert len(folder.cases(config(more="expect_cases: 1\n"))) == 1


def test_load_cases__a_default_split_named_all(folder: Folder) -> None:
    assert folder.refused(config(cases="[{path: c.jsonl, split: all}]")) == [
        "r.yaml:3:32: cases[0].split: `all` is every case and can be no split; use another name"
    ]


def test_load_cases__a_broken_link(folder: Folder) -> None:
    (folder.root / "gone.jsonl").symlink_to(folder.root / "nowhere.jsonl")

    with pytest.raises(ConfigError, match="no such file"):
        folder.cases(config(cases="[{path: '*.jsonl'}]"), rows=None)


def test_load_cases__the_digest_of_a_case_ignores_order_and_place(folder: Folder) -> None:
    """Over input, expected and metadata only: key order, split, tags and file do not count."""
    one, two, three = folder.data(
        "c.jsonl",
        '{"id":"1","input":{"a":1,"b":2},"expected":"x","metadata":{"k":1}}\n'
        '{"metadata":{"k":1.0},"id":"2","input":{"b":2,"a":1},"expected":"x","tags":["t"],"split":"s"}\n'
        '{"id":"3","input":{"a":1,"b":2},"expected":"y","metadata":{"k":1}}\n',
    )

    assert one.digest == two.digest
    assert one.digest != three.digest
