"""`contains`: a text holds what is looked for, or a list has it as a member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.judges.exact import same
from releasecheck.judges.normalize import normalizer, text_of
from releasecheck.judges.outcome import YES, ImmediateJudge, no, no_expected, not_text, shown
from releasecheck.model.score import JudgeFailed

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.judge import ContainsJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase

_WANTED = "a text that is not empty, a number, or a list of these"


class Contains(ImmediateJudge):
    """Looks for `value`, or for the case's `expected`; of a list all must be there.

    In a text a number is looked for as it is written: 0 is found in "10".
    """

    def __init__(self, spec: ContainsJudge) -> None:
        self._value = spec.value
        self._normalize = normalizer(spec.normalize)

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        needles = self._needles(case)
        if isinstance(needles, JudgeFailed):
            return needles
        if isinstance(output, list):
            found = [
                any(same(item, needle, self._normalize) for item in output) for needle in needles
            ]
        else:
            text = text_of(output)
            if text is None:
                return not_text(output)
            text = self._normalize(text)
            found = [self._normalize(text_of(needle) or "") in text for needle in needles]
        absent = [shown(needle) for needle, there in zip(needles, found, strict=True) if not there]
        return no("not found: " + ", ".join(absent[:5])) if absent else YES

    def _needles(self, case: JudgeCase) -> list[Json] | JudgeFailed:
        if self._value is not None:
            return [self._value]
        expected = case.expected
        needles = expected if isinstance(expected, list) else [expected]
        # What is empty is in every text: finding it would say nothing.
        if not needles or not all(self._normalize(text_of(needle) or "") for needle in needles):
            return no_expected(expected, _WANTED)
        return needles
