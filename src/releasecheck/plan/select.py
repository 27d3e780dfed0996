"""Which cases a plan holds: all, a seeded sample, or those that were asked for or changed."""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from releasecheck.errors import UsageError
from releasecheck.model.nearest import listing, nearest
from releasecheck.model.plan import Selection

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from releasecheck.model.case import Case
    from releasecheck.model.plan import Mode

PREVIEW: Final = 10
"""Cases of a preview that names no number."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Cases that differ from an earlier commit, as found by who can ask git."""

    since: str
    """The ref compared with."""
    ids: Collection[str]
    """Cases of today whose content or id is not in the dataset of that ref."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The cases of a plan, numbered anew from 0, and how they were chosen."""

    cases: tuple[Case, ...]
    mode: Mode
    selection: Selection


def select(
    cases: Sequence[Case],
    *,
    mode: Mode | None = None,
    preview: int = PREVIEW,
    ids: Sequence[str] | None = None,
    changed: Changed | None = None,
    seed: int = 0,
) -> Selected:
    """Choose the cases of a plan; dataset order stays.

    Args:
        cases: every case of the suite, in dataset order.
        mode: by default `delta` where `ids` or `changed` is given, else `full`.
        preview: size of a sample.
        ids: the cases asked for (`delta`); naming one twice is harmless.
        changed: the cases that changed (`delta`); if none did, a preview is planned and says so.
        seed: of the sample; the same seed and ids give the same sample everywhere.

    Raises:
        UsageError: unknown ids, a sample of less than one case, options that contradict each other,
            or nothing to select from.
    """
    if not cases:
        message = "no cases: the suite has none, so there is nothing to plan"
        raise UsageError(message)
    if preview < 1:
        message = f"a preview needs at least 1 case, found {preview}"
        raise UsageError(message)
    partial = ids is not None or changed is not None
    mode = mode or ("delta" if partial else "full")
    _agree(mode, ids=ids is not None, changed=changed is not None)
    if mode == "preview":
        return _result(cases, _sample(cases, preview, seed), mode, f"preview {preview}")
    if ids is not None:
        wanted = _known(cases, ids)
        chosen = [case for case in cases if case.id in wanted]
        return _result(cases, chosen, mode, "ids", ids=tuple(case.id for case in chosen))
    if changed is not None:
        chosen = [case for case in cases if case.id in changed.ids]
        asked = f"changed since {changed.since}"
        if chosen:
            return _result(cases, chosen, mode, asked)
        sample = _sample(cases, preview, seed)
        note = f"no case changed since {changed.since}; a preview of {len(sample)} runs instead"
        return _result(cases, sample, "preview", asked, note=note)
    return _result(cases, cases, mode, "all")


def _agree(mode: Mode, *, ids: bool, changed: bool) -> None:
    message = None
    if ids and changed:
        message = "choose cases by id or by what changed, not by both"
    elif mode == "delta" and not (ids or changed):
        message = "a delta plan needs to know which cases: give ids, or a ref to compare with"
    elif mode != "delta" and (ids or changed):
        given = "ids" if ids else "a ref to compare with"
        message = f"{given} choose cases for a delta plan, but the mode is {mode!r}; leave out one"
    if message:
        raise UsageError(message)


def _sample(cases: Sequence[Case], size: int, seed: int) -> list[Case]:
    # Ordered by a digest rather than drawn: no library's generator can change the sample, and a case
    # that is added moves at most one other one out.
    def rank(case: Case) -> tuple[bytes, int]:
        return hashlib.sha256(f"{seed}:{case.id}".encode()).digest(), case.index

    return sorted(sorted(cases, key=rank)[:size], key=lambda case: case.index)


def _known(cases: Sequence[Case], ids: Sequence[str]) -> set[str]:
    known = {case.id for case in cases}
    wanted = dict.fromkeys(unicodedata.normalize("NFC", name.strip()) for name in ids)
    wanted.pop("", None)
    if not wanted:
        message = "no case is named; give at least one id"
        raise UsageError(message)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        hints = [
            f"{name[:80]!r}"
            + (f" (did you mean {near!r}?)" if (near := nearest(name, known)) else "")
            for name in unknown[:10]
        ]
        more = f" and {len(unknown) - 10} more" if len(unknown) > 10 else ""
        message = (
            f"the suite has no case {', '.join(hints)}{more}; "
            f"it has {len(known)}, beginning with {listing([c.id for c in cases[:3]])}"
        )
        raise UsageError(message)
    return set(wanted)


def _result(
    everything: Sequence[Case],
    chosen: Sequence[Case],
    mode: Mode,
    asked: str,
    *,
    ids: tuple[str, ...] = (),
    note: str | None = None,
) -> Selected:
    cases = tuple(replace(case, index=index) for index, case in enumerate(chosen))
    return Selected(cases, mode, Selection(asked=asked, ids=ids, note=note, of=len(everything)))
