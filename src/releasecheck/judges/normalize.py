"""Outputs as text, and the steps that make texts comparable (`normalize: [strip, casefold]`)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.judge import Normalization, Normalizations

_SPACES: Final = re.compile(r"\s+")


def text_of(output: Json) -> str | None:
    """The text that text judges read: a text as it is, a number or truth value as its JSON.

    None for what has parts (lists, objects): a search in their JSON would find keys and commas.
    """
    if isinstance(output, str):
        return output
    if isinstance(output, bool | int | float):
        return canonical(output).decode()
    return None


def _spaces(text: str) -> str:
    return _SPACES.sub(" ", text)


def _without_punctuation(text: str) -> str:
    return "".join(char for char in text if not unicodedata.category(char).startswith("P"))


_STEPS: Final[Mapping[Normalization, Callable[[str], str]]] = {
    "strip": str.strip,
    "casefold": str.casefold,
    "lower": str.lower,
    "spaces": _spaces,
    "nfc": lambda text: unicodedata.normalize("NFC", text),
    "punctuation": _without_punctuation,
}


def normalizer(steps: Normalizations) -> Callable[[str], str]:
    """One function that takes the steps in the order in which they are written."""
    functions = [_STEPS[step] for step in steps]

    def normalize(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return normalize
