"""`load_suite`: what people write wrong, each with line, column, key and what to do (contract 3)."""

from __future__ import annotations

import pytest

from releasecheck.canonical import digest, digest_bytes
from releasecheck.config import load_suite
from releasecheck.errors import ConfigError
from releasecheck.model.judge import ContainsJudge, JsonSchemaJudge, NumericJudge
from tests.unit.config.folder import Folder, config


def test_load_suite__defaults_of_the_contract(folder: Folder) -> None:
    loaded = folder.load()
    suite = loaded.suite

    assert (suite.trials, suite.batch, suite.shards, suite.confidence) == (1, 10, None, 0.95)
    assert (suite.target.timeout, suite.target.concurrency, suite.target.retries) == (60.0, 4, 1)
    assert (suite.store_outputs, suite.budget, suite.expires) == ("full", None, 86_400.0)
    assert (suite.baseline.min_overlap, suite.baseline.on_missing) == (0.9, "refuse")
    assert (suite.settle.interval, suite.settle.deadline) == (5.0, 300.0)
    assert (loaded.root, loaded.profile, loaded.notes) == (folder.root, None, ())
    assert loaded.digest == digest_bytes(loaded.path.read_bytes())
    assert dict(loaded.files) == {"r.yaml": loaded.digest}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # B17: booleans of YAML 1.1 in text fields
        (config(judges="[{id: j, type: exact}, {id: on, type: exact}]"),
         ["r.yaml:5:37: judges[1].id: expected text, found the YAML 1.1 boolean `on`; quote it (or "
          "write true or false, if that was meant)"]),
        (config(judges="[{id: j, type: exact, negate: yes}]"),
         ["r.yaml:5:39: judges[0].negate: expected text, found the YAML 1.1 boolean `yes`; quote it "
          "(or write true or false, if that was meant)"]),
        (config(target="{type: http, url: x, headers: {v: 2}}"),
         ["r.yaml:4:43: target.headers.v: expected text, found a number; quote it"]),
        (config(target="{type: command, run: [cat], env: {A: true}}"),
         ["r.yaml:4:46: target.env.A: expected text, found true; quote it"]),
        # B19, B28: text where a number is meant
        (config(gates='[{id: g, metric: j, min: "0.5"}]'),
         ["r.yaml:6:33: gates[0].min: expected a number, found the text '0.5'; write it without "
          "quotes"]),
        (config(gates='[{id: g, metric: j, min: 0,5}]'),
         ["r.yaml:6:35: gates[0].5: expected a text as key, found `5`; quote it"]),
        (config(gates='[{id: g, metric: j, min: "0,5"}]'),
         ["r.yaml:6:33: gates[0].min: expected a number, found the text '0,5'; write 0.5 with a "
          "point"]),
        (config(gates="[{id: g, metric: j, min: 80%}]"),
         ["r.yaml:6:33: gates[0].min: expected a number, found the text '80%'; write it as a "
          "fraction, such as 0.8 for 80 %"]),
        (config(gates="[{id: g, metric: j, min: true}]"),
         ["r.yaml:6:33: gates[0].min: expected a number, found true"]),
        (config(gates="[{id: g, metric: j, min: .nan}]"),
         ["r.yaml:6:33: gates[0].min: expected a finite number, found .nan"]),
        (config(more="trials: 1.0\n"),
         ["r.yaml:7:9: trials: expected a whole number, found the number 1.0"]),
        (config(more="trials: true\n"), ["r.yaml:7:9: trials: expected a whole number, found true"]),
        (config(more="trials: 0\n"),
         ["r.yaml:7:9: trials: expected a number of at least 1, found the number 0"]),
        (config(more="confidence: 1\n"),
         ["r.yaml:7:13: confidence: expected a number below 1, found the number 1"]),
        (config(more="expires: 1:30\n"),
         ["r.yaml:7:10: expires: expected text, found the YAML 1.1 base-60 number `1:30`; quote it "
          "(or write a plain decimal number, if that was meant)"]),
        (config(more="expires: 5 minutes\n"),
         ["r.yaml:7:10: expires: expected a duration such as 60s, 5m or 1h30m, found '5 minutes'"]),
        (config(more="store_outputs: digests\n"),
         ["r.yaml:7:16: store_outputs: expected one of 'full', 'digest', 'none', found the text "
          "'digests'; did you mean 'digest'?"]),
        # shapes
        (config(judges="{id: j, type: exact}"),
         ["r.yaml:5:1: judges: expected a list, found a mapping"]),
        (config(gates="[]"),
         ["r.yaml:6:1: gates: expected at least 1 entry, found an empty list"]),
        (config(gates="[5]"), ["r.yaml:6:9: gates[0]: expected a mapping, found the number 5"]),
        (config(target="5"), ["r.yaml:4:9: target: expected a mapping, found the number 5"]),
        (config(more="baseline: null\n"),
         ["r.yaml:7:11: baseline: expected a mapping, found null"]),
        (config(target="{type: command, run: cat}"),
         ["r.yaml:4:30: target.run: expected a list, found the text 'cat'"]),
        (config(target="{type: command, run: []}"),
         ["r.yaml:4:25: target.run: expected at least one entry, found an empty list"]),
        # B23: unknown keys at every depth
        (config(more="timout: 5\n"),
         ["r.yaml:7:1: timout: unknown key `timout`; did you mean `timeout`? It belongs in `target`"]),
        (config(more="trails: 5\n"), ["r.yaml:7:1: trails: unknown key `trails`; did you mean `trials`?"]),
        (config(gates="[{id: g, metric: j, min: 0.5, spilt: hard}]"),
         ["r.yaml:6:38: gates[0].spilt: unknown key `spilt`; did you mean `split`?"]),
        (config(gates="[{id: g, metric: j, no_regression: {maxdrop: 1}}]"),
         ["r.yaml:6:44: gates[0].no_regression.maxdrop: unknown key `maxdrop`; did you mean "
          "`max_drop`?"]),
        (config(target="{type: command, run: [cat], start: {run: [x], redy: /}}"),
         ["r.yaml:4:55: target.start.redy: unknown key `redy`; did you mean `ready`?"]),
        (config(target="{type: command, run: [cat], url: x}"),
         ["r.yaml:4:37: target.url: unknown key `url`; only the type 'http' has it"]),
        (config(target="{type: http, http: {x: 1}, url: x}"),
         ["r.yaml:4:22: target.http: unknown key `http`; the keys here are id, timeout, concurrency, "
          "rate_limit, retries, side_effects, output, usage, trace_id, start, type, url, method, "
          "headers, body, fingerprint"]),
        (config(more="pass_at: 0.5\n"),
         ["r.yaml:7:1: pass_at: unknown key `pass_at`; `pass_at` belongs in a judge"]),
        (config(cases="[{path: c.jsonl, judges: [{id: j, type: exact}]}]"),
         ["r.yaml:3:25: cases[0].judges: unknown key `judges`; `judges` belongs at the top level"]),
        # B25, misspelt types
        (config(target="{type: htttp, url: x}"),
         ["r.yaml:4:16: target.type: expected one of 'http', 'command', 'python', 'openai', 'plugin', found "
          "'htttp'; did you mean 'http'?"]),
        (config(target="{url: x}"),
         ["r.yaml:4:1: target: the key `type` is missing; expected one of 'http', 'command', "
          "'python', 'openai', 'plugin'"]),
        # union members that are not models
        (config(judges="[{id: j, type: numeric, tolerance: [1]}]"),
         ["r.yaml:5:33: judges[0].tolerance: expected a number or text, found a list of 1"]),
        (config(judges="[{id: j, type: numeric, tolerance: 5 percent}]"),
         ["r.yaml:5:44: judges[0].tolerance: expected a number or a percentage such as 0.1%, found "
          "the text '5 percent'"]),
        (config(judges="[{id: j, type: exact, pass_rule: most}]"),
         ["r.yaml:5:42: judges[0].pass_rule: expected all, any, majority or k-of-n as in 2-of-3, "
          "found the text 'most'"]),
        (config(judges="[{id: A b, type: exact}]"),
         ["r.yaml:5:15: judges[0].id: expected lower-case letters, digits, `_` and `-`, at most 63, "
          "found the text 'A b'"]),
        (config(gates="[{id: g, metric: j}]"),
         ["r.yaml:6:9: gates[0]: a gate needs exactly one of min, max, require, no_regression; found "
          "none"]),
        (config(gates="[{id: g, metric: j, min: 0.1, max: 0.5}]"),
         ["r.yaml:6:9: gates[0]: a gate needs exactly one of min, max, require, no_regression; found "
          "min, max"]),
    ],
)  # fmt: skip
def test_load_suite__what_is_wrong_is_named(folder: Folder, text: str, expected: list[str]) -> None:
    """B17, B19, B22, B23, B25, B28."""
    assert folder.refused(text) == expected


