"""Faults of configs (B17 to B32), through the command line and through every door they reach.

What belongs to later steps: the judge `llm` of B28 (here, the pass marks of the judges there are) and the
hint about pull requests from forks of B29.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faults import DIGITS, KINDS, SHARD_FILE, dataset, two_rows
from tests.e2e.suites import CONFIG

if TYPE_CHECKING:
    from tests.e2e.faults import Box

FINISH = ("finish", "--plan", "plan", "--results", "results", "--out", "new")
PLAN = ("plan", CONFIG, "--out", "planned", "--baseline", "baseline")
WORDS = "YAML 1.1 boolean"
QUOTE = "quote it"


@pytest.mark.parametrize(
    ("part", "place", "key"),
    [
        ({"cases": "[{path: cases.jsonl, split: no}]"}, "3:36", "cases[0].split"),
        ({"judges": "[{id: exact, type: contains, value: yes}]"}, "5:45", "judges[0].value"),
        ({"judges": "[{id: off, type: exact}]"}, "5:15", "judges[0].id"),
        ({"gates": "[{id: quality, metric: on, min: 0.5}]"}, "6:31", "gates[0].metric"),
        ({"more": "on: {failure: comment}\n"}, "7:1", "on"),
        ({"more": "profiles: {pr: {suite: No}}\n"}, "7:24", "profiles.pr.suite"),
    ],
)
def test_b17_words__are_no_booleans(box: Box, part: dict[str, Any], place: str, key: str) -> None:
    box.config(**part).refused(f"{CONFIG}:{place}:", f"{key}: ", WORDS, QUOTE)


def test_b17_words__in_a_header_and_an_extended_file(box: Box) -> None:
    box.config(target=box.target(more=", headers: {x-region: NO}"))
    box.refused(f"{CONFIG}:4:", "target.headers.x-region", WORDS, QUOTE)
    box.config(more="extends: base.yaml\n").write("base.yaml", "batch: 2\nstore_outputs: off\n")
    box.refused("base.yaml:2:16: store_outputs", WORDS, QUOTE)


@pytest.mark.parametrize("kind", KINDS)
def test_b17_words__are_texts_in_datasets(box: Box, kind: str) -> None:
    rows = [{"id": "no", "input": "norway", "expected": "no"}, {"id": "yes", "input": "y", "expected": "on"}]  # fmt: skip
    replies = {"norway": "no", "y": "on"}
    box.answers.reply = lambda asked: (200, {"answer": replies[asked.question]})
    box.data(kind, dataset(kind, rows), more="batch: 1\n")
    box.write("ids.txt", "no\nyes\n")
    done = box.run("--ids-file", "ids.txt")
    assert done.code == 0, done
    assert [row["scores"]["exact"]["value"] for row in box.results().values()] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("expected", "output", "code"), [(1, 1.001, 0), (1, 1.0011, 1), ("1e0", "1.0009", 0)]
)
def test_b19_scientific__is_a_number(box: Box, expected: Any, output: Any, code: int) -> None:
    box.answers.reply = lambda _: (200, {"answer": output})
    box.config(
        judges="[{id: exact, type: numeric, tolerance: 1e-3}]",
        gates="[{id: quality, metric: exact, min: 9e-1}]",
        rows=[{"id": "c1", "input": "x", "expected": expected}],
    )
    done = box.run()
    assert done.code == code, done
    assert box.scorecard()["gates"][0]["threshold"] == 0.9


@pytest.mark.parametrize(
    ("part", "place", "key"),
    [
        ({"gates": '[{id: quality, metric: exact, min: "9e-1"}]'}, "6:43", "gates[0].min"),
        ({"judges": "[{id: exact, type: numeric, tolerance: 1e-3x}]"}, "5:48", "judges[0].tolerance"),
        ({"more": "trials: '2'\n"}, "7:9", "trials"),
        ({"more": "profiles: {pr: {trials: two}}\n"}, "7:25", "profiles.pr.trials"),
    ],
)  # fmt: skip
def test_b19_text__is_no_number(box: Box, part: dict[str, Any], place: str, key: str) -> None:
    box.config(**part).refused(f"{CONFIG}:{place}: {key}: expected", "found the text")


@pytest.mark.parametrize(
    ("more", "lines"),
    [
        ("gates: [{id: speed, metric: latency_ms, stat: p95, max: 9000}]\n", (6, 7)),
        ("batch: 1\nbatch: 2\n", (7, 8)),
        ("settle:\n  interval: 1s\n  interval: 2s\n", (8, 9)),
        ("settle:\n  <<: {interval: 1s}\n  <<: {interval: 2s}\n", (8, 9)),
        ("settle:\n  <<:\n    interval: 1s\n    interval: 2s\n", (9, 10)),
        ("profiles:\n  pr:\n    batch: 1\n    batch: 2\n", (9, 10)),
    ],
)
def test_b20_repeated_key__names_both_lines(box: Box, more: str, lines: tuple[int, int]) -> None:
    first, second = lines
    box.config(more=more).refused(
        f"{CONFIG}:{second}:", "is given twice", f"line {first} and in line {second}"
    )


def test_b20_repeated_key__extended_file(box: Box) -> None:
    box.config(more="extends: base.yaml\n").write("base.yaml", "batch: 1\ntrials: 1\nbatch: 2\n")
    box.refused("base.yaml:3:1: batch", "line 1 and in line 3")


@pytest.mark.parametrize(
    ("kind", "data", "place"),
    [
        ("jsonl", b'{"id":"c1","input":"a"}\n{"id":"c2","input":"b","input":"c"}\n', "jsonl:2"),
        ("json", b'[{"id":"c1","input":"a"},\n{"id":"c2","input":"b","input":"c"}]', "json:2"),
        ("jsonl", b'{"id":"c1","input":"a","metadata":{"k":1,"k":2}}\n', "jsonl:1"),
        ("csv", b"id,input,input\nc1,a,b\n", "csv:1"),
    ],
)
def test_b20_repeated_key__dataset(box: Box, kind: str, data: bytes, place: str) -> None:
    box.data(kind, data).refused(f"cases.{place}", "twice")


def test_b20_repeated_key__schema_file(box: Box) -> None:
    box.config(judges="[{id: exact, type: json-schema, schema: s.json}]")
    box.write("s.json", '{"type": "object",\n "type": "array"}')
    box.refused("s.json", "'type' is given twice")


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (FINISH, "plan/plan.json"),
        (FINISH, "plan/cases-0000.jsonl"),
        (FINISH, SHARD_FILE),
        (PLAN, "baseline/results.jsonl"),
        (PLAN, "baseline/scorecard.json"),
        (PLAN, "baseline/manifest.json"),
    ],
)
def test_b20_repeated_key__files_between_commands(
    box: Box, argv: tuple[str, ...], name: str
) -> None:
    """Which of the two another reader takes is open, so the file is no longer the one written."""
    box.take_run()
    box.write(name, box.read(name).replace(b"{", b'{"schema":"x",', 1))
    done = box.call(*argv)
    assert done.code in {3, 4}, done
    box.check_refusal(done, [name.rpartition("/")[2]], done.code)


def test_b20_repeated_key__target_output_and_judge_reply(box: Box) -> None:
    twice = b'{"answer": "Q1", "answer": "nonsense"}'
    box.answers.reply = lambda a: (200, twice if a.question == "q1" else {"answer": "Q2"})
    reply = 'import sys; sys.stdin.read(); print(\'{"value": 1, "value": 0}\')'
    own = json.dumps([sys.executable, "-c", reply])
    box.config(judges=f"[{{id: exact, type: exact}}, {{id: own, type: command, run: {own}}}]")
    done = box.run()
    assert done.code == 2, done
    found = box.results()
    assert found["c1"]["failure"]["class"] == "target"
    assert found["c2"]["scores"]["exact"]["value"] == 1.0
    assert found["c2"]["scores"]["own"]["state"] == "failed"
    assert "given twice" in found["c2"]["scores"]["own"]["reason"]


def test_b22_indent__the_checks_do_not_become_data(box: Box) -> None:
    box.config(cases="[{id: c1, vars: {input: say 72, judges: [{type: exact}]}}]")
    box.refused(f"{CONFIG}:3:18: cases[0].vars", "holds `judges`", "at the top level")
    box.write(
        CONFIG,
        "version: 1\nsuite: s\ncases: [{path: cases.jsonl}]\ntarget:\n  type: command\n"
        "  run: [cat]\n  judges: [{id: e, type: exact}]\n  gates: [{id: g, metric: e, min: 1}]\n",
    )
    box.refused("target.judges", f"{CONFIG}:7:3", f"{CONFIG}:8:3", "belongs at the top level")


@pytest.mark.parametrize("kind", ["jsonl", "json"])
@pytest.mark.parametrize("name", ["vars", "metadata"])
def test_b22_indent__a_section_inside_of_a_case(box: Box, kind: str, name: str) -> None:
    row = {"id": "c2", "input": "x", "expected": "X", name: {"judges": [{"type": "exact"}]}}
    data = (json.dumps(two_rows()[0]) + "\n" + json.dumps(row) + "\n").encode()
    if kind == "json":
        data = b"[" + data.strip().replace(b"\n", b",\n") + b"]"
    box.data(kind, data).refused(f"cases.{kind}:2: {name}.judges", "belongs in the config")


def test_b22_case_without_a_judge__is_refused(box: Box) -> None:
    rows = [{**row, "tags": [f"t{at}"]} for at, row in enumerate(two_rows())]
    box.config(judges="[{id: exact, type: exact, when: {tags: [t0]}}]", rows=rows)
    box.refused(f"{CONFIG}:5", "no judge applies to 1 of 2 cases", "cases.jsonl:2")


UNKNOWN = [
    ("timout: 5\n", "7:1", "timout", "`timeout`"),
    ("batsh: 5\n", "7:1", "batsh", "`batch`"),
    ("settle: {intervall: 5s}\n", "7:10", "settle.intervall", "`interval`"),
    ("baseline: {on_misssing: bootstrap}\n", "7:12", "baseline.on_misssing", "`on_missing`"),
    ("profiles: {pr: {trails: 3}}\n", "7:17", "profiles.pr.trails", "`trials`"),
    ("assert: [{type: equals}]\n", "7:1", "assert", "`judges`"),
]


@pytest.mark.parametrize(("more", "place", "key", "hint"), UNKNOWN)
def test_b23_unknown_key__is_refused_with_the_near_one(
    box: Box, more: str, place: str, key: str, hint: str
) -> None:
    box.config(more=more).refused(f"{CONFIG}:{place}: {key}: unknown key", hint)


@pytest.mark.parametrize(
    ("part", "key", "hint"),
    [
        ({"cases": "[{path: cases.jsonl, spilt: main}]"}, "cases[0].spilt", "`split`"),
        ({"target": "{type: command, run: [cat], timout: 5}"}, "target.timout", "`timeout`"),
        ({"judges": "[{id: exact, type: exact, normalise: [strip]}]"}, "judges[0].normalise", "`normalize`"),
        ({"judges": "[{id: exact, type: exact, when: {tag: [a]}}]"}, "judges[0].when.tag", "`tags`"),
        ({"gates": "[{id: quality, metric: exact, minimum: 0.9}]"}, "gates[0].minimum", "`min`"),
        ({"gates": "[{id: quality, metric: exact, no_regression: {max_dorp: 0}}]"}, "gates[0].no_regression.max_dorp", "`max_drop`"),
    ],
)  # fmt: skip
def test_b23_unknown_key__at_every_depth(
    box: Box, part: dict[str, Any], key: str, hint: str
) -> None:
    box.config(**part).refused(f"{key}: unknown key", hint)


def test_b23_unknown_key__extended_file(box: Box) -> None:
    box.config(more="extends: base.yaml\n").write("base.yaml", "\ntrails: 3\n")
    box.refused("base.yaml:2:1: trails: unknown key", "`trials`")


@pytest.mark.parametrize("section", ["judges", "gates", "cases", "target"])
@pytest.mark.parametrize("how", ["absent", "empty"])
def test_b23_nothing_to_check_with__is_refused(box: Box, section: str, how: str) -> None:
    kept = [line for line in box.config().read(CONFIG).splitlines() if section not in str(line[:7])]
    kept += [f"{section}: []".encode()] if how == "empty" else []
    box.write(CONFIG, b"\n".join(kept) + b"\n")
    box.refused(CONFIG, section)


@pytest.mark.parametrize("kind", KINDS)
def test_b23_unknown_field__dataset(box: Box, kind: str) -> None:
    """Strange fields are data, but for those that are nearly ours."""
    rows = [{"id": "c1", "input": "a", "expcted": "A"}, {"id": "c2", "input": "b", "expcted": "B"}]
    box.data(kind, dataset(kind, rows)).refused(f"cases.{kind}:2", "expcted", "'expected'")


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"judges": "[{id: exact, type: contain, value: ok}]"}, ("5:28: judges[0].type", "'contains'")),
        ({"judges": "[{id: exact, type: excat}]"}, ("judges[0].type", "'exact'")),
        ({"judges": "[{id: exact, type: lmm}]"}, ("judges[0].type", "'llm'")),
        ({"target": "{type: htpp, url: 'http://127.0.0.1:9/'}"}, ("4:16: target.type", "'http'")),
        ({"gates": '[{id: g, metric: "mean:c", min: 0.5}]'}, ("6:25: gates[0].metric", "'mean:c'", "'exact'")),
        ({"gates": "[{id: g, metric: exat, min: 0.5}]"}, ("gates[0].metric", "'exact'")),
        ({"gates": "[{id: g, metric: p95_latencyy, max: 3}]"}, ("gates[0].metric", "latency_ms")),
        ({"gates": "[{id: g, metric: exact, stat: p96, min: 1}]"}, ("gates[0].stat", "'p95'")),
        ({"gates": "[{id: g, metric: exact, split: mian, min: 1}]"}, ("gates[0].split", "'main'")),
        ({"gates": "[{id: g, metric: exact, cases: {ids: [c11]}, min: 1}]"}, ("gates[0].cases.ids", "'c1'")),
    ],
)  # fmt: skip
def test_b25_misspelt_name__before_the_first_call(
    box: Box, part: dict[str, Any], says: tuple[str, ...]
) -> None:
    box.config(**part).refused(CONFIG, *says)


ZEROES: list[tuple[str, Any]] = [("zero", 0), ("false", False), ("empty", "")]


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_b26_zero_false_and_empty__are_values(box: Box, kind: str) -> None:
    """As expected values, as outputs, as tolerance, as thresholds: they run and mean what they say."""
    rows = [{"id": name, "input": name, "expected": value} for name, value in ZEROES]
    replies = dict(ZEROES)
    box.answers.reply = lambda asked: (200, {"answer": replies[asked.question]})
    box.data(
        kind,
        dataset(kind, [{**row, "tags": [row["id"]]} for row in rows]),
        judges="[{id: exact, type: exact}, "
        "{id: number, type: numeric, tolerance: 0, when: {tags: [zero]}}, "
        "{id: text, type: contains, value: 0, pass_at: 0}]",
        gates="[{id: quality, metric: exact, min: 1}, {id: near, metric: number, min: 1}, "
        "{id: any, metric: text, min: 0}, {id: fails, metric: target_errors, max: 0}]",
    )
    done = box.run()
    assert done.code == 0, done
    found = box.results()
    assert {name: found[name]["output"] for name in found} == replies
    assert [found[name]["scores"]["exact"]["value"] for name, _ in ZEROES] == [1.0, 1.0, 1.0]
    assert [found[name]["scores"]["text"]["value"] for name, _ in ZEROES] == [1.0, 0.0, 0.0]
    assert [found[name]["passed"]["text"] for name, _ in ZEROES] == [True, True, True]


def test_b26_zero_false_and_empty__table(box: Box) -> None:
    box.answers.reply = lambda asked: (200, {"answer": "" if asked.question == "e" else "0"})
    box.data("csv", b'id,input,expected\nc1,e,""\nc2,z,0\n')
    done = box.run()
    assert done.code == 0, done
    assert [row["scores"]["exact"]["value"] for row in box.results().values()] == [1.0, 1.0]


def test_b26_zero__thresholds_block_and_pass(box: Box) -> None:
    box.answers.status = {"q1": 500}
    box.config(gates="[{id: fails, metric: target_errors, max: 0}]")
    done = box.run("--final")
    assert done.code == 1, done
    assert box.scorecard()["gates"][0]["threshold"] == 0


@pytest.mark.parametrize("more", ["trials: 0\n", "batch: 0\n", "shards: 0\n", "expect_cases: 0\n"])
def test_b26_zero__is_not_taken_for_absent(box: Box, more: str) -> None:
    box.config(more=more).refused(f"{CONFIG}:7:", "the number 0")


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--preview=0", "at least 1 case"),
        ("--ids=", "no case is named"),
        ("--shards=0", "1 to 256"),
    ],
)
def test_b26_zero__options(box: Box, argument: str, says: str) -> None:
    box.config().refused(says, commands=("plan", "run"), more=(argument,))


@pytest.mark.parametrize("body", ['{"answer": null}', "{}", "null", ""])
def test_b26_null_and_nothing__are_no_answers(box: Box, body: str) -> None:
    box.answers.reply = lambda _: (200, body.encode())
    box.config(rows=two_rows()[:1])
    done = box.run()
    assert done.code == 2, done
    assert box.results()["c1"]["failure"]["class"] == "target"


@pytest.mark.parametrize(("reply", "value"), [("0", 0.0), ("false", 0.0), ('{"value": 0}', 0.0)])
def test_b26_zero__is_a_score(box: Box, reply: str, value: float) -> None:
    own = json.dumps([sys.executable, "-c", f"import sys; sys.stdin.read(); print({reply!r})"])
    box.config(
        judges=f"[{{id: own, type: command, run: {own}}}]",
        gates="[{id: quality, metric: own, min: 0.1}]",
    )
    done = box.run()
    assert done.code == 1, done
    cell = box.results()["c1"]["scores"]["own"]
    assert (cell["state"], cell["value"]) == ("scored", value)


MARKS = [
    (".nan", "finite"),
    (".inf", "finite"),
    ("-.inf", "finite"),
    ("1e999", ""),
    ('"0,8"', "0.8 with a point"),
    ('"80%"', "as a fraction"),
    ("true", "found true"),
    ("null", ""),
    ("80", "from 0 to 1"),
    ("NaN", "'NaN'"),
]


@pytest.mark.parametrize(("mark", "says"), [row for row in MARKS if row[0] != "null"])
def test_b28_pass_mark__is_a_number_on_the_scale(box: Box, mark: str, says: str) -> None:
    box.config(judges=f"[{{id: exact, type: exact, pass_at: {mark}}}]")
    box.refused(f"{CONFIG}:5:", "judges[0].pass_at", says)


@pytest.mark.parametrize(("mark", "says"), MARKS)
@pytest.mark.parametrize("rule", ["min", "max"])
def test_b28_threshold__is_a_number_that_can_decide(
    box: Box, rule: str, mark: str, says: str
) -> None:
    box.config(gates=f"[{{id: quality, metric: exact, {rule}: {mark}}}]")
    box.refused(f"{CONFIG}:6:", "gates[0]", "" if mark == "80" else says)


@pytest.mark.parametrize("mark", [row[0] for row in MARKS if row[0] not in {"80", "null"}])
@pytest.mark.parametrize("key", ["max_drop", "tolerance", "profile"])
def test_b28_other_limits__are_numbers(box: Box, key: str, mark: str) -> None:
    if key == "max_drop":
        box.config(
            gates=f"[{{id: quality, metric: exact, no_regression: {{max_drop: {mark}}}}}]"
        ).refused(f"{CONFIG}:6:", "no_regression.max_drop")
    elif key == "profile":
        gates = f"[{{id: quality, metric: exact, min: {mark}}}]"
        box.config(more=f"profiles: {{pr: {{gates: {gates}}}}}\n")
        box.refused(f"{CONFIG}:7:", "profiles.pr.gates[0].min")
    elif mark != '"80%"':  # relative, and legal
        box.config(
            judges=f"[{{id: exact, type: numeric, tolerance: {mark}}}]",
            rows=[{"id": "c1", "input": "x", "expected": 1}],
        ).refused(f"{CONFIG}:5:", "judges[0].tolerance")


@pytest.mark.parametrize("kind", KINDS)
def test_b28_expected__is_a_number_for_a_numeric_judge(box: Box, kind: str) -> None:
    rows = [{"id": "c1", "input": "x", "expected": "1"}, {"id": "c2", "input": "x", "expected": "NaN"}]  # fmt: skip
    line = {"jsonl": 2, "json": 7, "csv": 3}[kind]
    box.data(kind, dataset(kind, rows), judges="[{id: exact, type: numeric}]")
    box.refused(f"{CONFIG}:5", "a number", f"cases.{kind}:{line}")


TOKEN = "RC_TEST_TOKEN"
PLACES = {
    "headers": ', headers: {authorization: "Bearer ${RC_TEST_TOKEN}"}',
    "url": "?key=${RC_TEST_TOKEN}",
    "body": '{q: "{{ input }}", token: "${RC_TEST_TOKEN}"}',
}


def with_token(box: Box, place: str) -> Box:
    """The variable at one place of the target."""
    if place == "body":
        return box.config(target=box.target(body=PLACES["body"]))
    if place == "headers":
        return box.config(target=box.target(more=PLACES["headers"]))
    target = box.target().replace("/answer", "/answer" + PLACES["url"])
    return box.config(target=target)


@pytest.mark.parametrize("place", PLACES)
def test_b29_variable__unset_and_empty_are_two_messages(box: Box, place: str) -> None:
    with_token(box, place)
    assert "is set but empty" not in box.refused(f"{TOKEN} is not set", commands=("run",))
    for value in ("", "  "):
        says = f"{TOKEN} is set but empty"
        message = box.refused(says, commands=("run",), env={TOKEN: value})
        assert "is not set" not in message


def test_b29_variable__every_command_that_will_need_it(box: Box) -> None:
    """`validate` only when told to; `plan` runs where no secret is."""
    with_token(box, "headers")
    judge = json.dumps([sys.executable, "-c", "print(1)"])
    box.write(
        CONFIG,
        box.read(CONFIG).replace(
            b"[{id: exact, type: exact}]",
            f"[{{id: exact, type: exact}}, {{id: own, type: command, run: {judge}, "
            "env: {K: '${RC_TEST_KEY}'}}]".encode(),
        ),
    )
    assert box.call("validate", CONFIG).code == 0
    says = (f"{TOKEN} is not set", "RC_TEST_KEY is not set")
    box.refused(*says, commands=("validate",), more=("--check-env",))
    assert box.call("plan", CONFIG, "--out", "plan").code == 0
    shard = ("shard", "--plan", "plan", "--index", "0", "--out", "results")
    box.check_refusal(box.call(*shard), says, 3)
    box.check_refusal(box.call(*FINISH, "--repair", "1"), [], 3)
    only = box.call(*shard, "--judges", "none", env={TOKEN: "long-enough-a-token"})
    assert only.code in {0, 2}, only  # the judge's variable is not needed to ask the target
    assert len(box.answers.asked) == 2


def test_b29_variable__arrives_without_the_space_around_it(box: Box) -> None:
    with_token(box, "headers")
    done = box.run(env={TOKEN: " a-long-enough-token\n"})
    assert done.code == 0, done
    assert box.answers.asked[0].headers["authorization"] == "Bearer a-long-enough-token"


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ('{"type":"strng"}', "strng"),
        ('{"pattern":"(["}', "(["),
        ('{"type":"object","requierd":["answer"]}', "'required'"),
        ("{}", "checks nothing"),
        ("true", "checks nothing"),
        ('{"$ref":"http://127.0.0.1:9/s.json"}', "nothing is fetched"),
        ('{"$ref":"file:///etc/hostname"}', "nothing is fetched"),
        ("[]", "expected"),
        (DIGITS, ""),
    ],
    ids=["type", "pattern", "typo", "empty", "true", "remote", "file", "list", "digits"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["inline", "file"])
def test_b31_schema__broken_or_toothless_is_refused(
    box: Box, where: str, schema: str, says: str
) -> None:
    written = "s.json" if where == "file" else schema
    schema = schema.replace("127.0.0.1:9/s.json", box.answers.url.removeprefix("http://"))
    box.write("s.json", schema)
    box.config(judges=f"[{{id: exact, type: json-schema, schema: {written}}}]")
    box.refused("s.json" if where == "file" and schema[:1] == "[" else "", says)


@pytest.mark.parametrize(
    ("schema", "output"),
    [
        ('{"type":"string","format":"date"}', '"not-a-date"'),
        ('{"type":"number","minimum":0,"maximum":1}', "NaN"),
        ("false", "{}"),
    ],
)
def test_b31_schema__what_must_fail_fails(box: Box, schema: str, output: str) -> None:
    box.answers.reply = lambda _: (200, {"answer": output})
    box.config(judges=f"[{{id: exact, type: json-schema, schema: {schema}}}]")
    done = box.run()
    assert done.code == 1, done
    assert box.results()["c1"]["scores"]["exact"]["value"] == 0.0


def test_b32_negate__turns_the_value_and_no_failure(box: Box) -> None:
    box.answers.status = {"q2": 404}
    bad = json.dumps([sys.executable, "-c", "import sys; sys.stdin.read(); sys.exit(3)"])
    box.config(
        judges="[{id: p, type: contains, value: Q1}, {id: n, type: contains, value: Q1, negate: true}, "
        "{id: s, type: json-schema, schema: {type: number}, negate: true}, "
        "{id: r, type: regex, pattern: '^Q', negate: true}, "
        f"{{id: e, type: command, run: {bad}, negate: true}}]",
        gates="[{id: g, metric: n, min: 1}]",
    )
    done = box.run()
    assert done.code == 2, done
    scores = box.results()["c1"]["scores"]
    assert {name: cell["value"] for name, cell in scores.items()} == {
        "p": 1.0,
        "n": 0.0,
        "s": 1.0,
        "r": 0.0,
        "e": None,
    }
    assert scores["e"]["state"] == "failed"
    failed = box.results()["c2"]["scores"]
    assert {cell["state"] for cell in failed.values()} == {"failed"}


def test_b32_negate__a_broken_judge_is_refused_all_the_same(box: Box) -> None:
    box.config(judges="[{id: exact, type: regex, pattern: '(', negate: true}]")
    box.refused(f"{CONFIG}:5:", "judges[0].pattern", "not a regular expression")
