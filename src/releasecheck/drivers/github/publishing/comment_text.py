"""The pull-request comment in words: verdict, why, what to do, what the change edits, the worst cases.

Cut by importance to a number of characters, and what is left out is counted; ids, judges and numbers
only, never an answer: those are in the scorecard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.drivers.github.publishing.evidence import Judged
from releasecheck.drivers.github.publishing.words import notice_markdown, notice_of, run_link
from releasecheck.scorecard.cases import ATTENTION, select
from releasecheck.scorecard.earlier import drift_rows
from releasecheck.scorecard.escape import Markdown, markdown
from releasecheck.scorecard.exceptions import notices
from releasecheck.scorecard.lacking import lacking
from releasecheck.scorecard.lines import compared_with, comparisons, quarantine_rows
from releasecheck.scorecard.policy import change_lines, policy_words
from releasecheck.scorecard.tables import counted, gate_rows
from releasecheck.scorecard.templating import markdown_environment
from releasecheck.scorecard.texts import listing, shorten
from releasecheck.scorecard.verdict import SIGNS, headline, is_open, next_steps, reasons, tone
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from releasecheck.drivers.github.publishing.request import Request
    from releasecheck.model.policy import Policy
    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.cases import CaseView, Selection

LONGEST: Final = 60_000
"""Characters in UTF-16: GitHub refuses a body of more than 65,536."""
_LONGEST_SENTENCE: Final = 400
_LONGEST_CELL: Final = 100
_CELLS: Final = 6
_FLIPS: Final = 6
"""Lines, up to two for each judge."""


@dataclass(frozen=True, slots=True)
class _Room:
    """How many rows of each part are shown."""

    reasons: int
    notices: int
    gates: int
    edits: int
    flips: int
    unmeasured: int
    cases: int


# What stands outside of <details> fits about a screen. Beyond the limit the least important go first: cases,
# then what was not measured and gates; the verdict and why never do.
_ROOMS: Final = (
    _Room(6, 3, 12, 12, 10, 8, 25),
    _Room(6, 3, 12, 12, 10, 8, 10),
    _Room(6, 3, 12, 10, 5, 5, 0),
    _Room(5, 2, 10, 10, 2, 2, 0),
    _Room(2, 1, 3, 5, 0, 0, 0),
    _Room(1, 0, 0, 1, 0, 0, 0),
)


@dataclass(frozen=True, slots=True)
class _Flip:
    words: str
    judge: str
    ids: tuple[str, ...]
    more: int


@dataclass(frozen=True, slots=True)
class _Row:
    sign: str
    label: str
    id: str
    scores: Markdown
    where: str


def units(text: str) -> int:
    """The length of a text as JavaScript counts it."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def comment_text(request: Request, longest: int = LONGEST) -> str:
    """The comment without its hidden lines."""
    evidence = request.evidence
    if not isinstance(evidence, Judged):
        return notice_markdown(request, notice_of(evidence))
    selection = select(evidence.report(), _ROOMS[0].cases, _LONGEST_SENTENCE)
    for room in _ROOMS:
        text = _render(request, evidence.scorecard, selection, room)
        if units(text) <= longest:
            return text
    message = f"{longest} characters have no room for a comment; expected at least 8,192"
    raise ValueError(message)


def _render(request: Request, card: Scorecard, selection: Selection, room: _Room) -> str:
    gates = gate_rows(card)
    why, more_reasons = listing(_sentences(reasons(card)), room.reasons)
    notes, more_notices = listing(_sentences(notices(card)), room.notices)
    edits, more_edits = listing(_sentences(_edits(card.policy)), room.edits)
    flips = tuple(_flips(card, room.flips))
    looked = [view for view in selection.shown if view.kind in ATTENTION][: room.cases]
    text = (
        markdown_environment()
        .get_template("comment.md.j2")
        .render(
            card=card,
            sign=SIGNS[tone(card)],
            headline=headline(card),
            counted=counted(card),
            commit=request.context.head_sha,
            reasons=why,
            more_reasons=more_reasons,
            steps=next_steps(card),
            open=is_open(card),
            notices=notes,
            more_notices=more_notices,
            policy=None if card.policy is None else shorten(policy_words(card.policy), 300),
            edits=edits,
            more_edits=more_edits,
            edits_apply=_apply(card.policy),
            gates=gates[: room.gates],
            more_gates=len(gates) - len(gates[: room.gates]),
            comparisons=tuple(comparisons(card, room.flips)),
            quarantine=quarantine_rows(card, room.flips),
            more_quarantine=len(card.quarantine) - min(len(card.quarantine), room.flips),
            drift=drift_rows(card) if room.flips else (),
            earlier=tuple(f"C{line[1:]}" for line in compared_with(card)),
            flips=flips[:_FLIPS],
            more_flips=len(flips[_FLIPS:]),
            attention=count(selection.attention, "case"),
            unmeasured=tuple(_unmeasured(card, room.unmeasured)),
            cases=tuple(map(_row, looked)),
            more_cases=selection.attention - len(looked),
            links=tuple(_links(request)),
        )
    )
    return str(text)


def _sentences(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(shorten(text, _LONGEST_SENTENCE) for text in texts)


def _edits(policy: Policy | None) -> tuple[str, ...]:
    return () if policy is None else change_lines(policy.changes)


def _apply(policy: Policy | None) -> str:
    """Whether the edits count for this very run (G-27)."""
    if policy is not None and policy.mode == "head":
        return "These edits apply to this very run, as the workflow asks for (policy: head)."
    return "Only lines that say so apply to this run; the others apply once they are merged."


def _unmeasured(card: Scorecard, longest: int) -> Iterator[str]:
    lines = lacking(card)
    first, more = listing(_sentences(lines), longest)
    yield from first
    if more:
        yield f"and {more} more in the scorecard"


def _row(view: CaseView) -> _Row:
    cells = view.worst.cells
    words = [markdown(f"{cell.judge}: {cell.word} {cell.value}") for cell in cells[:_CELLS]]
    more = len(cells) - len(words)
    words += [markdown(f"and {more} more")] if more else []
    return _Row(
        sign=SIGNS[view.tone],
        label=view.label,
        id=shorten(view.id, _LONGEST_CELL),
        scores=Markdown("<br>".join(words)),
        where=shorten(view.where, _LONGEST_CELL),
    )


def _flips(card: Scorecard, longest: int) -> Iterator[_Flip]:
    """Cases whose pass or fail changed against the baseline, new failures of all judges first."""
    for how in ("failing", "passing"):
        for judge, flips in sorted(card.flips.items()):
            ids = flips.new_failures if how == "failing" else flips.new_passes
            if ids:
                first, more = listing((shorten(i, _LONGEST_CELL) for i in ids), longest)
                yield _Flip(f"{count(len(ids), 'case')} newly {how}", judge, first, more)


def _links(request: Request) -> Iterator[Markdown]:
    if request.scorecard_url:
        yield Markdown(f"[The whole scorecard]({request.scorecard_url})")
    yield run_link(request)