def test_load_suite__everything_at_once_in_the_order_of_the_file(folder: Folder) -> None:
    text = config(
        target="{type: command, run: [cat], timeout: soon}",
        judges="[{id: no, type: contain}]",
        gates="[{id: g, metric: j, minimum: 0.9}]",
        more="trials: 0\n",
    )

    found = folder.refused(text)

    assert [line.split(": ")[1] for line in found] == [
        "target.timeout", "judges[0].id", "judges[0].type", "gates[0].minimum", "trials",
    ]  # fmt: skip


def test_load_suite__missing_sections_are_all_named(folder: Folder) -> None:
    """B23: a suite without a judge or a gate is an error."""
    assert folder.refused("version: 1\nsuite: s\njudge: []\n") == [
        "r.yaml:1:1: cases: the key `cases` is missing; the file needs it",
        "r.yaml:1:1: target: the key `target` is missing; the file needs it",
        "r.yaml:1:1: judges: the key `judges` is missing; the file needs it",
        "r.yaml:1:1: gates: the key `gates` is missing; the file needs it",
        "r.yaml:3:1: judge: unknown key `judge`; did you mean `judges`?",
    ]


def test_load_suite__one_indent_too_many(folder: Folder) -> None:
    """B22: sections below another key are found and named."""
    text = (
        "version: 1\nsuite: s\ncases:\n  - path: c.jsonl\n    vars:\n      judges:\n"
        "        - {type: exact}\ntarget:\n  type: command\n  run: [cat]\n  gates: []\n"
    )

    assert folder.refused(text) == [
        "r.yaml:1:1: judges: the key `judges` is missing; the file needs it",
        "r.yaml:1:1: gates: the key `gates` is missing; the file needs it (there is one inside "
        "`target`, in line 11)",
        "r.yaml:5:5: cases[0].vars: unknown key `vars`; a case stands in a dataset file, `cases` names "
        "the files as `path:` (it holds `judges` in line 6, which belongs at the top level)",
        "r.yaml:11:3: target.gates: unknown key `gates`; `gates` belongs at the top level",
    ]


