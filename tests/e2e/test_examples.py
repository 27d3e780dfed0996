"""The examples run as they are, and a worse search is noticed (issue 2 item 8)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import environment

pytestmark = pytest.mark.timeout(240)  # several processes each, on a machine that has other work

ROOT = Path(__file__).resolve().parents[2]
DOCS_SEARCH = Path("examples") / "docs-search"


def releasecheck(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would, with the interpreter of the tests first on PATH."""
    return subprocess.run(
        [sys.executable, "-m", "releasecheck", *arguments],
        cwd=folder,
        env=environment(PATH=f"{Path(sys.executable).parent}:{environment()['PATH']}"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )


def files_of(folder: Path) -> dict[str, bytes]:
    """Content of every file that belongs to a suite, by its path; runs and caches do not."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        name.as_posix(): path.read_bytes()
        for name, path in found.items()
        if name.parts[0] not in {"out", "baseline"} and "__pycache__" not in name.parts
    }


def scorecard_of(folder: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((folder / "out" / "scorecard.json").read_bytes())
    return card


def outcomes_of(card: dict[str, Any]) -> dict[str, str]:
    return {gate["id"]: gate["outcome"] for gate in card["gates"]}


@pytest.fixture
def search(tmp_path: Path) -> Path:
    """Copy the example with the pages it searches, so that a test may change them."""
    example = tmp_path / DOCS_SEARCH
    skipped = shutil.ignore_patterns("out", "__pycache__")
    shutil.copytree(ROOT / DOCS_SEARCH, example, ignore=skipped)
    (tmp_path / "docs").mkdir()
    for page in (ROOT / "docs").glob("*.md"):
        shutil.copy(page, tmp_path / "docs")
    return example


def test_init__writes_the_quickstart(tmp_path: Path) -> None:
    """`examples/quickstart/` is what `init` writes: `templates/starter/`, and the schema of this version."""
    done = releasecheck("init", "made", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    made = files_of(tmp_path / "made")
    assert made == files_of(ROOT / "examples" / "quickstart")
    del made["releasecheck.schema.json"]
    assert made == files_of(ROOT / "templates" / "starter")
    assert made["cases/questions.jsonl"].count(b"\n") >= 20


def test_quickstart__bootstraps_then_passes_then_blocks(tmp_path: Path) -> None:
    """Every claim of the starter's own README."""
    suite = tmp_path / "quickstart"
    shutil.copytree(ROOT / "templates" / "starter", suite)
    first = releasecheck("run", "releasecheck.yaml", folder=suite)
    assert first.returncode == 0, first.stdout
    assert scorecard_of(suite)["verdict"] == "bootstrap"

    promoted = releasecheck("baseline", "promote", "out", folder=suite)
    assert promoted.returncode == 0, promoted.stdout
    second = releasecheck("run", "releasecheck.yaml", folder=suite)
    assert second.returncode == 0, second.stdout
    assert set(outcomes_of(scorecard_of(suite)).values()) == {"pass"}

    program = suite / "helpdesk.py"
    program.write_text(program.read_text().replace('"password"', '"passphrase"'))
    third = releasecheck("run", "releasecheck.yaml", folder=suite)
    assert third.returncode == 1, third.stdout
    card = scorecard_of(suite)
    blocked = {gate for gate, outcome in outcomes_of(card).items() if outcome == "block"}
    assert blocked == {"smoke", "no-worse"}
    assert card["flips"]["topic"]["new_failures"] == ["account-1"]


def test_docs_search__passes_against_its_baseline(search: Path) -> None:
    done = releasecheck("run", "releasecheck.yaml", folder=search)
    assert done.returncode == 0, (
        f"{done.stdout}\nIf a change of docs/ or of the questions was meant to move results, "
        "promote a new baseline: docs/docs-search-example.md, the last section."
    )
    card = scorecard_of(search)
    assert card["verdict"] == "pass"
    assert set(outcomes_of(card).values()) == {"pass"}
    compared = {gate["id"]: gate["compared"] for gate in card["gates"]}
    assert compared["no-worse"] == card["counts"]["cases"] >= 60
    verified = releasecheck("verify", "out", folder=search)
    assert verified.returncode == 0, verified.stdout


def test_docs_search__one_word_makes_it_worse(search: Path) -> None:
    """The documented one-word change: exit 1, the gates are named and the flipped questions listed."""
    service = search / "serve.py"
    source = service.read_text(encoding="utf-8")
    assert source.count('INDEXED = "text"') == 1
    service.write_text(source.replace('INDEXED = "text"', 'INDEXED = "heading"'), encoding="utf-8")
    done = releasecheck("run", "releasecheck.yaml", folder=search)
    assert done.returncode == 1, done.stdout
    card = scorecard_of(search)
    assert card["verdict"] == "block"
    blocked = {gate for gate, outcome in outcomes_of(card).items() if outcome == "block"}
    assert blocked == {"finds-it", "finds-it-hard", "first-answer", "order", "no-worse"}
    flipped = card["flips"]["recall"]["new_failures"]
    assert len(flipped) >= 10
    for word in ("no-worse", flipped[0]):
        assert word in done.stdout
        assert word in (search / "out" / "summary.md").read_text(encoding="utf-8")
