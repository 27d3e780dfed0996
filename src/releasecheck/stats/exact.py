"""Exact sums: a stored number means its shortest decimal, so 0.7, 0.8 and 0.9 have the mean 0.8 (B89)."""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from releasecheck.model.table import Floats

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
    total = Decimal(0)
    for value, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        # fma would be one rounding too, but the context makes both steps exact anyway.
        total = _EXACT.add(total, _EXACT.multiply(Decimal(repr(value)), Decimal(count)))
    return Fraction(total)


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