def test_load_suite__a_deadline_beyond_the_end_of_the_run_is_noted(folder: Folder) -> None:
    """G-12: a run that is closed before its judge may answer would always miss its scores."""
    judge = "[{id: j, type: precomputed, path: s.jsonl, wait: true, deadline: 7d, scale: [0, 1]}]"
    gates = "[{id: g, metric: j, min: 0.5}]"
    notes = [str(note) for note in folder.load(config(judges=judge, gates=gates)).notes]
    assert any("waited for 7d, and the run is closed 1d after" in note for note in notes)
    longer = folder.load(config(judges=judge, gates=gates) + "expires: 8d\n")
    assert not any("is closed" in str(note) for note in longer.notes)


def test_load_suite__zero_and_false_are_values(folder: Folder) -> None:
    """B26."""
    judges = (
        "[{id: n, type: numeric, tolerance: 0}, {id: m, type: contains, value: 0, pass_at: 0},"
        " {id: j, type: exact, negate: false}]"
    )
    gates = "[{id: a, metric: target_errors, max: 0}, {id: b, metric: m, stat: pass_rate, min: 0}]"
    loaded = folder.load(config(judges=judges, gates=gates))

    numeric, contains, _ = loaded.suite.judges
    assert isinstance(numeric, NumericJudge)
    assert numeric.tolerance == 0
    assert isinstance(contains, ContainsJudge)
    assert (contains.value, contains.pass_at) == (0, 0.0)
    assert [gate.max for gate in loaded.suite.gates] == [0.0, None]
    assert [gate.min for gate in loaded.suite.gates] == [None, 0.0]
    assert [str(note).rpartition(": ")[2] for note in loaded.notes] == [
        "every value of 'm' passes at 0",
        "no score can fall outside min 0; this gate only demands that no score is missing",
    ]


