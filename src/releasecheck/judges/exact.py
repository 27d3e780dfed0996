"""`exact`: the output is the expected value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from releasecheck.judges.normalize import normalizer
from releasecheck.judges.outcome import YES, ImmediateJudge, kind, no, no_expected, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.canonical import Json
    from releasecheck.model.judge import ExactJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase


class Exact(ImmediateJudge):
    """Compares by JSON value: 1 is 1.0, but neither true nor "1"; the order of keys does not count.

    Texts, those inside lists and objects too, are compared after normalization; keys as they are.
    """

    def __init__(self, spec: ExactJudge) -> None:
        self._normalize = normalizer(spec.normalize)

    @override
    def score(self, output: Json, case: JudgeCase) -> JudgeAnswer:
        if case.expected is None:
            return no_expected(None, "a value")
        if same(output, case.expected, self._normalize):
            return YES
        return no(_difference(output, case.expected))


def same(left: Json, right: Json, normalize: Callable[[str], str]) -> bool:
    """Whether two JSON values are equal, texts after `normalize`."""
    if isinstance(left, str) and isinstance(right, str):
        return left == right or normalize(left) == normalize(right)
    # Python takes True for 1; JSON does not.
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, normalize) for a, b in pairs)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            same(item, right[key], normalize) for key, item in left.items()
        )
    return bool(left == right)


def _difference(output: Json, expected: Json) -> str:
    wanted, found = kind(expected), kind(output)
    if wanted == found:
        return f"expected {shown(expected)}, found {shown(output)}"
    return f"expected {wanted}, {shown(expected)}, found {found}, {shown(output)}"
