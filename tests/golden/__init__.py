"""Reports as they were agreed on: `python -m tests.golden` writes them anew, and the diff is for review."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.badge_svg import render_badge_svg
from releasecheck.scorecard.html import render_html
from releasecheck.scorecard.junit import render_junit
from releasecheck.scorecard.report import Report
from releasecheck.scorecard.results_csv import render_results_csv
from releasecheck.scorecard.sarif import render_sarif
from releasecheck.scorecard.summary import render_summary
from tests.unit.scorecard import samples

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER: Final = Path(__file__).parent
BADGE: Final = {
    "schemaVersion": 1,
    "label": "docs-search release check",
    "message": "pass 2026-09-12 3f2a9c1",
    "color": "brightgreen",
}


def _few(sample: samples.Sample) -> Report:
    """The first cases of a sample; its scorecard is that of the whole."""
    views = sample.views[:6]
    return Report(sample.report.scorecard, sample.report.plan, lambda: iter(views))


GOLDEN: Final[dict[str, Callable[[], bytes]]] = {
    "blocked.html": lambda: b"".join(render_html(samples.blocked().report, cases=2)),
    "blocked.md": lambda: render_summary(samples.blocked().report).encode("utf-8"),
    "waived.html": lambda: b"".join(render_html(samples.overridden().report, cases=1)),
    "waived.md": lambda: render_summary(samples.overridden().report).encode("utf-8"),
    "waived.xml": lambda: b"".join(render_junit(_few(samples.overridden()))),
    "inferior.md": lambda: render_summary(samples.inferior().report).encode("utf-8"),
    "refused.md": lambda: render_summary(samples.refused().report).encode("utf-8"),
    "refused.xml": lambda: b"".join(render_junit(_few(samples.refused()))),
    "waived.sarif": lambda: b"".join(render_sarif(_few(samples.overridden()))),
    "refused.sarif": lambda: b"".join(render_sarif(_few(samples.refused()))),
    "refused.csv": lambda: b"".join(render_results_csv(_few(samples.refused()))),
    "badge.svg": lambda: render_badge_svg(BADGE, "sha256:" + "ab" * 32),
}
"""What each file should be."""