@pytest.mark.parametrize("number", ["1e-3", "1E-3", "0.001", ".001"])
def test_load_suite__scientific_notation_is_a_number(folder: Folder, number: str) -> None:
    """B19."""
    loaded = folder.load(config(judges=f"[{{id: j, type: numeric, tolerance: {number}}}]"))

    (judge,) = loaded.suite.judges
    assert isinstance(judge, NumericJudge)
    assert judge.tolerance == 0.001


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_load_suite__byte_order_marks_and_line_ends(folder: Folder, mark: bytes, end: str) -> None:
    """B01, B02: and places stay right."""
    data = mark + config(more="trials: 0\n").replace("\n", end).encode()

    assert folder.refused(data) == [
        "r.yaml:7:9: trials: expected a number of at least 1, found the number 0"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "r.yaml: the file is empty; expected a mapping"),
        (b"null\n", "r.yaml:1:1: expected a mapping with version, suite, cases, target, ...; found "
         "nothing (the file is empty)"),
        (b"- a\n", "r.yaml:1:1: expected a mapping with version, suite, cases, target, ...; found a "
         "list of 1"),
        ("a: 1".encode("utf-16"), "r.yaml: expected UTF-8 text, found UTF-16; save it as UTF-8"),
        ("a: 1".encode("utf-16-le"), "r.yaml: expected UTF-8 text, found NUL bytes (UTF-16 without a "
         "mark, or a binary file)"),
        ("a: 1\nb: né".encode("latin-1"), "r.yaml:2:5: expected UTF-8 text, found the byte 0xe9; the "
         "file is probably in Latin-1 or Windows-1252 - save it as UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
         "r.yaml: this is a git-lfs pointer, not the file; run `git lfs pull` first"),
        (b"<!DOCTYPE html><html>", "r.yaml: this is an HTML page, not data; probably a login or error "
         "page was saved"),
        (b"PK\x03\x04...", "r.yaml: expected UTF-8 text, found zip (or Excel); unpack or export it "
         "first"),
    ],
)  # fmt: skip
def test_load_suite__files_that_are_no_config(folder: Folder, data: bytes, message: str) -> None:
    assert folder.refused(data) == [message]


def test_load_suite__no_such_file_names_the_nearest(folder: Folder) -> None:
    folder.write("releasecheck.yaml", "")

    with pytest.raises(ConfigError, match=r"no such file; did you mean 'releasecheck\.yaml'\?"):
        load_suite(folder.root / "releasecheck.yml")
    with pytest.raises(ConfigError, match="found a folder"):
        load_suite(folder.root)


def test_load_suite__private_values_are_not_shown(folder: Folder) -> None:
    """What stands in headers, env and bodies may be a secret."""
    target = "{type: openai, base_url: x, model: m, messages: [{}], api_key: 12345678, env: 1}"

    assert "12345678" not in "".join(folder.refused(config(target=target)))


