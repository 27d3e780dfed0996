"""Freezing a plan and reading it back (contract 4; S0-05, S0-29, X-08, G-26)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from releasecheck.canonical import digest, digest_bytes, dump_document, parse_json
from releasecheck.errors import DigestMismatch, ReleaseCheckError, Untrusted, UsageError
from releasecheck.model.case import Case
from releasecheck.model.plan import BaselinePin, GitState, plan_digest
from releasecheck.model.policy import Policy
from releasecheck.plan import (
    PLAN_FILE,
    assign_shards,
    freeze,
    iterate_cases,
    judge_identity,
    read_plan,
    select,
    target_identity,
    verify_plan,
)
from tests.strategies import case_lists
from tests.unit.plan.building import DIGEST, case, cases, circumstances, frozen, suite


def parts(plan: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The document and the case files, free to be changed."""
    files = dict(plan.files)
    document = parse_json(files.pop(PLAN_FILE))
    return document, files


def resealed(document: dict[str, Any]) -> dict[str, Any]:
    """A changed document with a plan digest that fits again."""
    return document | {"plan_digest": plan_digest(document)}


@given(case_lists(most=6, rich=True), st.integers(1, 6))
@settings(max_examples=50)
def test_verify_plan__takes_what_freeze_wrote(held: list[Case], count: int) -> None:
    plan = frozen(held, count)

    assert verify_plan(*parts(plan)) == plan.plan
    for shard in plan.plan.shards:
        lines = plan.files[shard.file].splitlines(keepends=True)
        found = list(iterate_cases(plan.plan, shard.index, lines))
        assert found == [held[c.index] for c in found]


def test_freeze__twice_gives_the_same_bytes() -> None:
    assert frozen(cases(9)).files == frozen(cases(9)).files


def test_freeze__names_and_counts() -> None:
    held = [*cases(3), case("x", 3, split="hard")]
    found = frozen(held, 3, times={"c000": 2.0})

    assert sorted(found.files) == [
        "cases-0000.jsonl", "cases-0001.jsonl", "cases-0002.jsonl", "plan.json",
    ]  # fmt: skip
    plan = found.plan
    assert plan.run_id == f"rc-{plan.plan_digest[7:19]}-u1"
    assert (plan.cases, plan.splits, plan.mode) == (4, {"hard": 1, "main": 3}, "full")
    assert (plan.pairs, plan.selection.of) == (4, 4)
    assert sum(shard.estimated_s or 0 for shard in plan.shards) == 8.0
    assert all(shard.estimated_s is None for shard in frozen(held).plan.shards)


def test_freeze__the_document_of_the_contract() -> None:
    """Contract section 4: what programs may rely on."""
    document, files = parts(frozen(cases(1), 1))

    assert document["schema"] == "releasecheck/plan@1"
    assert document["shards"][0]["file"] == "cases-0000.jsonl"
    assert document["baseline"] is None
    assert document["judges"][0]["contract"] == "builtin@1"
    assert document["policy"] == {
        "file": "r.yaml", "digest": DIGEST, "commit": None, "mode": "own", "introduced": False, "changes": None,
    }  # fmt: skip
    assert (document["policy_root"], document["adopted"]) == (None, None)
    assert json.loads(files["cases-0000.jsonl"]) == {
        "id": "c000", "input": "question c000", "expected": "c000", "split": "main", "tags": [],
        "metadata": {}, "source": {"path": "c.jsonl", "line": 1}, "index": 0,
        "digest": digest({"input": "question c000", "expected": "c000", "metadata": {}}),
    }  # fmt: skip


def test_freeze__references_are_written_as_they_are() -> None:
    """B122: no secret can be in a plan, since no variable is read."""
    target = {"type": "http", "url": "${URL:-http://x}/y", "headers": {"a": "Bearer ${TOKEN}"}}
    document, _ = parts(frozen(cases(1), of=suite(target=target)))

    assert document["target"]["url"] == "${URL:-http://x}/y"
    assert document["target"]["headers"] == {"a": "Bearer ${TOKEN}"}


@pytest.mark.parametrize("unique", ["", "A", "a_b", "a/b", "x" * 41, "a b", "a\n"])
def test_freeze__run_ids_that_cannot_be(unique: str) -> None:
    with pytest.raises(UsageError, match="1 to 40 lower-case letters, digits and dashes"):
        frozen(cases(1), unique=unique)


