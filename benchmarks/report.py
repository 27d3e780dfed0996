"""Size, time and memory of the scorecard page, and how fast Chromium shows and searches it (issue 6).

    python benchmarks/report.py                       # 1,000 and 20,000 cases, 3 judges
    python benchmarks/report.py --cases 20000 --json
    python benchmarks/report.py --keep /tmp/pages     # leaves the pages there, to look at

Each page is rendered in a process of its own, whose peak memory is shown beside that of one which renders no
case. The browser is measured three times and the middle is shown. Texts are as long as those of a suite of
questions about documents: a question, an answer of two sentences to two paragraphs, a reason for every score.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.browser import HOW_TO_GET, chromium, chromium_program
from tests.unit.scorecard import samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

    from releasecheck.model.results import ResultRow, RowView

TEXT = (
    "a gate holds the score of every case against its baseline and says whether the release may go out when an answer "
    "is missing it counts as missing not as zero the shard reads its cases from the plan and writes one line for each "
    "answer judges may come later their scores are collected until a deadline store outputs digest keeps texts away"
)
WORDS = TEXT.split()
JUDGES: list[dict[str, Any]] = [
    {"id": "exact", "type": "exact"},
    {"id": "similar", "type": "similarity"},
    {"id": "top5", "type": "recall", "k": 5},
]
TIMES = 3


def text(chance: random.Random, shortest: int, longest: int) -> str:
    """Words up to some length."""
    size = chance.randint(shortest, longest)
    return " ".join(chance.choice(WORDS) for _ in range(size)).capitalize() + "."


def one(number: int) -> tuple[RowView, ResultRow]:
    """A case of the run and of its baseline; every twelfth fails now, some of them newly."""
    chance = random.Random(number)
    expected = text(chance, 12, 60)
    wrong, was_wrong = number % 12 == 0, number % 17 == 0
    swapped = expected.split()
    for _ in range(4):
        swapped[chance.randrange(len(swapped))] = chance.choice(WORDS)
    answer = " ".join(swapped) + " " + text(chance, 5, 80) if number % 3 else " ".join(swapped)
    before = answer if number % 2 else " ".join(swapped[:-3]) + " " + text(chance, 5, 60)
    of = samples.case(
        number, id=f"docs-{number:06}", input=text(chance, 8, 30)[:-1] + "?", expected=expected,
        split=("main", "hard", "long")[number % 3], tags=(f"area-{number % 23}", f"v{number % 3}"),
    )  # fmt: skip
    scores = {
        "exact": samples.scored(float(not wrong), f"expected {expected[:60]!r}" if wrong else None),
        "similar": samples.scored(0.2 + number % 70 / 100, text(chance, 8, 40)),
        "top5": samples.scored(0.2 + number % 5 / 10, f"found {number % 5} of 5"),
    }
    then = {**scores, "exact": samples.scored(float(not was_wrong))}
    took = 20.0 + number % 977
    return (
        samples.row(of, answer, scores, latency_ms=took),
        samples.row(of, before, then, latency_ms=took).row,
    )


def render(cases: int, into: Path) -> dict[str, float]:
    """Render in this process; seconds and peak memory."""
    from releasecheck.scorecard.html import render_html
    from releasecheck.scorecard.readback import check_reports
    from releasecheck.scorecard.report import Report

    lost = [f"docs-{n:06}" for n in range(cases) if n % 12 == 0 and n % 17]
    won = [f"docs-{n:06}" for n in range(cases) if n % 12 and n % 17 == 0]
    totals = {"cases": cases, "trials": cases, "pairs": 3 * cases, "scored": 3 * cases}
    card = samples.scorecard(
        [],
        counts={**totals, "not_applicable": 0, "failed": 0, "missing": 0, "pending": 0, "conflicts": 0},
        gates=[samples.gate()],
        metrics=[samples.metric()],
        flips={"exact": {"new_failures": lost, "new_passes": won}},
        baseline=samples.baseline_used(cases={"same": cases}),
    )  # fmt: skip

    # Rows are read from disk as a bundle's are, so that their making is not measured.
    now, then = into.with_suffix(".now"), into.with_suffix(".then")
    with now.open("wb") as ours, then.open("wb") as theirs:
        for number in range(cases):
            view, earlier = one(number)
            pickle.dump(view, ours)
            pickle.dump(earlier, theirs)

    def rows() -> Iterator[RowView]:
        return unpickled(now, cases)

    def before() -> Iterator[ResultRow]:
        return unpickled(then, cases)

    began = time.perf_counter()
    for _ in rows():
        pass
    reading = time.perf_counter() - began
    report = Report(card, samples.plan(JUDGES), rows, before)
    began, busy = time.perf_counter(), time.process_time()
    with into.open("wb") as file:
        for piece in render_html(report):
            file.write(piece)
    took, busy = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.perf_counter()
    check_reports({"scorecard.html": lambda: read(into)}, card)
    return {
        "render_s": took,
        "render_cpu_s": busy,
        "reading_s": reading,
        "peak_mb": peak,
        "read_back_s": time.perf_counter() - began,
    }


def unpickled(path: Path, number: int) -> Iterator[Any]:
    """So many objects of a file of ours."""
    with path.open("rb") as file:
        for _ in range(number):
            yield pickle.load(file)


def read(path: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


# Times are those of the page's own clock. What follows a search is shown when the next picture is drawn.
TIMED = """async () => {
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const search = async (text) => {
    const began = performance.now();
    const before = document.getElementById("found").textContent;
    const field = document.getElementById("search");
    field.value = text;
    field.dispatchEvent(new Event("input"));
    while (document.getElementById("found").textContent === before) await drawn();
    await drawn();
    return performance.now() - began;
  };
  const first = await search("docs-000777");
  const second = await search("deadline shard");
  const field = document.getElementById("f-show");
  const began = performance.now();
  field.value = "flipped";
  field.dispatchEvent(new Event("change"));
  await drawn();
  return {
    first_view_ms: paint.startTime, first_search_ms: first, search_ms: second, filter_ms: performance.now() - began,
  };
}"""


def look(browser: Browser, path: Path) -> dict[str, float]:
    """How long the browser took, in milliseconds."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-cases=ready]", state="attached", timeout=60_000)
    ready = page.evaluate("performance.getEntriesByName('cases-ready')[0].startTime")
    # A picture is reported a moment after it was drawn; and nobody has read the page before a second is over.
    page.wait_for_timeout(1000)
    found: dict[str, float] = page.evaluate(TIMED)
    page.close()
    return {**found, "searchable_ms": ready}