def test_load_suite__schema_files_are_read_and_frozen(folder: Folder) -> None:
    path = folder.write("schemas/a.json", b'\xef\xbb\xbf{"type": "object", "required": ["x"]}')
    judges = "[{id: j, type: json-schema, schema: schemas/a.json}]"

    loaded = folder.load(config(judges=judges))

    (judge,) = loaded.suite.judges
    assert isinstance(judge, JsonSchemaJudge)
    assert judge.schema_ == {"type": "object", "required": ["x"]}
    assert loaded.files["schemas/a.json"] == digest_bytes(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "r.yaml:5:45: judges[0].schema: the schema 'a.json': there is no such file"),
        (
            "{",
            "a.json:1:2: this schema is not JSON: Expecting property name enclosed in double quotes",
        ),
        ("[]", "a.json:1:1: expected a JSON Schema (an object, true or false) in this file"),
        (
            '{"type": NaN}',
            "a.json: this schema is not JSON: NaN is not JSON; expected a finite number",
        ),
    ],
)
def test_load_suite__schema_files_that_cannot_be_read(
    folder: Folder, content: str | None, message: str
) -> None:
    """B31: before the first call."""
    if content is not None:
        folder.write("a.json", content)

    found = folder.refused(config(judges="[{id: j, type: json-schema, schema: a.json}]"))

    assert len(found) == 1
    assert found[0].startswith(message)


@pytest.mark.parametrize("name", ["strng", "["])
def test_load_suite__schemas_that_are_invalid(folder: Folder, name: str) -> None:
    """B31: named at the judge's own line."""
    schema = {"strng": "{type: strng}", "[": '{pattern: "(["}'}[name]

    found = folder.refused(config(judges=f"[{{id: j, type: json-schema, schema: {schema}}}]"))

    assert found
    assert all(line.startswith("r.yaml:5:") and "judges[0].schema" in line for line in found)


# --- extends and profiles -----------------------------------------------------------------------


def test_load_suite__extends_merges_mappings_and_replaces_lists(folder: Folder) -> None:
    folder.write(
        "common/base.yaml",
        "target: {type: command, run: [cat], timeout: 5s}\n"
        "judges: [{id: a, type: exact}, {id: b, type: exact}]\n"
        "baseline: {path: old, min_overlap: 0.5}\n",
    )
    text = (
        "extends: common/base.yaml\nversion: 1\nsuite: s\ncases: [{path: c.jsonl}]\n"
        "target: {concurrency: 2}\njudges: [{id: j, type: exact}]\nbaseline: {path: new}\n"
        "gates: [{id: g, metric: j, min: 0.5}]\n"
    )

    loaded = folder.load(text)

    assert (loaded.suite.target.timeout, loaded.suite.target.concurrency) == (5.0, 2)
    assert [judge.id for judge in loaded.suite.judges] == ["j"]
    assert (loaded.suite.baseline.path, loaded.suite.baseline.min_overlap) == ("new", 0.5)
    assert list(loaded.files) == ["r.yaml", "common/base.yaml"]
    assert loaded.digest == digest(list(loaded.files.values()))


def test_load_suite__problems_of_the_extended_file_stand_at_its_own_lines(folder: Folder) -> None:
    folder.write("base.yaml", "target:\n  type: command\n  run: [cat]\n  timout: 5\n")
    text = "extends: base.yaml\n" + config(target="{concurrency: 0}")

    assert folder.refused(text) == [
        "base.yaml:4:3: target.timout: unknown key `timout`; did you mean `timeout`?",
        "r.yaml:5:23: target.concurrency: expected a number of at least 1, found the number 0",
    ]


