"""Exact sums: a stored number means its shortest decimal, so 0.7, 0.8 and 0.9 have the mean 0.8 (B89)."""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from releasecheck.model.table import Flags, Floats

# 700 digits hold every sum of doubles exactly; were that ever wrong, Inexact would raise.
_EXACT: Final = Context(prec=1000, traps=[Inexact, InvalidOperation, DivisionByZero])


def exact(number: float | Fraction) -> Fraction:
    """The rational number that `number` is written as: its shortest decimal.

    Raises:
        ValueError: it is not finite.
    """
    if isinstance(number, Fraction):
        return number
    decimal = Decimal(repr(float(number)))
    if not decimal.is_finite():
        message = f"expected a finite number, found {number!r}"
        raise ValueError(message)
    return Fraction(decimal)


def risk_of(confidence: float) -> float:
    """One less the confidence, as it was written: 0.05 for 0.95, which floats alone do not give."""
    return float(1 - exact(confidence))


def exact_sum(values: Floats) -> Fraction:
    """The exact sum of the shortest decimals; 0 for no values.

    Raises:
        ValueError: one of them is not finite.
    """
    # Scores repeat (0, 1, thirds), so a million of them cost a sort and a few additions.
    distinct, counts = np.unique(values, return_counts=True)
    if not np.isfinite(distinct).all():
        message = "expected finite numbers, found NaN or infinity"
        raise ValueError(message)
    total = Fraction(0)
    for places in (0, 3, 6):
        short, whole = _with_places(distinct, places)
        total += Fraction(_whole_sum(whole[short], counts[short]), 10**places)
        distinct, counts = distinct[~short], counts[~short]
    with localcontext(_EXACT):
        rest = sum(map(Decimal, map(repr, distinct[counts == 1].tolist())), Decimal(0))
        for value, count in zip(distinct[counts > 1].tolist(), counts[counts > 1], strict=True):
            rest += Decimal(repr(value)) * int(count)
    return total + Fraction(rest)


def _with_places(values: Floats, places: int) -> tuple[Flags, Floats]:
    """Which values have a shortest decimal of at most so many places, and those times 10**places.

    Decimals of up to 15 digits belong to different floats, so one that rounds to the value, as the
    (correctly rounded) quotient says, is its shortest.
    """
    scale = 10.0**places
    with np.errstate(over="ignore"):
        whole = np.rint(values * scale)
    short: Flags = (np.abs(whole) < 1e15) & (whole / scale == values)
    return short, whole


def _whole_sum(whole: Floats, counts: npt.NDArray[np.intp]) -> int:
    """The sum of `whole` times `counts` without overflow: halves of 25 bits, a billion values."""
    number, times = whole.astype(np.int64), counts.astype(np.int64)
    high, low = number >> 25, number & (2**25 - 1)
    return (int((high * times).sum()) << 25) + int((low * times).sum())


def quantile_rank(n: int, q: Fraction) -> int:
    """The 1-based rank of the `q` quantile of `n` ordered values: ceil(q * n), at least 1.

    This is the inverse of the empirical distribution function: the smallest value that at least the
    share `q` of all values does not exceed. It is always one of the values, never between two.
    """
    return max(1, -(-q.numerator * n // q.denominator))


def to_float(number: Fraction) -> float | None:
    """The nearest float, never -0.0; None beyond what a float (and so JSON) can hold."""
    try:
        return float(number)
    except OverflowError:
        return None
