"""`summary.md`: the same story in one screen of Markdown, cut by importance to a number of bytes.

A host that gets too much drops all of it, on exactly the runs where it matters (B109, B110). So the whole
text is rendered with fewer and fewer rows until it fits; nothing is ever cut inside a row, a fence or a
character, and what is left out is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.cases import ATTENTION, select
from releasecheck.scorecard.earlier import drift_rows
from releasecheck.scorecard.escape import Markdown, markdown, markdown_code
from releasecheck.scorecard.exceptions import notices
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.lines import comparisons, earlier_lines, quarantine_rows
from releasecheck.scorecard.models import model_facts
from releasecheck.scorecard.policy import change_lines
from releasecheck.scorecard.tables import counted, gate_rows, metric_rows
from releasecheck.scorecard.templating import markdown_environment
from releasecheck.scorecard.texts import listing, shorten
from releasecheck.scorecard.verdict import SIGNS, headline, is_open, next_steps, reasons, tone
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.scorecard.cases import CaseView, Cell, Selection
    from releasecheck.scorecard.report import Report

LIMIT: Final = 900 * 1024
"""Bytes: GitHub takes 1 MiB of everything one step appends, and drops it all beyond that."""
_LONGEST_SENTENCE: Final = 500
_LONGEST_CELL: Final = 120
_LONGEST_BLOCK: Final = 1500
_LINES_OF_BLOCK: Final = 30


@dataclass(frozen=True, slots=True)
class _Room:
    """How many rows of each part are shown."""

    reasons: int
    notices: int
    gates: int
    edits: int
    flips: int
    incomplete: int
    metrics: int
    cases: int
    closer: int


# What stands outside of <details> fits about a screen in the first room. Beyond the byte limit the least
# important go first: closer looks, then cases, metrics and flips; the verdict and why never do.
_ROOMS: Final = (
    _Room(6, 3, 15, 10, 8, 8, 200, 50, 3),
    _Room(6, 3, 15, 10, 8, 8, 200, 25, 0),
    _Room(6, 3, 15, 10, 5, 5, 30, 10, 0),
    _Room(5, 3, 15, 5, 5, 5, 10, 5, 0),
    _Room(5, 2, 10, 5, 5, 5, 0, 0, 0),
    _Room(3, 1, 5, 3, 0, 0, 0, 0, 0),
    _Room(1, 0, 0, 0, 0, 0, 0, 0, 0),
)
_JUDGES_FLIPPED: Final = 6
"""Lines of flips outside of <details>."""


@dataclass(frozen=True, slots=True)
class _Flip:
    words: str
    judge: str
    ids: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class _CaseRow:
    sign: str
    label: str
    id: str
    scores: Markdown
    expected: Markdown
    answer: Markdown
    where: str


@dataclass(frozen=True, slots=True)
class _Closer:
    id: str
    input: str
    expected: str | None
    answer: str


def render_summary(report: Report, limit: int = LIMIT) -> str:
    """The summary, at most `limit` bytes in UTF-8.

    Raises:
        ValueError: `limit` has no room for a verdict.
    """
    selection = select(report, _ROOMS[0].cases, _LONGEST_BLOCK)
    for room in _ROOMS:
        text = _render(report, selection, room)
        if len(text.encode("utf-8")) <= limit:
            return text
    message = f"{limit} bytes have no room for a summary; expected at least 8,192"
    raise ValueError(message)


def _render(report: Report, selection: Selection, room: _Room) -> str:
    card = report.scorecard
    gates, metrics = gate_rows(card), metric_rows(card)
    why, more_reasons = listing(_sentences(reasons(card)), room.reasons)
    notes, more_notices = listing(_sentences(notices(card)), room.notices)
    changes = () if card.policy is None else change_lines(card.policy.changes)
    edits, more_edits = listing(_sentences(changes), room.edits)
    flips = tuple(_flips(report, room.flips))
    looked = [view for view in selection.shown if view.kind in ATTENTION]
    commit = report.plan.git.commit if report.plan.git is not None else None
    text = (
        markdown_environment()
        .get_template("summary.md.j2")
        .render(
            card=card,
            sign=SIGNS[tone(card)],
            headline=headline(card),
            counted=counted(card),
            reasons=why,
            more_reasons=more_reasons,
            steps=next_steps(card),
            open=is_open(card),
            notices=notes,
            more_notices=more_notices,
            gates=gates[: room.gates],
            more_gates=len(gates) - len(gates[: room.gates]),
            edits=edits,
            more_edits=more_edits,
            comparisons=tuple(comparisons(card, room.flips)),
            quarantine=quarantine_rows(card, room.flips),
            more_quarantine=len(card.quarantine) - min(len(card.quarantine), room.flips),
            earlier=tuple(earlier_lines(card, room.flips)),
            drift=drift_rows(card) if room.flips else (),
            flips=flips[:_JUDGES_FLIPPED],
            more_flips=len(flips[_JUDGES_FLIPPED:]),
            attention=count(selection.attention, "case"),
            incomplete=tuple(_incomplete(report, room.incomplete)),
            total=selection.total,
            metrics=metrics[: room.metrics],
            more_metrics=len(metrics) - len(metrics[: room.metrics]),
            cases=tuple(_case_row(view) for view in looked[: room.cases]),
            more_cases=selection.attention - len(looked[: room.cases]),
            closer=tuple(_closer(view) for view in looked[: room.closer]),
            commit=commit,
            models=model_facts(card),
        )
    )
    return str(text)


def _sentences(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(shorten(text, _LONGEST_SENTENCE) for text in texts)


def _flips(report: Report, longest: int) -> Iterator[_Flip]:
    if not longest:
        return
    for how in ("failing", "passing"):
        for judge, flips in sorted(report.scorecard.flips.items()):
            ids = flips.new_failures if how == "failing" else flips.new_passes
            if ids:
                first, more = listing((shorten(i, _LONGEST_CELL) for i in ids), longest)
                yield _Flip(f"{count(len(ids), 'case')} newly {how}", judge, first, more)


def _incomplete(report: Report, longest: int) -> Iterator[str]:
    card = report.scorecard
    lines = list(lacking(card))
    if card.conflicts:
        lines.append(f"{count(len(card.conflicts), 'score')} measured twice with other results")
    first, more = listing(_sentences(tuple(lines)), longest)
    yield from first
    if more and longest:
        yield f"and {more} more"


def _case_row(view: CaseView) -> _CaseRow:
    trial = view.worst
    answer = trial.note if trial.answer is None else _short(trial.answer.text)
    return _CaseRow(
        sign=SIGNS[view.tone],
        label=view.label,
        id=shorten(view.id, _LONGEST_CELL),
        scores=Markdown("<br>".join(map(_cell_words, trial.cells[:8]))),
        expected=Markdown("") if view.expected is None else _code(view.expected.text),
        answer=markdown(_short(answer)) if trial.answer is None else markdown_code(answer),
        where=shorten(view.where, _LONGEST_CELL),
    )


def _cell_words(cell: Cell) -> Markdown:
    words = markdown(f"{cell.judge}: {cell.word} {cell.value}")
    if cell.tone in ("bad", "warn") and cell.reason.text:
        words = Markdown(f"{words} {markdown_code(shorten(cell.reason.text, 80))}")
    return words


def _short(text: str) -> str:
    return shorten(text, _LONGEST_CELL)


def _code(text: str) -> Markdown:
    return markdown_code(_short(text))


def _closer(view: CaseView) -> _Closer:
    trial = view.worst
    return _Closer(
        shorten(view.id, _LONGEST_CELL),
        _block(view.input.text, view.input.more),
        None if view.expected is None else _block(view.expected.text, view.expected.more),
        trial.note if trial.answer is None else _block(trial.answer.text, trial.answer.more),
    )


def _block(text: str, more: int) -> str:
    lines = text.split("\n")
    left_out = more + sum(len(line) + 1 for line in lines[_LINES_OF_BLOCK:])
    kept = "\n".join(lines[:_LINES_OF_BLOCK])
    return f"{kept}\n[{left_out:,} more characters]" if left_out else kept
