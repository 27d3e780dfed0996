"""Faults of dataset files (B01 to B16), through the command line and through every door they reach.

A row with `null`, and a weight that is `NaN`, cannot stand in CSV, whose cells are texts. A version with
datasets on standard input does not exist yet (B02).
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faults import BOM, DEEP, DIGITS, KINDS, PRIVATE, SHARD_FILE, dataset, two_rows
from tests.e2e.suites import CONFIG, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.faults import Box

FINISH = ("finish", "--plan", "plan", "--results", "results", "--out", "new")
PLAN = ("plan", CONFIG, "--out", "planned", "--baseline", "baseline")


def marked(data: bytes) -> bytes:
    """As Notepad and Excel save it."""
    return BOM + data


def windows(data: bytes) -> bytes:
    """With a mark and other line ends."""
    return BOM + data.replace(b"\n", b"\r\n")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [marked, windows])
def test_b01_b02_mark__dataset(box: Box, kind: str, change: Callable[[bytes], bytes]) -> None:
    box.data(kind, change(dataset(kind, two_rows())))
    done = box.run()
    assert done.code == 0, done
    assert sorted(asked.question for asked in box.answers.asked) == ["q1", "q2"]


@pytest.mark.parametrize("change", [marked, windows])
def test_b02_mark__config_and_what_it_names(box: Box, change: Callable[[bytes], bytes]) -> None:
    """Config, the file it extends, a schema file, and a list of ids."""
    box.config(judges='[{id: shape, type: json-schema, schema: s.json, input: "length(@)"}]')
    box.write("base.yaml", change(box.read(CONFIG).replace(b"metric: exact", b"metric: shape")))
    box.write(CONFIG, change(b"extends: base.yaml\nbatch: 3\n"))
    box.write("s.json", change(b'{\n"const": 2}'))
    box.write("ids.txt", change(b"c2\n\n"))
    done = box.run("--ids-file", "ids.txt")
    assert done.code == 0, done
    assert [asked.question for asked in box.answers.asked] == ["q2"]


@pytest.mark.parametrize("name", ["manifest.json", "results.jsonl"])
@pytest.mark.parametrize("change", [marked, windows])
def test_b02_mark__baseline(box: Box, name: str, change: Callable[[bytes], bytes]) -> None:
    box.take_run()
    box.write(f"baseline/{name}", change(box.read(f"baseline/{name}")))
    done = box.call(*PLAN)
    assert done.code == 0, done


@pytest.mark.parametrize("name", ["plan/plan.json", SHARD_FILE])
@pytest.mark.parametrize("change", [marked, windows])
def test_b02_mark__plan_and_shard_file(
    box: Box, name: str, change: Callable[[bytes], bytes]
) -> None:
    box.take_run()
    box.write(name, change(box.read(name)))
    done = box.call(*FINISH)
    assert done.code == 0, done
    assert box.scorecard()["counts"]["scored"] == 2


@pytest.mark.parametrize(
    ("argv", "name"), [(PLAN, "baseline/scorecard.json"), (FINISH, "plan/cases-0000.jsonl")]
)
def test_b02_mark__where_bytes_are_pinned(box: Box, argv: tuple[str, ...], name: str) -> None:
    """A mark is a change of a file whose digest is over its bytes: named, never a verdict."""
    box.take_run()
    box.write(name, marked(box.read(name)))
    box.check_refusal(box.call(*argv), [name.rpartition("/")[2], "digest"], 4)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ("c1\n".encode("utf-16"), "UTF-16"),
        ("c1\n".encode("utf-16-le"), "NUL bytes"),
        ("c1\ncaf\u00e9\n".encode("latin-1"), "ids.txt:2:4"),
        (b"<!DOCTYPE html><html>login</html>", "HTML"),
    ],
)
def test_b02_another_encoding__list_of_ids(box: Box, data: bytes, says: str) -> None:
    """Lists of ids come in through the door of all other inputs."""
    box.config().write("ids.txt", data)
    box.refused("ids.txt", says, commands=("plan", "run"), more=("--ids-file", "ids.txt"))


@pytest.mark.parametrize("reply", ['{"answer": "Q1"}', '{"answer":\r\n"Q1"}\r\n'])
def test_b02_mark__http_answer(box: Box, reply: str) -> None:
    box.answers.reply = lambda _: (200, BOM + reply.encode())
    box.config(rows=two_rows()[:1])
    done = box.run()
    assert done.code == 0, done


def python(code: str) -> str:
    """A program, as an argument list in a config."""
    return json.dumps([sys.executable, "-c", code])


def prints(data: bytes) -> str:
    """A program that writes bytes."""
    return python(f"import sys; sys.stdin.read(); sys.stdout.buffer.write({data!r})")


@pytest.mark.parametrize(
    ("form", "reply"),
    [("text", BOM + b"Q1\n"), ("json", BOM + b'"Q1"'), ("json", BOM + b'"Q1"\r\n')],
)
def test_b02_mark__command_answer_and_judge_reply(box: Box, form: str, reply: bytes) -> None:
    box.config(
        rows=two_rows()[:1],
        target=f"{{type: command, format: {form}, run: {prints(reply)}}}",
        judges=f"[{{id: exact, type: exact}}, {{id: own, type: command, run: {prints(BOM + b'1')}}}]",
    )
    done = box.run()
    assert done.code == 0, done
    scores = box.results()["c1"]["scores"]
    assert [scores[name]["value"] for name in ("exact", "own")] == [1.0, 1.0]


def test_b01_missing_column__names_what_was_found(box: Box) -> None:
    box.data("csv", BOM + b"\xef\xbb\xbfid,prompt\r\nc1,x\r\n")
    box.refused("cases.csv:1", "'input'", "'prompt'", r"'\ufeffid'")


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("cases.csv", f'id,input,expected\nc1,"what,{PRIVATE}\nc2,b,c\nc3,d,e\n', "cases.csv:2:4"),
        ("cases.jsonl", '{"id":"c1","input":"a\n{"id":"c2","input":"b"}\n', "cases.jsonl:1:"),
        ("cases.json", '[{"id":"c1","input":"a},\n{"id":"c2"}]', "cases.json:1:"),
        ("cases.json", '[{"id":"c1","input":"a"},\n{"id":"c2","input":"b"}\n', "cases.json:3"),
        (CONFIG, 'version: 1\nsuite: "open\njudges: []\ngates: []\n', CONFIG),
        ("base.yaml", "version: 1\nsuite: 'open\njudges: []\n", "base.yaml"),
        ("s.json", '{"type": "object\n}', "s.json:1:"),
    ],
)
def test_b04_open_quote__is_found_where_it_opens(
    box: Box, name: str, data: str, place: str
) -> None:
    judge = "[{id: exact, type: json-schema, schema: s.json}]"
    path = name if name.startswith("cases") else "cases.jsonl"
    box.config(
        cases=f"[{{path: {path}}}]",
        judges=judge if name == "s.json" else "[{id: exact, type: exact}]",
    )
    if name == "base.yaml":
        box.write(CONFIG, box.read(CONFIG) + b"extends: base.yaml\n")
    box.write(name, data)
    box.refused(place)


@pytest.mark.parametrize("kind", KINDS)
def test_b04_count__is_said_and_can_be_pinned(box: Box, kind: str) -> None:
    box.data(kind, dataset(kind, two_rows()), more="expect_cases: 3\n")
    box.refused(f"{CONFIG}:7:15", "expect_cases", "expected 3", "found 2", f"2 in cases.{kind}")
    box.data(kind, dataset(kind, two_rows()), more="expect_cases: 2\n")
    assert "2 in main" in box.call("validate", CONFIG).out
    assert re.search(r"cases +2\b", box.call("plan", CONFIG, "--out", "planned").out)
    done = box.run()
    assert done.code == 0, done
    assert "2 cases" in done.out


@pytest.mark.parametrize("kind", KINDS)
def test_b05_long_cell__arrives_whole(box: Box, kind: str) -> None:
    """In the dataset, on the way to the target, in its answer, and in the results."""
    long = "lorem " * 30_000
    rows = [{"id": "c1", "input": "sum up", "expected": long.upper(), "context": long}]
    target = box.target(body='{q: "{{ metadata.context }}"}')
    box.data(kind, dataset(kind, rows), target=target)
    done = box.run()
    assert done.code == 0, done
    assert box.answers.asked[0].question == long
    assert box.results()["c1"]["output"] == long.upper()


def test_b05_cell_beyond_our_limit__is_named(box: Box) -> None:
    box.data("csv", b"id,input\nc1,a\nc2," + b"x" * 10_000_001 + b"\n")
    box.refused("cases.csv:3:4", "10000001 characters", "10000000", commands=("run",))


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("jsonl", b'{"id":"c1","input":"q1","expected":"Q1"}\r\n\r\n   \t\n{"id":"c2","input":"q2","expected":"Q2"}\n\n'),
        ("json", b'\n \n[\n\n{"id":"c1","input":"q1","expected":"Q1"},\r\n\r\n{"id":"c2","input":"q2","expected":"Q2"}\n\n]\n \n'),
        ("csv", b"id,input,expected\n\nc1,q1,Q1\r\n\r\n   \nc2,q2,Q2\n\n"),
    ],
)  # fmt: skip
def test_b07_blank_lines__are_skipped_in_datasets_and_lists(
    box: Box, kind: str, data: bytes
) -> None:
    box.data(kind, data)
    box.write("ids.txt", b"\n  \nc1\r\n\t\n c2 \n\n")
    assert "2 in main" in box.call("validate", CONFIG).out  # what is previewed is what runs
    done = box.run("--ids-file", "ids.txt")
    assert done.code == 0, done
    assert sorted(box.results()) == ["c1", "c2"]


def test_b07_blank_lines__baseline(box: Box) -> None:
    box.take_run()
    box.write("baseline/results.jsonl", b"\n" + box.read("baseline/results.jsonl") + b" \n\n")
    done = box.call(*PLAN)
    assert done.code == 0, done


@pytest.mark.parametrize("name", ["plan/cases-0000.jsonl", SHARD_FILE])
def test_b07_blank_line__in_a_file_of_ours_is_a_change(box: Box, name: str) -> None:
    """Nobody writes these by hand, and a digest covers their lines."""
    box.take_run()
    first, rest = box.read(name).split(b"\n", 1)
    box.write(name, first + b"\n\n" + rest)
    box.check_refusal(box.call(*FINISH), [f"{name.rpartition('/')[2]}:2"], 4)


@pytest.mark.parametrize(
    ("kind", "data", "places"),
    [
        ("jsonl",
         f'{{"id":"c1","input":"a"}}\n\n{{"id":"c2","input":"b"}}\n\n{{"id":"c3","input":"{PRIVATE}" "expected":"c"}}\n'
         f"{{\"id\":\"c4\",\"input\":\"d\",\"expected\":'{PRIVATE}'}}\n",
         ("cases.jsonl:5:35", "cases.jsonl:6:", "single quotes")),
        ("json",
         f'[\n{{"id":"c1","input":"a"}},\n\n{{"id":"c2","input":"","expected":"{PRIVATE}"}},\n{{"id":"c3","x":"{PRIVATE}"}}]',
         ("cases.json:4", "cases.json:5")),
        ("json", f'[\n{{"id":"c1","input":"a"}},\n\n{{"id":"c2" "input":"{PRIVATE}"}}]', ("cases.json:4:12",)),
        ("csv", f"id,input,expected\nc1,a,b\n\nc2,{PRIVATE}\nc3,d,e,{PRIVATE}\n",
         ("cases.csv:4", "cases.csv:5", "expected 3 cells")),
    ],
)  # fmt: skip
def test_b08_bad_rows__are_all_named_with_their_lines(
    box: Box, kind: str, data: str, places: tuple[str, ...]
) -> None:
    box.data(kind, data.encode()).refused(*places)


@pytest.mark.parametrize(
    ("argv", "name", "code"),
    [
        (FINISH, SHARD_FILE, 4),
        (FINISH, "plan/cases-0000.jsonl", 4),
        (PLAN, "baseline/results.jsonl", 3),
    ],
)
def test_b08_bad_line__in_files_between_commands(
    box: Box, argv: tuple[str, ...], name: str, code: int
) -> None:
    box.take_run()
    first, rest = box.read(name).split(b"\n", 1)
    bad = f'{{"case": "{PRIVATE}" "trial": 0}}'.encode()
    box.write(name, b"\n".join([first, bad, rest]))
    box.check_refusal(box.call(*argv), [f"{name.rpartition('/')[2]}:2"], code)


EMPTY_INPUTS = {
    "jsonl": '{"id":"c1","input":"","expected":"x"}\n{"id":"c2","input":null}\n{"id":"c3"}\n{"id":"c4","input":"   "}\n',
    "json": '[{"id":"c1","input":""},\n{"id":"c2","input":null},\n{"id":"c3"},\n{"id":"c4","input":"   "}]',
    "csv": 'id,input,expected\nc1,"",x\nc2,,x\nc3,"   ",x\n',
}  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_b10_empty_input__null_missing_and_empty_are_three_things(box: Box, kind: str) -> None:
    box.data(kind, EMPTY_INPUTS[kind].encode())
    message = box.refused("is null", "has no input", "is an empty text", "only white space")
    assert [f"cases.{kind}:{line}:" in message for line in (1, 2, 3, 4)] == [True] * 4
    box.data(kind, EMPTY_INPUTS[kind].encode(), entry=", empty_input: run")
    message = box.refused("is null", "has no input")
    assert "empty text" not in message


def test_b10_empty_input__table(box: Box) -> None:
    box.data("csv", EMPTY_INPUTS["csv"].encode())
    box.refused("cases.csv:2", "cases.csv:3", "cases.csv:4", "only white space")


@pytest.mark.parametrize("kind", KINDS)
def test_b10_empty_input__runs_when_told_to(box: Box, kind: str) -> None:
    rows = [{"id": "c1", "input": "", "expected": ""}, {"id": "c2", "input": "q", "expected": "Q"}]
    box.data(kind, dataset(kind, rows), entry=", empty_input: run")
    box.answers.reply = lambda asked: (200, {"answer": asked.question.upper()})
    if kind == "csv":  # an empty cell is an absent `expected`
        box.data(kind, b'id,input,expected\nc1,"",""\nc2,q,Q\n', entry=", empty_input: run")
    done = box.run()
    assert done.code == 0, done
    assert sorted(asked.question for asked in box.answers.asked) == ["", "q"]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("jsonl", b""),
        ("jsonl", BOM),
        ("jsonl", b"\n \n"),
        ("csv", b"id,input,expected\n"),
        ("csv", BOM + b"id,input,expected\r\n\r\n"),
        ("csv", b""),
        ("json", b"[\n]"),
        ("json", b"{}"),
        ("json", b"null"),
        ("json", b'{"cases": []}'),
        ("json", b""),
    ],
)
def test_b11_no_cases__in_every_disguise(box: Box, kind: str, data: bytes) -> None:
    box.data(kind, data).refused(f"cases.{kind}", "no cases")


@pytest.mark.parametrize("data", [b"", BOM, b"\n \n"])
def test_b11_nothing__in_config_and_list(box: Box, data: bytes) -> None:
    box.config().write("ids.txt", data)
    box.refused("no case is named", commands=("plan", "run"), more=("--ids-file", "ids.txt"))
    box.write(CONFIG, data)
    box.refused(CONFIG, "empty")


@pytest.mark.parametrize("data", [b"", BOM, b"\n"])
@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (FINISH, "plan/plan.json"),
        (FINISH, "plan/cases-0000.jsonl"),
        (PLAN, "baseline/results.jsonl"),
        (PLAN, "baseline/scorecard.json"),
        (PLAN, "baseline/manifest.json"),
    ],
)
def test_b11_nothing__in_plan_and_baseline(
    box: Box, argv: tuple[str, ...], name: str, data: bytes
) -> None:
    box.take_run().write(name, data)
    done = box.call(*argv)
    assert done.code in {3, 4}, done
    box.check_refusal(done, [name.rpartition("/")[2]], done.code)


@pytest.mark.parametrize("data", [b"", None])
def test_b11_nothing__in_merge_and_gate(box: Box, data: bytes | None) -> None:
    """An empty shard file, or none, is missing scores and never a pass."""
    box.take_run()
    if data is None:
        (box.folder / SHARD_FILE).unlink()
    else:
        box.write(SHARD_FILE, data)
    done = box.call(*FINISH)
    assert done.code == 2, done
    card = box.scorecard()
    assert card["verdict"] == "blocked_missing"
    assert (card["counts"]["scored"], card["counts"]["missing"]) == (0, 2)
    assert {metric["value"] for metric in card["metrics"]} == {None}


NOT_JSON = ["NaN", "-Infinity", "1e999"]
BEYOND = [DEEP, DIGITS]


@pytest.mark.parametrize("kind", ["jsonl", "json"])
@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
def test_b13_b14_value__dataset(box: Box, kind: str, value: str) -> None:
    rows = [f'{{"id":"c1","input":"{PRIVATE}"}}', f'{{"id":"c2","input":"x","weight":{value}}}']
    text = "\n".join(rows) if kind == "jsonl" else "[" + ",\n".join(rows) + "]"
    message = box.data(kind, text.encode()).refused(f"cases.{kind}:2")
    assert len(message) < 1000


@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
def test_b13_b14_value__config_and_schema(box: Box, value: str) -> None:
    box.config(target=box.target(body=f'{{q: "{{{{ input }}}}", t: {value}}}'))
    if value not in {"NaN", "-Infinity"}:  # words in YAML; its own are below
        box.refused(f"{CONFIG}:4", commands=("run",))
    box.config(judges="[{id: exact, type: json-schema, schema: s.json}]")
    box.write("s.json", f'{{"const":\n {value}}}')
    box.refused("s.json", commands=("run",))


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e999"])
def test_b13_value__config_in_its_own_words(box: Box, value: str) -> None:
    box.config(target=box.target(body=f'{{q: "{{{{ input }}}}", t: {value}}}'))
    box.refused(f"{CONFIG}:4", "target.body.t")


@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
@pytest.mark.parametrize(
    ("argv", "name", "key"),
    [
        (FINISH, "plan/plan.json", b'"seed": '),
        (FINISH, "plan/cases-0000.jsonl", b'"index":'),
        (FINISH, SHARD_FILE, b'"latency_ms":'),
        (PLAN, "baseline/results.jsonl", b'"latency_ms":'),
        (PLAN, "baseline/scorecard.json", b'"confidence": '),
        (PLAN, "baseline/manifest.json", b'"finalized_at": '),
    ],
)
def test_b13_b14_value__files_between_commands(
    box: Box, argv: tuple[str, ...], name: str, key: bytes, value: str
) -> None:
    box.take_run()
    data = box.read(name)
    assert key in data, data[:2000]
    box.write(name, re.sub(re.escape(key) + rb"[^,}\n]+", key + value.encode(), data, count=1))
    done = box.call(*argv)
    assert done.code in {3, 4}, done
    box.check_refusal(done, [name.rpartition("/")[2]], done.code)
    assert "again" in done.err  # what to do
    assert len(done.err) < 2000


@pytest.mark.parametrize("value", [*NOT_JSON, DEEP, ""], ids=[*NOT_JSON, "deep", "empty"])
@pytest.mark.parametrize(
    ("argv", "name", "key"),
    [
        (("verify", "out"), "scorecard.json", b'"confidence": '),
        (("verify", "out"), "manifest.json", b'"finalized_at": '),
        (("verify", "out"), "results.jsonl", b'"latency_ms":'),
        (("verify", "out"), "plan/plan.json", b'"seed": '),
        (("verify", "out"), SHARD_FILE, b'"latency_ms":'),
        (("status", "out"), "manifest.json", b'"finalized_at": '),
        (("resume", "out"), "scorecard.json", b'"confidence": '),
        (("compare", "baseline", "out"), "results.jsonl", b'"latency_ms":'),
        (("baseline", "promote", "out"), "scorecard.json", b'"confidence": '),
    ],
)
def test_b13_b14_value__bundle(
    box: Box, argv: tuple[str, ...], name: str, key: bytes, value: str
) -> None:
    """A bundle that holds what no reader takes is refused by whoever reads it, never decided upon."""
    box.take_run()
    data = box.read(f"out/{name}")
    assert key in data
    box.write(
        f"out/{name}", re.sub(re.escape(key) + rb"[^,}\n]+", key + value.encode(), data, count=1)
    )
    done = box.call(*argv)
    assert done.code in {3, 4}, done
    box.check_refusal(done, [name.rpartition("/")[2]], done.code)
    assert len(done.err) < 2000


@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
def test_b13_b14_value__target_output(box: Box, value: str) -> None:
    """One bad answer is one failed case; the others are measured, and the run ends without a verdict."""
    rows = two_rows()
    bad = f'{{"answer": {{"confidence": {value}}}}}'.encode()
    box.answers.reply = lambda a: (200, bad if a.question == "q1" else {"answer": "Q2"})
    box.config(rows=rows)
    done = box.run()
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert len(done.out + done.err) < 5000
    found = box.results()
    assert found["c1"]["failure"]["class"] == "target"
    assert found["c1"]["scores"]["exact"] == {
        "state": "failed",
        "value": None,
        "reason": "target_failed",
    }
    assert found["c2"]["scores"]["exact"]["value"] == 1.0
    assert box.scorecard()["verdict"] == "blocked_missing"
    verified = box.call("verify", "new")
    assert verified.code == 0, verified


@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
def test_b13_b14_value__command_output(box: Box, value: str) -> None:
    box.write("answer.txt", value)
    code = "import sys; sys.stdin.read(); print(open('answer.txt').read())"
    box.config(
        rows=two_rows()[:1],
        target=f"{{type: command, format: json, run: {python(code)}}}",
    )
    done = box.run()
    assert done.code == 2, done
    assert "Traceback" not in done.err
    assert box.results()["c1"]["failure"]["class"] == "target"


@pytest.mark.parametrize("value", [*NOT_JSON, *BEYOND], ids=[*NOT_JSON, "deep", "digits"])
def test_b13_b14_value__text_under_a_schema(box: Box, value: str) -> None:
    """Text output that other readers refuse does not pass; what is beyond our limits is no verdict."""
    box.answers.reply = lambda _: (200, {"answer": value})
    box.config(
        rows=two_rows()[:1],
        judges="[{id: exact, type: json-schema, schema: {type: [number, array, object]}}]",
    )
    done = box.run()
    assert done.code == (1 if value in NOT_JSON else 2), done
    cell = box.results()["c1"]["scores"]["exact"]
    assert (cell["state"], cell["value"]) == (
        ("scored", 0.0) if value in NOT_JSON else ("failed", None)
    )


@pytest.mark.parametrize(
    "reply", [*NOT_JSON, DEEP, DIGITS, "", "null", '{"value": NaN}', '{"value": 1e999}'],
    ids=[*NOT_JSON, "deep", "digits", "empty", "null", "value-nan", "value-1e999"],
)  # fmt: skip
def test_b11_b13_b14_value__judge_reply(box: Box, reply: str) -> None:
    """A judge that answers nonsense has failed: no score, no 0, no pass; the other judge keeps its own."""
    box.write("reply.txt", reply)
    code = "import sys; sys.stdin.read(); sys.stdout.write(open('reply.txt').read())"
    box.config(
        rows=two_rows()[:1],
        judges=f"[{{id: exact, type: exact}}, {{id: own, type: command, run: {python(code)}}}]",
        gates="[{id: quality, metric: own, min: 0}, {id: plain, metric: exact, min: 1}]",
    )
    done = box.run()
    assert done.code == 2, done
    assert "Traceback" not in done.err
    scores = box.results()["c1"]["scores"]
    assert (scores["own"]["state"], scores["own"]["value"]) == ("failed", None)
    assert scores["exact"]["value"] == 1.0
    assert "1 of 1 case has no score" in done.out
    assert box.scorecard()["incomplete"][0]["message"] == "no score from judge:own for 1 of 1 case"


@pytest.mark.parametrize("kind", KINDS)
def test_b16_reserved_names__stay_data(box: Box, kind: str) -> None:
    """Fields called like built-ins reach neither the judges' `output` nor the results' own fields."""
    row: dict[str, Any] = {
        "id": "c1",
        "input": "hi",
        "expected": "hello",
        "output": "a dataset field\nwith two lines",
        "score": "1",
        "passed": "true",
        "error": "none",
        "trial": "7",
    }
    own = (
        "import json, sys; ask = json.load(sys.stdin); print(json.dumps(ask['output'] == 'hello'))"
    )
    box.answers.reply = lambda _: (200, {"answer": "hello"})
    box.data(
        kind,
        dataset(kind, [row]),
        target=box.target(body='{q: "{{ metadata.output }}", id: "{{ id }}"}'),
        judges=f"[{{id: exact, type: exact}}, {{id: own, type: command, run: {python(own)}}}]",
    )
    done = box.run()
    assert done.code == 0, done
    assert box.answers.asked[0].question == row["output"]
    found = lines(box.folder / "new" / "results.jsonl")
    assert [(row["trial"], row["output"]) for row in found] == [(0, "hello")]
    assert [score["value"] for score in found[0]["scores"].values()] == [1.0, 1.0]
