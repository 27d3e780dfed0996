"""Manifest, badge, failure and the order of writes: requirements 3a, S0-15, S0-19, S2-46, S2-60, S2-61, G-23, P-14."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.canonical import digest_bytes, parse_json
from releasecheck.errors import (
    ConfigError,
    DigestMismatch,
    EnvironmentMissing,
    InfrastructureError,
    Interrupted,
    Problem,
    Untrusted,
    UsageError,
)
from releasecheck.model.failure import FailureClass
from releasecheck.model.gate import GateSpec
from releasecheck.model.plan import PlannedJudge
from releasecheck.model.scorecard import Manifest, Outcome, Scorecard, Status
from releasecheck.publish import (
    CLOSING,
    OPENING,
    WITHDRAWN,
    LedgerFacts,
    LedgerFileFacts,
    Origin,
    badge,
    build_failure,
    build_manifest,
    closing_writes,
    is_stale,
    manifest_bytes,
    opening_writes,
    stale,
)
from releasecheck.redact import Redactor
from releasecheck.scorecard.badge_svg import COLORS, render_badge_svg
from releasecheck.scorecard.readback import BADGE_KEYS
from tests.unit.scorecard import samples

NOW = "2026-09-12T06:31:20.000Z"
FILES = {name: digest_bytes(name.encode()) for name in (*OPENING, "plan/plan.json")}
LEDGER = LedgerFacts(
    recorded_pairs=2,
    set_digest="sha256:" + "5e" * 32,
    duplicates=1,
    files=(LedgerFileFacts("shard-0000.attempt-1.jsonl", 0, 1, 5, "sha256:" + "ab" * 32, ended=True, stopped=None),),
    started_at="2026-09-12T06:30:01.000Z",
    completed_at="2026-09-12T06:31:10.000Z",
)  # fmt: skip
CASES = [("q001", "sha256:" + "11" * 32)]


def card(**changes: Any) -> Scorecard:
    return samples.scorecard([samples.row(samples.case(0))], **changes)


def manifest(
    scorecard: Scorecard | None = None, plan: dict[str, Any] | None = None, **changes: Any
) -> Manifest:
    given: dict[str, Any] = {
        "plan": samples.plan(**plan or {}),
        "scorecard": scorecard or card(),
        "ledger": LEDGER,
        "cases": CASES,
        "files": FILES,
        "origin": Origin("ci", {"python": "3.11.9"}, redactions=("SEARCH_TOKEN",)),
        "finalized_at": NOW,
        **changes,
    }
    return build_manifest(**given)


def test_build_manifest__holds_what_a_reader_must_know() -> None:
    found = parse_json(manifest_bytes(manifest(card(reasons=["pass: every gate held"]))))
    assert found["kind"] == "RAGRunManifest"
    assert found["schema"] == "releasecheck/manifest@1"
    assert found["dataset"]["cases"] == dict(CASES)
    assert found["dataset"]["digest"] == samples.plan().cases_digest
    assert found["context"]["commit"] == "3f2a9c1d" * 5
    assert found["ledger"] == {
        "expected_pairs": 168, "recorded_pairs": 2, "set_digest": LEDGER.set_digest, "duplicates": 1, "conflicts": 0,
    }  # fmt: skip
    assert found["shards"][0]["attempt"] == 1
    assert found["shards"][0]["digest"] == "sha256:" + "ab" * 32
    assert found["scoring"] == {
        "revision": 1, "kind": "initial", "revises": None, "digest": FILES["results.jsonl"],
        "judges": {judge.id: judge.digest for judge in samples.plan().judges},
        "observation": None, "score_plane": None,
    }  # fmt: skip
    assert found["decision"]["gates_digest"] == found["policy"]["gates_digest"]
    assert found["decision"]["verdict"] == "pass"
    assert found["decision"]["scorecard_digest"] == FILES["scorecard.json"]
    assert found["environment"] == {"tool": "releasecheck/0.1.0", "python": "3.11.9"}
    assert found["redactions"] == ["SEARCH_TOKEN"]
    assert found["attestation"] == "self_reported"
    assert found["files"] == FILES
    assert found["finalized_at"] == NOW
    assert (found["started_at"], found["completed_at"]) == (LEDGER.started_at, LEDGER.completed_at)
    assert found["policy"]["confidence"] == 0.95


def test_build_manifest__judges_and_gates_can_be_read_as_the_models_they_were() -> None:
    made = manifest()
    assert [PlannedJudge.model_validate(j).id for j in made.evaluators] == ["exact", "top5"]
    assert [GateSpec.model_validate(g).id for g in made.gates] == ["quality"]


def test_build_manifest__names_references_and_never_values() -> None:
    target = {
        "type": "http", "url": "${URL}/answer", "headers": {"authorization": "Bearer ${TOKEN}"},
    }  # fmt: skip
    data = manifest_bytes(manifest(plan={"target": target}))
    assert b"Bearer" not in data


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scorecard": card(run_id="rc-other")}, "rc-other"),
        ({"scorecard": card(verdict=None, exit_code=5, status="running")}, "still open"),
        (
            {"scorecard": card(verdict="blocked_missing", exit_code=2, status="running")},
            "still open",
        ),
        ({"files": {"scorecard.json": FILES["scorecard.json"]}}, "scorecard.html"),
    ],
)
def test_build_manifest__refuses_what_is_not_one_finished_run(
    changes: dict[str, Any], says: str
) -> None:
    """S0-18: a wrong call cannot finalize partial results."""
    with pytest.raises(Untrusted, match=says):
        manifest(**changes)


def test_build_manifest__an_open_run_has_a_manifest_that_says_so() -> None:
    made = manifest(card(verdict=None, exit_code=5, status="running"), finalized_at=None)
    assert made.finalized_at is None
    assert made.status == "running"


# --- Badge ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "message", "color"),
    [
        ("pass", "pass 2026-09-12 3f2a9c1 manifest", "brightgreen"),
        ("bootstrap", "no baseline yet 2026-09-12 3f2a9c1 manifest", "blue"),
        ("block", "blocked 2026-09-12 3f2a9c1 manifest", "red"),
        ("blocked_missing", "no verdict 2026-09-12 3f2a9c1 manifest", "orange"),
        ("not_comparable", "not comparable 2026-09-12 3f2a9c1 manifest", "yellow"),
    ],
)
def test_badge__of_a_final_run(verdict: str, message: str, color: str) -> None:
    made = card(verdict=verdict)
    final = manifest(made)
    found = badge(final, made)
    backing = digest_bytes(manifest_bytes(final))
    assert (found["message"], found["color"], found["label"]) == (
        f"{message} {backing[7:15]}",
        color,
        "docs-search release check",
    )
    assert badge(final, made, "sha256:" + "ab" * 32)["message"] == f"{message} abababab"
    assert found["isError"] is (verdict != "pass")
    assert set(found) <= BADGE_KEYS
    assert found["cacheSeconds"] >= 300


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"finalized_at": None}, "not final"),
        ({"origin": Origin("local")}, "local run"),
        ({"plan": {"mode": "preview"}}, "partial run"),
    ],
)
def test_badge__claims_nothing_for_any_other_run(changes: dict[str, Any], message: str) -> None:
    found = badge(manifest(**changes), card())
    assert (found["message"], found["color"], found["isError"]) == (message, "lightgrey", False)


def test_badge__an_overridden_block_says_so() -> None:
    made = card(verdict="block", overridden=True)
    found = badge(manifest(made), made)
    assert found["color"] == "orange"
    assert str(found["message"]).startswith("blocked, waived 2026-09-12 3f2a9c1 manifest ")


def test_badge__counts_quarantined_cases_not_entries() -> None:
    one = {"owner": "o", "reason": "r", "until": "2026-12-31"}
    aside = [{"case": "a", "judge": "exact", **one}, {"case": "a", "judge": "top5", **one}]
    made = card(quarantine=[*aside, {"case": "b", **one}])
    said = str(badge(manifest(made), made)["message"])
    assert said.startswith("pass, 2 quarantined 2026-09-12 3f2a9c1 manifest ")


def test_badge__a_changed_tree_is_not_its_commit() -> None:
    git = {"commit": "3f2a9c1d" * 5, "dirty": True}
    assert " 3f2a9c1-dirty manifest " in badge(manifest(plan={"git": git}), card())["message"]
    bare = str(badge(manifest(plan={"git": None}), card())["message"])
    assert bare.startswith("pass 2026-09-12 manifest ")


@pytest.mark.parametrize("verdict", ["pass", "bootstrap", "block", "blocked_missing"])
def test_stale__is_grey_whatever_it_was_and_cannot_be_painted(verdict: str) -> None:
    """G-23: what was once true is said to be past; doing it twice changes nothing."""
    made = card(verdict=verdict)
    claim = badge(manifest(made), made)
    old = stale(claim)
    assert (old["color"], old["isError"]) == ("lightgrey", True)
    assert old["message"] == f"stale, was {claim['message']}"
    assert (is_stale(claim), is_stale(old)) == (False, True)
    assert stale(old) == old
    assert set(old) <= BADGE_KEYS


def test_badge__refuses_a_manifest_of_another_decision() -> None:
    with pytest.raises(Untrusted, match="no badge"):
        badge(manifest(card(verdict="pass")), card(verdict="block"))


@given(
    verdict=st.sampled_from([None, *get_args(Outcome)]),
    status=st.sampled_from(get_args(Status)),
    mode=st.sampled_from(["full", "preview", "delta"]),
    provenance=st.sampled_from(["ci", "local"]),
    overridden=st.booleans(),
    final=st.booleans(),
)
def test_badge__is_green_only_for_a_final_full_pass_in_ci(
    *, verdict: Any, status: Any, mode: str, provenance: Any, overridden: bool, final: bool
) -> None:
    made = card(verdict=verdict, status=status, mode=mode, overridden=overridden)
    stamp = NOW if final and verdict is not None and status != "running" else None
    found = badge(
        manifest(made, {"mode": mode}, origin=Origin(provenance), finalized_at=stamp), made
    )
    green = (verdict, mode, provenance, overridden, stamp) == ("pass", "full", "ci", False, NOW)
    assert (found["color"] == "brightgreen") == green
    assert found["color"] in COLORS
    assert b"<svg" in render_badge_svg(found)


# --- Writes -----------------------------------------------------------------------------------------


def test_writes__terminal_state_first_and_the_stamp_last_but_for_the_badge() -> None:
    made = card()
    others = dict.fromkeys(OPENING[1:], (b"x",))
    first = opening_writes(made, others)
    final = manifest(made)
    last = closing_writes(final, badge(final, made), b"<svg/>")
    assert [write.path for write in first] == list(OPENING)
    assert first[0].path == "scorecard.json"
    assert Scorecard.model_validate(parse_json(b"".join(first[0].chunks))) == made
    assert (
        [write.path for write in last]
        == ["manifest.json", "badge.json", "badge.svg"]
        == list(CLOSING)
    )
    assert b"".join(last[0].chunks) == manifest_bytes(final)
    assert not set(WITHDRAWN) & set(OPENING)
    assert set(CLOSING) <= set(WITHDRAWN)


@pytest.mark.parametrize(
    "others", [{}, {**dict.fromkeys(OPENING[1:], (b"",)), "extra.txt": (b"",)}]
)
def test_opening_writes__takes_exactly_the_reports(others: dict[str, tuple[bytes]]) -> None:
    with pytest.raises(ValueError, match="a bundle needs"):
        opening_writes(card(), others)


# --- Failure ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "cls", "code", "exit_code", "todo"),
    [
        (ConfigError([Problem("no", "a.yaml", 3)]), "config", "config_invalid", 3, "Repair"),
        (EnvironmentMissing(["TOKEN"], []), "config", "environment_missing", 3, "Repair"),
        (UsageError("no such folder"), "config", "usage", 3, "Repair"),
        (DigestMismatch("x", found="a", expected="b"), "infra", "digest_mismatch", 4, "original files"),
        (InfrastructureError("disk is full"), "infra", "infrastructure", 4, "Remove the cause"),
        (Interrupted("stopped"), "cancelled", "interrupted", 130, "releasecheck resume"),
        (KeyboardInterrupt(), "cancelled", "interrupted", 130, "releasecheck resume"),
        (MemoryError(), "infra", "out_of_memory", 4, "Remove the cause"),
        (OSError(28, "No space left on device", "out/x"), "infra", "io_error", 4, "Remove the cause"),
        (ZeroDivisionError("hunter2-is-secret"), "infra", "internal_error", 4, "report this"),
    ],
)  # fmt: skip
def test_build_failure__says_what_why_and_what_to_do(
    error: BaseException, cls: str, code: str, exit_code: int, todo: str
) -> None:
    found = build_failure(error, "merge", now=NOW)
    assert (found["class"], found["code"], found["exit_code"]) == (cls, code, exit_code)
    assert cls in get_args(FailureClass)
    assert todo in found["what_to_do"]
    assert found["stage"] == "merge"
    assert found["at"] == NOW
    assert found["run_id"] is None
    assert "hunter2" not in str(found)


def test_build_failure__names_the_run_and_what_is_recorded() -> None:
    plan = samples.plan()
    found = build_failure(
        InfrastructureError("the target did not start"),
        "target",
        now=NOW,
        plan=plan,
        recorded={"outputs": 40, "scores": 80},
    )
    assert (found["run_id"], found["plan_digest"]) == (plan.run_id, plan.plan_digest)
    assert found["suite"] == "docs-search"
    assert found["recorded"] == {"outputs": 40, "scores": 80}
    assert found["schema"] == "releasecheck/failure@1"


def test_build_failure__the_worst_of_a_group_decides() -> None:
    group = ExceptionGroup(
        "both", [UsageError("usage"), ExceptionGroup("in", [Untrusted("changed")])]
    )
    found = build_failure(group, "merge", now=NOW)
    assert (found["code"], found["message"]) == ("untrusted", "changed")


def test_build_failure__holds_no_secret_not_even_a_piece_of_one() -> None:
    secret = "s3cret-value-" + "x" * 100
    error = InfrastructureError("y" * 3990 + secret)
    found = build_failure(error, "target", now=NOW, redactor=Redactor({"TOKEN": secret}))
    assert "s3cret" not in found["message"]
    assert len(found["message"]) <= 4000
