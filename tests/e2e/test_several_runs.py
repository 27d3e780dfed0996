"""`badge`, `compare`, `history` and `--history` on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from releasecheck.scorecard.readback import BADGE_KEYS
from tests.several import run_in, weeks
from tests.unit.scorecard.faults import LABELS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.program import Program

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/` in it."""
    folder = tmp_path_factory.mktemp("several")
    weeks(folder)
    return folder


def fits(text: str) -> bool:
    return all(len(line) <= 80 for line in text.splitlines() if line.startswith("  "))


def test_badge__every_label_of_the_catalogue(place: Path, program: Program, tmp_path: Path) -> None:
    """B118: whatever the label says, the picture parses back and shields gets its own keys alone."""
    for label in LABELS:
        done = program(
            "badge", "runs/w1/out", "--out", tmp_path, "--label", label, "--json", cwd=place
        )
        if not label.strip():
            assert (done.code, "empty" in done.err) == (3, True), done
            continue
        assert done.code == 0, done
        endpoint = json.loads((tmp_path / "badge.json").read_bytes())
        assert set(endpoint) <= BADGE_KEYS
        assert endpoint["label"] == label
        picture = ET.fromstring((tmp_path / "badge.svg").read_bytes())  # noqa: S314 - our own
        title = picture.findtext(f"{SVG}title") or ""
        assert picture.attrib["role"] == "img"
        assert "stale, was pass" in title
        assert "script" not in {element.tag.removeprefix(SVG) for element in picture.iter()}


def test_badge__tells_the_time_and_refuses_what_makes_none(
    place: Path, program: Program, tmp_path: Path
) -> None:
    """The runs are of another year; a long patience believes them still."""
    old = program("badge", "runs/w1/out", "--out", tmp_path, cwd=place)
    assert (old.code, "stale since 2026-02-04T09:00:00Z" in old.out) == (0, True), old
    fresh = program(
        "badge", "runs/w1/out", "--out", tmp_path, "--stale-after", "9000d", "--json", cwd=place
    )
    assert (fresh.json()["stale"], fresh.json()["badge"]["color"]) == (False, "brightgreen")
    part = run_in(tmp_path / "part", "2026-03-01", preview=2)
    refused = program("badge", part, cwd=place)
    assert (refused.code, "'partial run'" in refused.err) == (3, True), refused
    named = program("badge", "runs/w1/out", "--label", "x", cwd=place)
    assert (named.code, "--out" in named.err) == (3, True), named


def test_compare__three_runs_on_the_terminal_and_as_a_page(place: Path, program: Program) -> None:
    paths = ["runs/w1/out", "runs/w3/out", "runs/deep/w5/out"]
    done = program("compare", *paths, "--html", "compare.html", cwd=place)
    assert done.code == 0, done
    assert fits(done.out), done
    for said in ("B against A", "C against A", "now fails: c2", "none: another judge", "rc-"):
        assert said in done.out
    assert "−0.5" in done.out  # noqa: RUF001
    page = (place / "compare.html").read_text("utf-8")
    assert "default-src 'none'" in page
    document = program("compare", *paths, "--json", cwd=place).json()
    assert [run["label"] for run in document["runs"]] == ["A", "B", "C"]
    assert len(document["pairs"]) == 2


def test_history__lists_checks_and_draws(place: Path, program: Program) -> None:
    done = program("history", "runs", "--html", "history.html", cwd=place)
    assert done.code == 0, done
    assert fits(done.out), done
    for said in ("docs-search: 6 runs", "by quality", "2026-01-19", "another judge than the run"):
        assert said in " ".join(done.out.split()), said
    assert (place / "history.html").read_bytes().startswith(b"<!doctype html>")
    found = program(
        "history", "runs", "--json", "--last", "2", "--metric", "exact", cwd=place
    ).json()
    (suite,) = found["suites"]
    assert (suite["older"], len(suite["runs"])) == (4, 2)
    assert {metric["metric"] for metric in suite["runs"][0]["metrics"]} == {"exact"}
    assert found["refused"] == []


def test_history__what_is_not_there_is_said(place: Path, program: Program, tmp_path: Path) -> None:
    for argv, says in (
        (("history", "rusn"), "no such folder"),
        (("history", tmp_path), "no bundle and no baseline"),
        (("history", "runs", "--metric", "exatc"), "exatc"),
    ):
        done = program(*argv, cwd=place)
        assert (done.code, says in done.err) == (3, True), done


def test_plan__keeps_earlier_runs_for_the_page(place: Path, program: Program) -> None:
    suite = place / "runs" / "w2"
    done = program(
        "plan", "releasecheck.yaml", "--out", place / "p", "--history", place / "runs", cwd=suite
    )
    assert done.code == 0, done
    kept = json.loads((place / "p" / "history.json").read_bytes())
    assert [run["at"][:10] for run in kept["runs"]][-1] == "2026-02-09"
    without = program("plan", "releasecheck.yaml", "--out", place / "q", "--json", cwd=suite).json()
    plan = json.loads((place / "p" / "plan.json").read_bytes())
    assert without["plan_digest"] == plan["plan_digest"]
    empty = place / "empty"
    empty.mkdir()
    none = program("plan", "releasecheck.yaml", "--out", place / "r", "--history", empty, cwd=suite)
    assert (none.code, "no earlier run of docs-search" in none.err) == (0, True), none
    assert not (place / "r" / "history.json").exists()
    gone = program(
        "plan", "releasecheck.yaml", "--out", place / "s", "--history", "gone", cwd=suite
    )
    assert gone.code == 3, gone


def test_compare__a_folder_that_is_not_there_is_said_to_be_that(
    place: Path, program: Program
) -> None:
    done = program("compare", "runs/w1/out", "nowhere", cwd=place)
    assert (done.code, done.out) == (3, ""), done
    assert "nowhere: there is no such folder" in done.err