@pytest.mark.parametrize(
    ("name", "base", "message"),
    [
        ("base.yaml", "extends: other.yaml\n", "base.yaml:1:10: extends: `extends` goes one level "
         "deep, and 'base.yaml' is itself extended here"),
        ("r.yaml", None, "r.yaml:1:10: extends: 'r.yaml' is this file itself; name another one"),
        ("bsae.yaml", "x: 1", "r.yaml:1:10: extends: 'bsae.yaml': there is no such file; did you mean "
         "'base.yaml'?"),
        ("[a.yaml]", None, "r.yaml:1:1: extends: expected the name of one other config file, found a "
         "list of 1"),
        ("base.yaml", "- 1\n", "base.yaml:1:1: expected a mapping with version, suite, cases, target, "
         "...; found a list of 1"),
    ],
)  # fmt: skip
def test_load_suite__extends_that_cannot_be(
    folder: Folder, name: str, base: str | None, message: str
) -> None:
    if base is not None:
        folder.write("base.yaml", base)

    assert folder.refused(f"extends: {name}\n" + config()) == [message]


PROFILES = "profiles:\n  pr: {trials: 2}\n  nightly:\n    trials: 5\n    target: {timeout: 9s}\n"


@pytest.mark.parametrize(
    ("profile", "trials", "timeout"), [(None, 1, 60.0), ("pr", 2, 60.0), ("nightly", 5, 9.0)]
)
def test_load_suite__profiles_are_overlays(
    folder: Folder, profile: str | None, trials: int, timeout: float
) -> None:
    loaded = folder.load(config(more=PROFILES), profile)

    assert (loaded.suite.trials, loaded.suite.target.timeout) == (trials, timeout)
    assert loaded.profile == profile


@pytest.mark.parametrize(
    ("base", "over", "cost"), [("{cost_usd: 5}", "null", None), ("null", "{cost_usd: 2}", 2.0)]
)
def test_load_suite__an_overlay_may_change_the_shape(
    folder: Folder, base: str, over: str, cost: float | None
) -> None:
    more = f"budget: {base}\nprofiles: {{pr: {{budget: {over}}}}}\n"

    budget = folder.load(config(more=more), "pr").suite.budget

    assert (budget and budget.cost_usd) == cost


def test_load_suite__an_unknown_profile_names_the_known(folder: Folder) -> None:
    assert folder.refused(config(more=PROFILES), profile="nigthly") == [
        "r.yaml: profiles: there is no profile 'nigthly'; it has 'pr', 'nightly'; did you mean "
        "'nightly'?"
    ]
    assert folder.refused(config(), profile="pr") == [
        "r.yaml: profiles: there is no profile 'pr'; it has none"
    ]


@pytest.mark.parametrize("profile", [None, "pr", "nightly"])
def test_load_suite__profiles_are_checked_even_when_not_chosen(
    folder: Folder, profile: str | None
) -> None:
    more = "profiles:\n  pr: {trails: 1}\n  nightly: {gates: [{id: g, metric: k, min: 0.5}]}\n"

    found = folder.refused(config(more=more), profile=profile)

    assert [line.split(": ")[0] for line in found] == ["r.yaml:8:8", "r.yaml:9:37"]
    assert "unknown key `trails`; did you mean `trials`?" in found[0]
    assert "there is no metric 'k'" in found[1]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("profiles: [pr]\n", "r.yaml:7:1: profiles: expected a mapping of names to overlays, found a "
         "list of 1"),
        ("profiles: {pr: 1}\n", "r.yaml:7:16: profiles.pr: expected a mapping of the keys that differ, "
         "found the number 1"),
        ("profiles: {pr: {extends: x}}\n", "r.yaml:7:26: profiles.pr.extends: `extends` belongs at "
         "the top level, not into a profile"),
    ],
)  # fmt: skip
def test_load_suite__profiles_that_cannot_be(folder: Folder, more: str, message: str) -> None:
    assert folder.refused(config(more=more)) == [message]


def test_load_suite__references_stay_references(folder: Folder) -> None:
    """S0-C5, B122: nothing reads the environment here."""
    loaded = folder.load(
        config(target='{type: http, url: "${HOME}/x", headers: {authorization: "Bearer ${TOKEN}"}}')
    )

    assert loaded.suite.target.model_dump()["url"] == "${HOME}/x"