def test_freeze__no_cases_is_never_a_plan() -> None:
    """G-07."""
    chosen = select(cases(1))
    nothing = type(chosen)((), chosen.mode, chosen.selection)

    with pytest.raises(UsageError, match="no cases"):
        freeze(suite(), nothing, [judge_identity(suite().judges[0])], [[]], circumstances())


# --- what the digest covers ---------------------------------------------------------------------


PIN: dict[str, Any] = {
    "run_id": "rc-0", "plan_digest": DIGEST, "commit": "abc", "why": "x", "scorecard_digest": DIGEST,
    "results_digest": DIGEST, "manifest_digest": DIGEST,
}  # fmt: skip


def identity(held: Any = None, count: int = 2, of: Any = None, **changes: Any) -> str:
    return frozen(held or cases(4), count, of=of, **changes).plan.plan_digest


@pytest.mark.parametrize(
    "changes",
    [
        {"unique": "other"},
        {"created_at": "2030-01-01T00:00:00.000Z"},
        {"tool": "releasecheck/9.9.9"},
        {"git": GitState(commit="c" * 40)},
        {"context": {"actor": "somebody"}},
        {"policy": Policy(file="other.yaml", digest=DIGEST)},
        {"count": 3},
        {"times": {"c001": 5.0}},
        {"of": suite(batch=3)},
        {"of": suite(store_outputs="digest")},
        {"of": suite(budget={"cost_usd": 1.0})},
    ],
)
def test_freeze__what_cannot_decide_is_not_in_the_plan_digest(changes: dict[str, Any]) -> None:
    assert identity(**changes) == identity()


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"baseline": BaselinePin(**PIN)},
        {"of": suite(trials=2)},
        {"of": suite(suite="other")},
        {"of": suite(gates=[{"id": "g", "metric": "j", "min": 0.6}])},
        {"of": suite(judges=[{"id": "j", "type": "exact", "normalize": ["strip"]}])},
        {"of": suite(target={"type": "http", "url": "${URL}/y"})},
        {"of": suite(baseline={"min_overlap": 0.5})},
        {"held": cases(3)},
        {"held": [*cases(3), case("c003", 3, expected="other")]},
        {"held": [*cases(3), case("c003", 3, split="hard")]},
        {"held": [*cases(3), case("c003", 3, tags=("t",))]},
        {"held": [*cases(3), case("other", 3)]},
    ],
)
def test_freeze__what_can_decide_is_in_the_plan_digest(changes: dict[str, Any]) -> None:
    assert identity(**changes) != identity()


def test_freeze__why_a_baseline_was_chosen_is_not_in_the_plan_digest() -> None:
    one, two = BaselinePin(**PIN), BaselinePin(**PIN | {"why": "y", "commit": None})

    assert identity(baseline=one) == identity(baseline=two)


def test_verify_plan__does_not_depend_on_the_order_of_keys_and_files() -> None:
    document, files = parts(frozen(cases(5), 3))
    turned = dict(reversed(document.items()))

    assert verify_plan(turned, dict(reversed(files.items()))).run_id == document["run_id"]


def test_verify_plan__fields_of_newer_versions_are_ignored() -> None:
    """Contract section 4: within a major version fields are only added."""
    document, files = parts(frozen(cases(2)))
    document["from_the_future"] = {"x": 1}
    document["shards"][0]["hint"] = "x"

    assert verify_plan(document, files).cases == 2


# --- identities -----------------------------------------------------------------------------------


def judge_digest(spec: dict[str, Any], files: dict[str, str] | None = None) -> str:
    return judge_identity(
        suite(judges=[spec], gates=[{"id": "g", "metric": "tokens", "max": 1}]).judges[0], files
    ).digest


PYTHON: dict[str, Any] = {"id": "j", "type": "python", "function": "m:f"}


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": "5s"},
        {"concurrency": 9},
        {"negate": False},
        {"env": {}},
    ],
)
def test_judge_identity__what_cannot_change_a_score(change: dict[str, Any]) -> None:
    """Contract section 4: also a default that is written out."""
    assert judge_digest(PYTHON | change) == judge_digest(PYTHON)


@pytest.mark.parametrize(
    "change",
    [
        {"function": "m:g"}, {"id": "k"}, {"env": {"A": "1"}}, {"pass_at": 0.5}, {"pass_rule": "all"},
        {"input": "x"}, {"when": {"tags": ["a"]}}, {"better": "lower"}, {"negate": True},
    ],
)  # fmt: skip
def test_judge_identity__what_can(change: dict[str, Any]) -> None:
    assert judge_digest(PYTHON | change) != judge_digest(PYTHON)


