"""Logs and samples of other tools, imported and run (issue 6, item 6).

The story of a log as baseline: import, run, promote; import the next log, and it is compared by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.openaistub import OpenAiStub, completion, serving

if TYPE_CHECKING:
    from tests.e2e.program import Done, Program

LOG = Path(__file__).parents[1] / "unit" / "importers" / "inspect" / "capitals.json"
PACKED = LOG.with_suffix(".eval")


def imported(program: Program, folder: Path, *argv: str | Path) -> Done:
    done = program("import", *argv, cwd=folder)
    assert done.code == 0, done
    return done


def run(program: Program, folder: Path, name: str, code: int) -> dict[str, Any]:
    done = program("run", f"{name}/releasecheck.yaml", "--out", f"{name}/out", cwd=folder)
    assert done.code == code, done
    card: dict[str, Any] = json.loads((folder / name / "out" / "scorecard.json").read_bytes())
    return card


def worse(folder: Path) -> Path:
    """The log of another run, whose second answer about France is wrong."""
    log = json.loads(LOG.read_bytes())
    changed = next(one for one in log["samples"] if (one["id"], one["epoch"]) == ("fr", 2))
    changed["output"]["completion"] = "Lyon"
    for name in ("match", "includes"):
        changed["scores"][name]["value"] = "I"
    path = folder / "next.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    return path


def test_import_inspect__a_log_is_a_baseline_for_the_next_one(
    program: Program, tmp_path: Path
) -> None:
    said = imported(program, tmp_path, "inspect", PACKED, "--out", "a").out
    assert "scorer match (4 times) -> judge match (precomputed, 1 passes)" in said
    assert run(program, tmp_path, "a", 0)["verdict"] == "bootstrap"
    promoted = program("baseline", "promote", "a/out", "--to", "b/baseline", cwd=tmp_path)
    assert promoted.code == 0, promoted

    # Another log, in the other format: its judges are the same ones, so it can be compared.
    imported(program, tmp_path, "inspect", worse(tmp_path), "--out", "b")
    card = run(program, tmp_path, "b", 1)
    outcomes = {gate["id"]: gate["outcome"] for gate in card["gates"]}
    assert outcomes == {
        "match-no-worse": "block",
        "includes-no-worse": "block",
        "manners-tone-no-worse": "pass",
        "manners-length-no-worse": "pass",
    }
    assert card["baseline"]["cases"]["same"] == 2


def test_import_inspect__an_error_in_a_log_is_no_answer(program: Program, tmp_path: Path) -> None:
    log = json.loads(LOG.read_bytes())
    log["samples"][0]["error"] = {"message": "the sandbox died", "traceback": "..."}
    (tmp_path / "log.json").write_text(json.dumps(log), encoding="utf-8")
    done = imported(program, tmp_path, "inspect", "log.json", "--out", "a", "--json")
    assert any("1 answer failed in the log" in note for note in done.json()["notes"])
    card = run(program, tmp_path, "a", 2)
    assert card["verdict"] == "blocked_missing"
    assert card["counts"]["failed"] == 4
    results = (tmp_path / "a" / "out" / "results.jsonl").read_text("utf-8")
    assert "RecordedFailure: the sandbox died" in results
    refused = program("baseline", "promote", "a/out", cwd=tmp_path)
    assert refused.code == 3, refused


def test_import_openai_evals__asks_a_model_and_judges_like_the_tool(
    program: Program, tmp_path: Path
) -> None:
    talk = [{"role": "system", "content": "short"}, {"role": "user", "content": "2+2?"}]
    rows = [
        {"input": talk, "ideal": ["four", "4"]},
        {"input": "Capital of France?", "ideal": "Paris"},
    ]
    (tmp_path / "q.jsonl").write_text(
        "\r\n".join(json.dumps(row) for row in rows), encoding="utf-8"
    )
    needs_class = program("import", "openai-evals", "q.jsonl", "--out", "a", cwd=tmp_path)
    assert needs_class.code == 3
    assert "--match match, includes or fuzzy-match" in needs_class.err
    imported(program, tmp_path, "openai-evals", "q.jsonl", "--match", "match", "--out", "a")

    asked: list[Any] = []

    def say(body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body["messages"])
        return completion(
            "4, of course" if body["messages"][-1]["content"] == "2+2?" else "It is Paris"
        )

    with serving(OpenAiStub(say)) as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_MODEL": "m", "OPENAI_API_KEY": "k" * 20}
        done = program("run", "a/releasecheck.yaml", "--out", "a/out", cwd=tmp_path, env=env)
    assert done.code == 0, done
    assert sorted(asked, key=len) == [[{"role": "system", "content": "Capital of France?"}], talk]
    card = json.loads((tmp_path / "a" / "out" / "scorecard.json").read_bytes())
    # "It is Paris" holds the ideal and does not start with it.
    assert card["metrics"][0]["value"] == 0.5


def test_import_lm_eval__refuses_and_names_every_line(program: Program, tmp_path: Path) -> None:
    row = {
        "doc_id": 1,
        "arguments": [["q", {}]],
        "target": "a",
        "filtered_resps": ["a"],
        "acc": 1.0,
    }
    path = tmp_path / "samples_arc_2026-01-16T16-02-26.jsonl"
    path.write_text(
        json.dumps({**row, "doc_id": None}) + "\n{\n" + json.dumps(row), encoding="utf-8"
    )
    refused = program("import", "lm-eval", path.name, "--out", "a", cwd=tmp_path)
    assert refused.code == 3
    assert f"{path.name}:1: doc_id: expected a whole number" in refused.err
    assert f"{path.name}:2:2: not JSON" in refused.err
    assert not (tmp_path / "a").exists()
    path.write_text(json.dumps(row), encoding="utf-8")
    said = imported(program, tmp_path, "lm-eval", path.name, "--out", "a").out
    assert "metric acc -> judge acc (precomputed, 1 passes)" in said
    assert run(program, tmp_path, "a", 0)["suite"] == "arc"
