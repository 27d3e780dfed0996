"""`similarity`: how much of two texts agrees, character by character."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import Indel
from typing_extensions import override

from releasecheck.judges.normalize import normalizer, text_of
from releasecheck.judges.outcome import ImmediateJudge, cannot, no_expected, not_text
from releasecheck.model.score import Scored

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.judge import SimilarityJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase

LARGEST: Final = 10**10
"""Product of the two lengths that is computed: a quarter of a second that nothing else can use."""


class Similarity(ImmediateJudge):
    """1 minus the insertions and deletions between the texts over their common length.

    That is twice the longest common subsequence over both lengths; two empty texts are equal (1).
    """

    def __init__(self, spec: SimilarityJudge) -> None:
        self._normalize = normalizer(spec.normalize)

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        expected = text_of(case.expected)
        if expected is None:
            return no_expected(case.expected, "a text")
        found = text_of(output)
        if found is None:
            return not_text(output)
        found, expected = self._normalize(found), self._normalize(expected)
        if len(found) * len(expected) > LARGEST:
            message = (
                f"texts of {len(found)} and {len(expected)} characters are too long to compare; the "
                f"product of the lengths may be {LARGEST:.0e}"
            )
            return cannot("too_large", message)
        return Scored(Indel.normalized_similarity(found, expected))
