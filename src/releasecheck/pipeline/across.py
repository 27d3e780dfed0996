"""Cases across runs: which judge let which case pass, run by run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.judge import has_pass_mark
from releasecheck.scorecard.side_by_side import CaseAcross, CaseCell, Seen
from releasecheck.stats import case_passes, match_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.pipeline.baselines import BaselineFiles

_WORDS: dict[int, Seen] = {1: "pass", 0: "fail", -1: "no score"}


def cases_across(sides: Sequence[BaselineFiles]) -> tuple[tuple[CaseAcross, ...], int]:
    """Every (case, judge) that is not a pass in all runs, the flips first; and how many are."""
    digests = [side.baseline.judge_digests for side in sides]
    judges = dict.fromkeys(
        judge.id for side in sides for judge in side.measured.judges if has_pass_mark(judge.spec)
    )
    columns = [_columns(side) for side in sides]
    places = _places(sides)
    found: list[CaseAcross] = []
    alike = 0
    for judge in judges:
        own = digests[0].get(judge)
        other = [own is None or digest.get(judge) != own for digest in digests]
        for case, rows in places.items():
            cells = tuple(
                _cell(columns[at].get(judge), row, changed=changed, judge_differs=other[at])
                for at, (row, changed) in enumerate(rows)
            )
            if all(cell.seen == "pass" and not cell.why for cell in cells):
                alike += 1
            else:
                found.append(CaseAcross(case, judge, cells))
    found.sort(key=lambda one: one.rank)
    return tuple(found), alike


def _columns(side: BaselineFiles) -> dict[str, list[int]]:
    table = side.baseline.table
    passes = case_passes(table, side.measured)
    return {judge: passes[:, at].tolist() for at, judge in enumerate(table.judges)}


def _places(sides: Sequence[BaselineFiles]) -> dict[str, list[tuple[int | None, bool]]]:
    """For each case by its first name: its row in each run, and whether its content is another there."""
    base = sides[0].baseline.table.cases
    nowhere: tuple[int | None, bool] = (None, False)
    found = {row.id: [nowhere] * len(sides) for row in base}
    for at, side in enumerate(sides):
        for name, row, changed in _named(side, sides[0], first=not at):
            found.setdefault(name, [nowhere] * len(sides))[at] = (row, changed)
    return found


def _named(
    side: BaselineFiles, base: BaselineFiles, *, first: bool
) -> Iterator[tuple[str, int, bool]]:
    cases, earlier = side.baseline.table.cases, base.baseline.table.cases
    if first:
        yield from ((row.id, at, False) for at, row in enumerate(cases))
        return
    ids = {row.id for row in earlier}
    matched = match_cases(cases, earlier).tolist()
    taken = {earlier[there].id for there in matched if there >= 0}
    for at, (row, there) in enumerate(zip(cases, matched, strict=True)):
        if there >= 0:
            yield earlier[there].id, at, False
        elif row.id in ids and row.id in taken:
            yield f"{row.id} (another case of this id)", at, True
        else:
            yield row.id, at, row.id in ids


def _cell(
    column: list[int] | None,
    row: int | None,
    *,
    changed: bool,
    judge_differs: bool,
) -> CaseCell:
    if row is None:
        return CaseCell("absent", "no such case")
    if column is None:
        return CaseCell("absent", "no such judge")
    why = "other content" if changed else "another judge" if judge_differs else ""
    return CaseCell(_WORDS[column[row]], why)