def measure(cases: int, folder: Path, browser: Browser) -> dict[str, Any]:
    """All figures of one size."""
    path = folder / f"scorecard-{cases}.html"
    done = subprocess.run(
        [sys.executable, __file__, "--render", str(path), "--cases", str(cases)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    looks = [look(browser, path) for _ in range(TIMES)]
    middle = {key: statistics.median(one[key] for one in looks) for key in looks[0]}
    return {
        "cases": cases,
        "size_mb": path.stat().st_size / 2**20,
        **json.loads(done.stdout),
        **middle,
    }


ROWS = (
    ("size_mb", "size of the page, MB"), ("render_s", "time to render, s"),
    ("render_cpu_s", "  of which the processor's, s"),
    ("reading_s", "  of which each reading of rows, s"), ("peak_mb", "peak memory of rendering, MB"),
    ("read_back_s", "time to read back, s"), ("first_view_ms", "first view in Chromium, ms"),
    ("searchable_ms", "all cases searchable, ms"), ("first_search_ms", "first search, ms"),
    ("search_ms", "next search, ms"), ("filter_ms", "a filter, ms"),
)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, nargs="*", default=[1000, 20_000])
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--keep", type=Path, help="a folder for the pages")
    parser.add_argument("--render", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.render:
        sys.stdout.write(json.dumps(render(given.cases[0], given.render)))
        return
    program = chromium_program()
    if program is None:
        sys.exit(HOW_TO_GET)
    with (
        tempfile.TemporaryDirectory(prefix="releasecheck-report-") as made,
        chromium(program) as browser,
    ):
        folder = given.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        measured = [measure(cases, folder, browser) for cases in given.cases]
    if given.json:
        sys.stdout.write(json.dumps(measured, indent=2) + "\n")
        return
    lines = [["cases", *(f"{one['cases']:,}" for one in measured)]]
    lines += [[name, *(f"{one[key]:,.1f}" for one in measured)] for key, name in ROWS]
    for name, *values in lines:
        sys.stdout.write(f"{name:46}" + "".join(f"{value:>12}" for value in values) + "\n")


if __name__ == "__main__":
    main()
