"""`regex`: a pattern is found in the text, in bounded time (B67)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import regex
from typing_extensions import override

from releasecheck.judges.normalize import text_of
from releasecheck.judges.outcome import LONGEST_TEXT, YES, cannot, no, not_text, too_long
from releasecheck.ports import Judge, Judged

if TYPE_CHECKING:
    from releasecheck.model.judge import RegexJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeAsk

PROBE_S: Final = 0.005
"""Longest time that a match may hold the event loop; what needs more starts anew in a thread."""
_FLAGS: Final = {"ignorecase": regex.I, "multiline": regex.M, "dotall": regex.S}


class Regex(Judge):
    """Searches the text, or matches it whole."""

    def __init__(self, spec: RegexJudge) -> None:
        self._pattern = compile_pattern(spec)
        self._match = self._pattern.fullmatch if spec.match == "full" else self._pattern.search
        self._timeout_s = spec.timeout
        self._why_not = "the pattern does not match" + (
            " the whole text" if spec.match == "full" else ""
        )

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        return Judged(await self._score(ask))

    @override
    async def aclose(self) -> None:
        return None

    async def _score(self, ask: JudgeAsk) -> JudgeAnswer:
        text = text_of(ask.output)
        if text is None:
            return not_text(ask.output)
        if len(text) > LONGEST_TEXT:
            return too_long(len(text), LONGEST_TEXT)
        try:
            return self._matches(text, min(PROBE_S, self._timeout_s))
        except TimeoutError:
            pass
        try:
            # `regex` lets go of the interpreter lock while it matches, so other work goes on.
            return await asyncio.to_thread(self._matches, text, self._timeout_s)
        except TimeoutError:
            message = (
                f"the pattern did not come to an end within {self._timeout_s:g} s on a text of "
                f"{len(text)} characters; make it simpler, above all repeated groups inside repeated "
                "groups"
            )
            return cannot("timeout", message)

    def _matches(self, text: str, timeout_s: float) -> JudgeAnswer:
        found = self._match(text, timeout=timeout_s, concurrent=True)
        return no(self._why_not) if found is None else YES


def compile_pattern(spec: RegexJudge) -> regex.Pattern[str]:
    """The pattern with its flags.

    Raises:
        regex.error: it is no regular expression.
    """
    flags = 0
    for name in spec.flags:
        flags |= _FLAGS[name]
    return regex.compile(spec.pattern, flags)