def test_judge_identity__is_made_of_what_is_set() -> None:
    """Pinned: a later version with more options must find the judges of old baselines again."""
    spec = {"id": "j", "type": "exact", "normalize": ["strip"]}

    assert judge_digest(spec) == digest({"contract": "builtin@1", "spec": spec, "files": {}})


def test_judge_identity__its_files_count() -> None:
    one = judge_digest(PYTHON, {"m.py": DIGEST, "n.py": DIGEST})

    assert one == judge_digest(PYTHON, {"n.py": DIGEST, "m.py": DIGEST})
    assert one != judge_digest(PYTHON)
    assert one != judge_digest(PYTHON, {"m.py": DIGEST[:-1] + "b", "n.py": DIGEST})


@pytest.mark.parametrize(
    ("kind", "contract"),
    [
        ({"type": "exact"}, "builtin@1"),
        ({"type": "python", "function": "m:f"}, "python@1"),
        ({"type": "command", "run": ["x"]}, "command@1"),
    ],
)
def test_judge_identity__names_the_contract(kind: dict[str, Any], contract: str) -> None:
    spec = suite(judges=[{"id": "j", **kind}]).judges[0]

    assert judge_identity(spec).contract == contract


def test_target_identity__references_by_name() -> None:
    assert target_identity(suite().target) == target_identity(suite(trials=3).target)
    other = {"type": "http", "url": "${OTHER}/x", "concurrency": 8, "rate_limit": "10/s"}
    assert target_identity(suite().target) != target_identity(suite(target=other).target)


# --- nothing is believed ------------------------------------------------------------------------


def change(document: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    inner: Any = document
    for part in way:
        inner = inner[int(part)] if part.isdigit() else inner[part]
    inner[int(last) if last.isdigit() else last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("gates.0.min", 0.1), ("trials", 2), ("seed", 5), ("target.url", "http://evil"),
        ("judges.0.spec.normalize", ["strip"]), ("judges.0.digest", DIGEST), ("cases_digest", DIGEST),
        ("confidence", 0.9), ("suite", "t"), ("plan_digest", DIGEST), ("target_digest", DIGEST),
        ("shards.0.digest", DIGEST),
    ],
)  # fmt: skip
def test_verify_plan__a_change_is_found(path: str, value: Any) -> None:
    document, files = parts(frozen(cases(4)))
    change(document, path, value)

    with pytest.raises(DigestMismatch) as caught:
        verify_plan(document, files)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("judges.0.spec.normalize", ["strip"]), ("judges.0.digest", DIGEST), ("cases_digest", DIGEST),
        ("target.url", "http://evil"),
    ],
)  # fmt: skip
def test_verify_plan__a_change_is_found_though_the_plan_digest_was_made_anew(
    path: str, value: Any
) -> None:
    document, files = parts(frozen(cases(4)))
    change(document, path, value)

    with pytest.raises(DigestMismatch):
        verify_plan(resealed(document), files)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("run_id", "../../x", "no run id"),
        ("cases", 3, "do not add up"),
        ("shards.1.index", 2, "not numbered from 0"),
        ("shards.0.file", "../cases-0000.jsonl", "another file than its own"),
        ("shards.0.cases", 9, "do not add up"),
        ("splits", {"main": 3, "hard": 1}, "hold other splits"),
        ("batch", 0, "plans nothing"),
        ("batch", "x", "was not written by this program"),
        ("judges.0.spec.type", "llm", "was not written by this program"),
    ],
)
def test_verify_plan__documents_we_cannot_have_written(path: str, value: Any, message: str) -> None:
    """What no digest covers is checked all the same."""
    document, files = parts(frozen(cases(4)))
    change(document, path, value)

    with pytest.raises(Untrusted, match=message):
        verify_plan(document, files)


@pytest.mark.parametrize("document", [None, [], "x", 5])
def test_verify_plan__no_object(document: Any) -> None:
    with pytest.raises(Untrusted, match="expected a JSON object"):
        verify_plan(document, {})


@pytest.mark.parametrize("schema", [None, "releasecheck/plan@2", "releasecheck/results@1", 5])
def test_verify_plan__another_schema_is_refused_by_name(schema: Any) -> None:
    document, files = parts(frozen(cases(4)))

    with pytest.raises(UsageError, match="this version reads 'releasecheck/plan@1'"):
        verify_plan(document | {"schema": schema}, files)


