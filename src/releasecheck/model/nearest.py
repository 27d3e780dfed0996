"""Near misses: which known name somebody probably meant."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


MANY: Final = 2_000
"""Names that are compared with; of more, those that begin alike."""


def nearest(found: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known name most like `found`, capitals aside; None when none is near."""
    names = {name.casefold(): name for name in sorted(known, reverse=True)}
    if len(names) > MANY:  # comparing with each of a million ids would take minutes
        start = found[:3].casefold()
        names = dict([entry for entry in names.items() if entry[0].startswith(start)][:MANY])
    close = get_close_matches(found[:200].casefold(), names, n=1, cutoff=cutoff)
    return names[close[0]] if close else None


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing when no known name is near."""
    name = nearest(found, known)
    return f"; did you mean {name!r}?" if name else ""


def listing(names: Iterable[str], *, shown: int = 10) -> str:
    """`'a', 'b', 'c'`, cut after `shown` names with the number of the rest."""
    ordered = list(names)
    text = ", ".join(repr(name) for name in ordered[:shown])
    rest = len(ordered) - shown
    return f"{text} and {rest} more" if rest > 0 else text
