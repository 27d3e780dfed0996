"""`verify` from the bundle alone: nothing that contradicts the ledger stands (issue 2, "Must hold" 3)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import digest
from tests.e2e.forge import edit, edit_lines, is_sealed, rebadge, rewrite_ledger, seal, seal_plan
from tests.e2e.suites import Answers, document, http_suite, lines, scorecard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.program import Program

LEDGER = "results/shard-0000.attempt-1.jsonl"
NO_REGRESSION = {"id": "no-worse", "metric": "exact", "no_regression": {"max_drop": 0.5}}


@dataclass
class Bundles:
    """One decided run, and copies of it to harm."""

    folder: Path
    whole: Path
    count: int = 0

    def copy(self) -> Path:
        """Copy the bundle."""
        self.count += 1
        out = self.folder / f"copy-{self.count}"
        shutil.copytree(self.whole, out)
        return out


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Iterator[Bundles]:
    """A run in two shards, blocked by one gate, with a baseline."""
    folder = tmp_path_factory.mktemp("verify")
    with Answers() as answers:
        gates = [{"id": "quality", "metric": "exact", "min": 0.9}, NO_REGRESSION]
        suite = http_suite(
            folder, answers, 4, shards=2, gates=gates, baseline={"on_missing": "bootstrap"}
        )
        first = program("run", suite.path, "--out", "first", cwd=folder)
        assert first.code == 0, first
        promoted = program("baseline", "promote", "first", cwd=folder)
        assert promoted.code == 0, promoted
        answers.wrong = {"q1"}
        blocked = program("run", suite.path, "--out", "whole", cwd=folder)
        assert blocked.code == 1, blocked
        yield Bundles(folder, folder / "whole")


def test_honest_bundle__verifies_anywhere(
    bundles: Bundles, program: Program, tmp_path: Path
) -> None:
    """Without suite, target and baseline folder at hand; and the forger below knows every digest."""
    out = tmp_path / "elsewhere"
    shutil.copytree(bundles.whole, out)
    done = program("verify", out, "--json", cwd=tmp_path)
    assert done.code == 0, done
    said = done.json()
    assert (said["verdict"], said["final"], said["differences"]) == ("block", True, [])
    assert is_sealed(out)
    assert program("verify", out, cwd=tmp_path).code == 0


def sealed_differences(bundles: Bundles, program: Program, out: Path) -> list[str]:
    """What `verify` finds in a bundle whose digests all match."""
    done = program("verify", out, "--json", cwd=bundles.folder)
    assert done.code == 4, done
    found: list[str] = done.json()["differences"]
    assert not [line for line in found if "its digest is" in line]
    return found


def better(row: dict[str, Any]) -> None:
    """Make a result right."""
    if row["case"] == "c1":
        row["scores"]["exact"]["value"] = 1.0
        row["passed"]["exact"] = True


def passed(row: dict[str, Any]) -> None:
    """Only say that it passed."""
    if row["case"] == "c1":
        row["passed"]["exact"] = True


def recorded_better(row: dict[str, Any]) -> None:
    """Make a record right."""
    if row.get("case") == "c1" and row["record"] == "score":
        row["value"] = 1.0


def other_output(row: dict[str, Any]) -> None:
    """Let the target have said something else; the score then belongs to it too."""
    if row.get("case") == "c1":
        row["output_digest"] = digest("Q1")
        if row["record"] == "output":
            row["output"] = "Q1"


def green(card: dict[str, Any]) -> None:
    """A scorecard that passes."""
    card |= {"verdict": "pass", "exit_code": 0, "reasons": ["pass: every gate held"]}
    for gate in card["gates"]:
        gate["outcome"] = "pass"


def ledger_with(out: Path, case: str) -> Path:
    """The ledger file that holds a case."""
    found = (out / "results").iterdir()
    return next(path for path in found if any(row.get("case") == case for row in lines(path)))


def set_gate(card: dict[str, Any]) -> None:
    card["gates"][0]["value"] = 0.95


def set_metric(card: dict[str, Any]) -> None:
    metric = next(found for found in card["metrics"] if found["metric"] == "exact")
    metric["value"] = 1.0


def set_interval(card: dict[str, Any]) -> None:
    metric = next(found for found in card["metrics"] if found["metric"] == "exact")
    metric["ci_low"] += 1e-6


def set_text(card: dict[str, Any]) -> None:
    card["exit_code"] = str(card["exit_code"])


def set_flag(card: dict[str, Any]) -> None:
    card["counts"]["missing"] = False


def set_flips(card: dict[str, Any]) -> None:
    card["flips"]["exact"]["new_failures"] = []


SCORECARDS: list[Callable[[dict[str, Any]], object]] = [
    green, set_gate, set_metric, set_interval, set_text, set_flag, set_flips,
]  # fmt: skip


@pytest.mark.parametrize("change", SCORECARDS)
def test_scorecard_edited__every_digest_matches__differs(
    bundles: Bundles, program: Program, change: Callable[[dict[str, Any]], object]
) -> None:
    out = bundles.copy()
    edit(out / "scorecard.json", change)
    if change is green:
        green_decision = {"verdict": "pass", "exit_code": 0, "reasons": ["pass: every gate held"]}
        edit(out / "manifest.json", lambda found: found["decision"].update(green_decision))
    seal(out)
    found = sealed_differences(bundles, program, out)
    assert any(line.startswith("scorecard.json: ") for line in found)


@pytest.mark.parametrize("change", [better, passed])
def test_results_edited__every_digest_matches__differs(
    bundles: Bundles, program: Program, change: Callable[[dict[str, Any]], object]
) -> None:
    """One changed score that contradicts the ledger."""
    out = bundles.copy()
    edit_lines(out / "results.jsonl", change)
    seal(out)
    found = sealed_differences(bundles, program, out)
    assert any(line.startswith("results.jsonl:2: ") for line in found)


@pytest.mark.parametrize("change", [recorded_better, other_output])
@pytest.mark.parametrize("sealed", [True, False])
def test_ledger_edited__differs(
    bundles: Bundles, program: Program, change: Callable[[dict[str, Any]], object], *, sealed: bool
) -> None:
    out = bundles.copy()
    if sealed:
        rewrite_ledger(ledger_with(out, "c1"), change)
        seal(out)
        assert sealed_differences(bundles, program, out)
        return
    edit_lines(ledger_with(out, "c1"), change)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done


def test_ledger_and_results_edited__metrics_differ(bundles: Bundles, program: Program) -> None:
    """Even with the results made to agree with the forged ledger, the decision does not follow."""
    out = bundles.copy()
    rewrite_ledger(ledger_with(out, "c1"), recorded_better)
    edit_lines(out / "results.jsonl", better)
    seal(out)
    found = sealed_differences(bundles, program, out)
    assert all(line.startswith("scorecard.json: ") for line in found[:3])


def test_record_dropped__differs(bundles: Bundles, program: Program) -> None:
    """A bad answer taken out of the ledger is a missing one, not a better average."""
    out = bundles.copy()
    path = ledger_with(out, "c1")
    rewrite_ledger(path, lambda _: None, drop=lambda row: row.get("case") == "c1")
    seal(out)
    found = sealed_differences(bundles, program, out)
    assert "scorecard.json: counts.missing: found 0, expected 1" in found


def lower_gate(plan: dict[str, Any]) -> None:
    plan["gates"][0]["min"] = 0.1


def other_run(plan: dict[str, Any]) -> None:
    plan["run_id"] = plan["run_id"][:-1] + ("0" if plan["run_id"][-1] != "0" else "1")


def no_baseline(plan: dict[str, Any]) -> None:
    plan["baseline"] = None


@pytest.mark.parametrize("change", [lower_gate, other_run, no_baseline])
@pytest.mark.parametrize("ledger_too", [False, True])
def test_plan_edited__every_digest_matches__differs(
    bundles: Bundles,
    program: Program,
    change: Callable[[dict[str, Any]], object],
    *,
    ledger_too: bool,
) -> None:
    """A gate threshold, the run, the baseline; with and without the ledger's headers forged too."""
    out = bundles.copy()
    edit(out / "plan" / "plan.json", change)
    seal_plan(out / "plan")
    if ledger_too:
        plan = document(out / "plan" / "plan.json")
        named = {name: plan[name] for name in ("run_id", "plan_digest")}

        def rename(row: dict[str, Any]) -> None:
            if row["record"] == "shard":
                row |= named

        for path in sorted((out / "results").iterdir()):
            rewrite_ledger(path, rename)
    seal(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done


@pytest.mark.parametrize("sealed", [True, False])
def test_case_edited__differs(bundles: Bundles, program: Program, *, sealed: bool) -> None:
    """What was expected is changed to what was answered."""
    out = bundles.copy()

    def expect(row: dict[str, Any]) -> None:
        if row["id"] == "c1":
            row["expected"] = "nonsense"

    for path in (out / "plan").glob("cases-*.jsonl"):
        edit_lines(path, expect)
    if sealed:
        seal_plan(out / "plan")
        seal(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("name", ["scorecard.html", "summary.md", "junit.xml"])
def test_report_edited__differs(
    bundles: Bundles, program: Program, name: str, *, sealed: bool
) -> None:
    """What people read is what the scorecard and the results render to, whatever a digest says."""
    out = bundles.copy()
    text = (out / name).read_text("utf-8")
    assert "c1" in text
    (out / name).write_text(text.replace("c1", "c2"), encoding="utf-8")
    if sealed:
        seal(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done
    assert f"{name}: " in done.out


def test_badge_edited__differs(bundles: Bundles, program: Program) -> None:
    """No manifest lists the badge; it follows from the decision all the same."""
    out = bundles.copy()
    edit(out / "badge.json", lambda found: found.update(color="brightgreen", message="pass"))
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done
    assert "badge.json: " in done.out


def manifest_edits() -> dict[str, Callable[[dict[str, Any]], object]]:
    """What a manifest could be made to claim."""
    return {
        "gates": lambda found: found["gates"][0].update(min=0.1),
        "judges": lambda found: found["evaluators"][0].update(digest="sha256:" + "0" * 64),
        "cases": lambda found: found["dataset"]["cases"].update(c1="sha256:" + "0" * 64),
        "counts": lambda found: found["ledger"].update(recorded_pairs=40),
        "verdict": lambda found: found["decision"].update(verdict="pass"),
        "provenance": lambda found: found.update(provenance="ci"),
        "attestation": lambda found: found.update(attestation="signed"),
        "commit": lambda found: found["context"].update(commit="0" * 40),
        "open": lambda found: found.update(finalized_at=None),
        "approval": lambda found: found.update(approved_by="the boss"),
        "costs": lambda found: found["costs"].update(target_usd=0.01),
    }


@pytest.mark.parametrize("name", manifest_edits())
def test_manifest_edited__differs(bundles: Bundles, program: Program, name: str) -> None:
    """No file vouches for the manifest, but almost all of it follows from the rest."""
    out = bundles.copy()
    edit(out / "manifest.json", manifest_edits()[name])
    if name != "provenance":  # who made a run only the badge can contradict
        rebadge(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done


@pytest.mark.parametrize(
    "name",
    [
        LEDGER,
        "results",
        "results.jsonl",
        "scorecard.json",
        "scorecard.html",
        "junit.xml",
        "plan/cases-0001.jsonl",
        "plan/baseline/results.jsonl",
        "plan/baseline",
    ],
)
@pytest.mark.parametrize("sealed", [True, False])
def test_file_missing__differs(
    bundles: Bundles, program: Program, name: str, *, sealed: bool
) -> None:
    out = bundles.copy()
    path = out / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if sealed:
        seal(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done
    assert "internal error" not in done.err


@pytest.mark.parametrize(
    "name", ["note.txt", "results/shard-0000.attempt-2.jsonl", "plan/more.txt"]
)
def test_file_added__differs(bundles: Bundles, program: Program, name: str) -> None:
    out = bundles.copy()
    (out / name).write_bytes((out / LEDGER).read_bytes() if name.endswith("jsonl") else b"more")
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done
    assert "internal error" not in done.err


def test_baseline_in_the_plan_edited__differs(bundles: Bundles, program: Program) -> None:
    """The plan pins the bytes of the baseline it compared with."""
    out = bundles.copy()
    edit(out / "plan" / "baseline" / "manifest.json", lambda found: found.update(job_type="other"))
    seal(out)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code == 4, done
    assert "not the baseline that the plan pins" in done.err


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"{", b"\xff\xfe{}", b'{"schema": 1}'])
@pytest.mark.parametrize(
    "name", ["scorecard.json", "manifest.json", "plan/plan.json", "results.jsonl"]
)
def test_document_damaged__is_said(
    bundles: Bundles, program: Program, name: str, content: bytes
) -> None:
    """Never a traceback, never a success."""
    out = bundles.copy()
    (out / name).write_bytes(content)
    done = program("verify", out, cwd=bundles.folder)
    assert done.code in (3, 4), done
    assert "internal error" not in done.err


def test_no_bundle__is_usage(bundles: Bundles, program: Program, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere", bundles.folder):
        done = program("verify", folder, cwd=tmp_path)
        assert (done.code, done.out) == (3, ""), done


def test_open_bundle__is_consistent_and_said_to_be_open(
    program: Program, answers: Answers, tmp_path: Path
) -> None:
    """Provisional is no difference; a run that was killed before any decision cannot be trusted yet."""
    answers.status = {"q1": 503}
    suite = http_suite(tmp_path, answers, 2)
    assert program("run", suite.path, cwd=tmp_path).code == 2
    done = program("verify", "out", "--json", cwd=tmp_path)
    assert done.code == 0, done
    assert (done.json()["final"], done.json()["verdict"]) == (False, "blocked_missing")
    assert "provisional" in done.json()["said"][0]
    assert scorecard(suite.out)["status"] == "running"
    fault = {"before": "rename manifest.json"}
    program("run", suite.path, "--out", "killed", cwd=tmp_path, fault=fault)
    undecided = program("verify", "killed", cwd=tmp_path)
    assert undecided.code == 4, undecided
    assert "releasecheck resume" in undecided.err