def test_verify_plan__a_missing_field_is_no_crash() -> None:
    document, files = parts(frozen(cases(2), baseline=BaselinePin(**PIN)))
    for name in document:
        if name != "schema":
            less = {key: value for key, value in document.items() if key != name}
            optional = {"budget", "baseline", "git", "context", "policy_root", "adopted"}
            if name in {
                *optional,
                "target_plugin",
                "lapsed",
                "retry_of",
                "retry_classes",
                "revision",
                "revises",
                "keeps_measured",
            }:
                continue  # they have defaults; the digest notices where it matters
            with pytest.raises(ReleaseCheckError):
                verify_plan(less, files)


def test_verify_plan__case_files_that_were_changed() -> None:
    document, files = parts(frozen(cases(4)))
    first, second = "cases-0000.jsonl", "cases-0001.jsonl"
    line = files[first].splitlines(keepends=True)[0]

    def broken(changed: dict[str, bytes]) -> type[Exception]:
        with pytest.raises(Untrusted) as caught:
            verify_plan(document, changed)
        return type(caught.value)

    assert broken({second: files[second]}) is Untrusted
    assert broken(files | {first: files[second]}) is DigestMismatch
    assert broken(files | {first: files[first].replace(b"question", b"QUESTION")}) is DigestMismatch
    assert broken(files | {first: files[first] + b"\n"}) is Untrusted
    assert broken(files | {first: line}) is DigestMismatch
    assert broken(files | {first: files[first] + line}) is Untrusted
    assert broken(files | {first: b'{"id": "x"}\n'}) is Untrusted
    assert broken(files | {first: b"[1]\n"}) is Untrusted
    assert broken(files | {first: b"\xff\n"}) is Untrusted
    assert broken(files | {first: files[first].replace(b'"index":0', b'"index":"0"')}) is Untrusted
    assert broken(files | {first: files[first].replace(b'"split":"main"', b'"split":"hard"')}) is (
        DigestMismatch
    )


def test_verify_plan__shards_of_two_datasets_never_fit() -> None:
    """B100: one shard file from another order of the dataset."""
    document, files = parts(frozen(cases(12), 3))
    turned = [case(c.id, index) for index, c in enumerate(reversed(cases(12)))]
    _, others = parts(frozen(turned, 3))

    with pytest.raises(DigestMismatch):
        verify_plan(document, files | {"cases-0001.jsonl": others["cases-0001.jsonl"]})


def test_verify_plan__a_case_in_two_shards() -> None:
    """Shards are a partition, whatever the digests of a forged plan say."""
    document, files = parts(frozen(cases(2)))
    files["cases-0001.jsonl"] = files["cases-0000.jsonl"]
    document["shards"][1]["digest"] = document["shards"][0]["digest"]

    with pytest.raises(Untrusted, match="is in the plan twice"):
        verify_plan(document, files)


@pytest.mark.parametrize("order", [[1, 0], [0, 0]])
def test_iterate_cases__plan_order_is_checked(order: list[int]) -> None:
    """Though the digest of the file was made anew."""
    document, files = parts(frozen(cases(2), 1))
    rows = files["cases-0000.jsonl"].splitlines(keepends=True)
    data = b"".join(rows[place] for place in order)
    document["shards"][0]["digest"] = digest_bytes(data)

    with pytest.raises(Untrusted, match="is out of plan order"):
        list(iterate_cases(read_plan(document), 0, data.splitlines(keepends=True)))


def test_iterate_cases__says_at_the_end_when_lines_are_missing() -> None:
    plan = frozen(cases(4), 1)
    lines = plan.files["cases-0000.jsonl"].splitlines(keepends=True)

    with pytest.raises(DigestMismatch):
        list(iterate_cases(plan.plan, 0, lines[:3]))


def test_read_plan__needs_no_case_files() -> None:
    document, _ = parts(frozen(cases(4)))

    assert read_plan(document).cases == 4


def test_freeze__plan_json_is_readable_and_sorted() -> None:
    found = frozen(cases(2))

    assert found.files[PLAN_FILE] == dump_document(json.loads(found.files[PLAN_FILE]))


def test_assign_shards__many_cases() -> None:
    held = cases(20_000)

    shards = assign_shards(held, "auto", {c.id: float(c.index % 13) for c in held})

    assert sum(len(shard) for shard in shards) == 20_000
