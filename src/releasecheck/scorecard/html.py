"""`scorecard.html`: one file that needs no network, no font and no script to be read."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final

from releasecheck.assets import templates_dir
from releasecheck.scorecard.comparisons import comparison_rows
from releasecheck.scorecard.earlier import drift_rows, earlier_runs
from releasecheck.scorecard.exceptions import notices
from releasecheck.scorecard.explorer import HELD, case_context
from releasecheck.scorecard.first import LINES, LONGEST, NOTICES, to_look_at, why
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.models import model_facts
from releasecheck.scorecard.numbers import NOTHING
from releasecheck.scorecard.pictures import picture_context
from releasecheck.scorecard.policy import change_lines, policy_words
from releasecheck.scorecard.tables import counted, gate_rows
from releasecheck.scorecard.templating import html_environment
from releasecheck.scorecard.texts import listing
from releasecheck.scorecard.trend import trend_context
from releasecheck.scorecard.verdict import (
    SIGNS,
    headline,
    is_open,
    next_steps,
    tone,
)
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.scorecard.report import Report

CASES_SHOWN: Final = 60
"""Cases that can be read without a script; the page's data has the others."""
STYLES: Final = ("page.css", "pictures.css", "trend.css", "cases.css")
SCRIPTS: Final = ("page.js", "case_article.js", "cases.js")
"""Of `templates/scorecard/`, joined in this order."""
_CHUNK: Final = 64


def render_html(report: Report, cases: int = CASES_SHOWN, held: int = HELD) -> Iterator[bytes]:
    """The page in pieces, so that nothing needs the whole of it in memory."""
    from markupsafe import Markup

    # Style and script come from our own files and are the only ones the page's policy lets run.
    style, script = _joined(STYLES), _joined(SCRIPTS)
    card, plan = report.scorecard, report.plan
    explored = case_context(report, cases, held)
    stream = (
        html_environment()
        .get_template("scorecard.html.j2")
        .stream(
            card=card,
            plan=plan,
            **explored,
            look=to_look_at(card, explored["selection"]),
            **picture_context(report),
            **trend_context(report),
            tone=tone(card),
            signs=SIGNS,
            headline=headline(card),
            reasons=why(card),
            reason_lines=LINES,
            reason_length=LONGEST,
            notice_lines=NOTICES,
            changed=any(f.new_failures or f.new_passes for f in card.flips.values()),
            steps=next_steps(card),
            open=is_open(card),
            counted=counted(card),
            lacking=lacking(card),
            notices=notices(card),
            comparisons=comparison_rows(card),
            earlier=earlier_runs(card),
            drift=drift_rows(card),
            quarantine=card.quarantine,
            gates=gate_rows(card),
            facts=_facts(report),
            edits=() if card.policy is None else change_lines(card.policy.changes),
            listing=listing,
            count=count,
            nothing=NOTHING,
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )
    stream.enable_buffering(_CHUNK)
    for piece in stream:
        yield piece.encode("utf-8")


def _joined(names: tuple[str, ...]) -> str:
    folder = templates_dir() / "scorecard"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def _facts(report: Report) -> tuple[tuple[str, str], ...]:
    """Where all this comes from, as (name, value)."""
    card, plan = report.scorecard, report.plan
    facts = [
        ("Run", card.run_id),
        ("Plan digest", card.plan_digest),
        ("Target", f"{plan.target.id} ({plan.target.type})"),
        ("Cases", f"{card.selection}; digest {plan.cases_digest}"),
        ("Judges", ", ".join(f"{judge.id} ({judge.spec.type})" for judge in plan.judges)),
        ("Policy", policy_words(plan.policy)),
        ("Made by", plan.tool),
        ("Planned at", plan.created_at),
    ]
    if card.created_at:
        facts.append(("Decided at", card.created_at))
    if plan.git is not None and plan.git.commit:
        dirty = ", with uncommitted changes" if plan.git.dirty else ""
        facts.insert(2, ("Commit", f"{plan.git.commit}{dirty}"))
    if card.adopted is not None:
        facts.append(("Outputs of", f"{card.adopted.run_id}, {card.adopted.plan_digest}"))
    if card.revision > 1:
        facts.append(("Scoring revision", str(card.revision)))
    if card.retry_of is not None:
        facts.append(("Retry of", card.retry_of))
    return (*facts, *model_facts(card))
