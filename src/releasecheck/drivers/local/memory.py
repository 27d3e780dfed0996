"""The garbage collector while a shard runs: out of the way, but not off."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW_OBJECTS: Final = 20_000
"""Containers made and not yet freed that start a collection. Trials in flight make and free some
thousands all the time; with Python's own 700 a run spent a fourteenth of its time looking through them."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Spare what is loaded already from being looked through again and again."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
