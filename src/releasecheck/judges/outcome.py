"""The words in which judges answer, and the base of those that answer without waiting."""

from __future__ import annotations

import itertools
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.model.failure import Failure, FailureClass
from releasecheck.model.score import JudgeAnswer, JudgeFailed, Scored
from releasecheck.ports import Judge, Judged

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.ports import JudgeAsk, JudgeCase

SHOWN: Final = 80
"""Characters of a value that a reason quotes."""
LONGEST_TEXT: Final = 1_000_000
"""Characters of a text that is searched; a longer one is a failure, never half a search."""


class ImmediateJudge(Judge):
    """A judge that only computes: microseconds, no thread, nothing to close."""

    @abstractmethod
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        """Score one output."""

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        return Judged(self.score(ask.output, ask.case))

    @override
    async def aclose(self) -> None:
        return None


YES: Final = Scored(1.0)
"""The answer to a yes/no question that needs no reason."""


def no(reason: str) -> Scored:
    """The other answer."""
    return Scored(0.0, reason)


def cannot(
    code: str, message: str, *, cls: FailureClass = "judge", retryable: bool = False
) -> JudgeFailed:
    """The judge could not score; never 0 and never a pass.

    The message is cut only once secrets are out of it, by `WrappedJudge`.
    """
    return JudgeFailed(Failure(cls, "judge", code, retryable, message))


def no_expected(found: Json, wanted: str) -> JudgeFailed:
    """The case does not name what the judge compares with, or names something else."""
    if found is None:
        message = (
            f"the case names no `expected`; this judge needs {wanted}. Add it, or let the judge skip "
            "such cases with `when: {has: expected}`"
        )
        return cannot("no_expected", message, cls="config")
    message = f"`expected` of the case is {shown(found)}; this judge needs {wanted}"
    return cannot("bad_expected", message, cls="config")


def not_text(output: Json) -> JudgeFailed:
    """The output has parts and the judge reads a text."""
    return cannot(
        "not_text",
        f"the output is {kind(output)} and this judge reads a text; name the part with `input:`",
    )


def too_long(length: int, limit: int) -> JudgeFailed:
    """The output is longer than what is searched."""
    return cannot("too_large", f"the text has {length} characters; at most {limit} are judged")


def kind(value: Json) -> str:
    """The JSON type in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def shown(value: Json) -> str:
    """The start of a value as JSON, for a reason."""
    if isinstance(value, str):
        text = json.dumps(value[: SHOWN + 1], ensure_ascii=False)
    else:
        # Piece by piece, so that a megabyte is not written out for 80 characters.
        pieces = json.JSONEncoder(ensure_ascii=False).iterencode(value)
        text = "".join(itertools.islice(pieces, SHOWN))
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
