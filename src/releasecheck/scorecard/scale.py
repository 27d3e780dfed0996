"""From numbers to places in a picture, the same on every machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.stats import show

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Tick:
    """A number beside an axis."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of numbers, laid over 0 to `length`."""

    start: float
    end: float
    length: float

    def place(self, value: float) -> float:
        """Where a number stands; those outside stand at the end."""
        share = (value - self.start) / (self.end - self.start)
        return round(self.length * min(1.0, max(0.0, share)), 1)

    def ticks(self) -> tuple[Tick, ...]:
        """Both ends and the middle."""
        middle = self.start + (self.end - self.start) / 2
        return tuple(Tick(self.place(at), show(at)) for at in (self.start, middle, self.end))


def scale_of(values: Iterable[float], length: float) -> Scale | None:
    """0 to 1 where that holds everything, else round numbers around it; None where floats leave no room."""
    found = [value for value in values if math.isfinite(value)]
    if not found:
        return None
    low, high = min(found), max(found)
    if low >= 0 and high <= 1:
        return Scale(0.0, 1.0, length)
    if not math.isfinite(high - low):
        return None
    step = nice((high - low) / 10 or abs(high) / 10 or 0.1)
    start, end = math.floor(low / step) * step, math.ceil(high / step) * step
    if end <= start:
        end = start + step
    if not (math.isfinite(end - start) and start < end):
        return None
    return Scale(start, end, length)


def nice(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is no smaller than `least`."""
    digits, _, exponent = f"{least:e}".partition("e")  # exact everywhere, which log10 is not
    first = next(number for number in (1, 2, 5, 10) if number >= float(digits))
    return float(f"{first}e{exponent}")
