"""What every judge shares, applied once and outside of it: `expected`, `when`, `input`, `negate`, clean reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import jmespath
from typing_extensions import override

from releasecheck.canonical import clean_text
from releasecheck.judges.outcome import cannot, kind
from releasecheck.model.failure import LONGEST_MESSAGE
from releasecheck.model.judge import OthersJudge, YesNoJudge
from releasecheck.model.score import JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import (
    BulkJudge,
    Collected,
    DeferredJudge,
    Judge,
    JudgeAsk,
    Judged,
    Purged,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import Judge as JudgeSpec
    from releasecheck.model.judge import When
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeCase
    from releasecheck.redact import Redactor

LONGEST_REASON: Final = 2_000
"""Characters of a reason that are kept."""
_EVALUATION_ERRORS: Final = (ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""What functions in a JMESPath raise; `JMESPathError` is a ValueError."""


_SECRET_TICKET: Final = cannot(
    "contract_violation",
    "the ticket holds a secret of this run, and tickets are kept in its records",
)
"""A ticket must come back as it was given, so that nothing can be taken out of it."""


class WrappedJudge(Judge):
    """A judge as the suite configures it."""

    def __init__(self, inner: Judge, spec: JudgeSpec, redactor: Redactor) -> None:
        self._inner = inner
        self._when = spec.when
        self._select = None if spec.input is None else Selector(spec.input)
        self._expected = None if spec.expected is None else ExpectedPart(spec.expected)
        self._negate = isinstance(spec, YesNoJudge | OthersJudge) and spec.negate
        self._redactor = redactor

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        shown = self._shown(ask)
        if not isinstance(shown, JudgeAsk):
            return Judged(shown)
        return self._said(await self._inner.judge(shown))

    def _shown(self, ask: JudgeAsk) -> JudgeAsk | JudgeAnswer:
        """What the judge itself is asked, or the answer where it is not asked at all."""
        if self._expected is not None:
            wanted = self._expected(ask.case.expected)
            if isinstance(wanted, JudgeFailed):
                return self._presentable(wanted)
            ask = ask._replace(case=ask.case._replace(expected=wanted))
        not_for = None if self._when is None else why_not_applicable(self._when, ask.case)
        if not_for is not None:
            return NotApplicable(not_for)
        if self._select is None:
            return ask
        part = self._select(ask.output)
        if isinstance(part, JudgeFailed):
            return self._presentable(part)
        return ask._replace(output=part, whole=ask.output)

    def _said(self, judged: Judged) -> Judged:
        shown = self._answer(judged.answer)
        if shown is judged.answer and not judged.notes:
            return judged
        return judged._replace(answer=shown, notes=self._notes(judged.notes))

    def _answer(self, answer: JudgeAnswer) -> JudgeAnswer:
        return self._presentable(negated(answer) if self._negate else answer)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()

    def _presentable(self, answer: JudgeAnswer) -> JudgeAnswer:
        match answer:
            case Scored(reason=None):
                return answer
            case Pending(ticket):
                return answer if self._redactor.text(ticket) == ticket else _SECRET_TICKET
            case Scored(value, reason):
                return Scored(value, self._text(reason or ""))
            case NotApplicable(reason):
                return NotApplicable(self._text(reason))
            case JudgeFailed(failure):
                message = self._text(failure.message or "", LONGEST_MESSAGE)
                code = self._redactor.text(failure.code)
                return JudgeFailed(replace(failure, code=code, message=message))

    def _notes(self, notes: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._text(note, LONGEST_MESSAGE) for note in notes)

    def _text(self, text: str, longest: int = LONGEST_REASON) -> str:
        # Redacted before it is cut, or the first half of a secret would be left at the cut.
        text = self._redactor.text(clean_text(text))
        return text if len(text) <= longest else text[: longest - 3] + "..."


class WrappedDeferred(WrappedJudge, DeferredJudge):
    """The same around a judge that may answer later: what it answers then is treated alike."""

    def __init__(self, inner: DeferredJudge, spec: JudgeSpec, redactor: Redactor) -> None:
        super().__init__(inner, spec, redactor)
        self._later = inner

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        found = await self._later.collect(tickets, within_s)
        failed = found.failure
        if failed is not None:
            failed = replace(failed, message=self._text(failed.message or "", LONGEST_MESSAGE))
        return Collected(
            {
                ticket: one._replace(answer=self._answer(one.answer), notes=self._notes(one.notes))
                for ticket, one in found.scores.items()
            },
            failed,
            found.again_s,
            tuple(self._text(each, LONGEST_MESSAGE) for each in found.violations),
        )

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        done = await self._later.purge(tickets, within_s)
        return Purged(done.state, self._text(done.message, LONGEST_MESSAGE))


class WrappedBulk(WrappedDeferred, BulkJudge):
    """The same around a judge that takes many outputs at once."""

    def __init__(self, inner: BulkJudge, spec: JudgeSpec, redactor: Redactor) -> None:
        super().__init__(inner, spec, redactor)
        self._bulk = inner
        self.most = inner.most

    @override
    async def submit(self, asks: Sequence[JudgeAsk]) -> Sequence[Judged]:
        shown = [self._shown(ask) for ask in asks]
        asked = [one for one in shown if isinstance(one, JudgeAsk)]
        answers = iter(await self._bulk.submit(asked) if asked else ())
        return [
            self._said(next(answers)) if isinstance(one, JudgeAsk) else Judged(one) for one in shown
        ]


def wrapped(inner: Judge, spec: JudgeSpec, redactor: Redactor) -> WrappedJudge:
    """A judge as the suite configures it; it can do what `inner` can."""
    if isinstance(inner, BulkJudge):
        return WrappedBulk(inner, spec, redactor)
    if isinstance(inner, DeferredJudge):
        return WrappedDeferred(inner, spec, redactor)
    return WrappedJudge(inner, spec, redactor)


class Selector:
    """`input: answer.text`: a JMESPath into the output."""

    def __init__(self, expression: str) -> None:
        """Compile it.

        Raises:
            ValueError: it is no JMESPath.
        """
        self._expression = expression
        self._compiled = jmespath.compile(expression)
        # Only functions can make what JSON has not, such as the infinity of to_number('1e999').
        self._computes = "(" in expression

    def __call__(self, output: Json) -> Json | JudgeFailed:
        """The part, which may be 0, false or empty; null and nothing are a failure."""
        try:
            part = self._compiled.search(output)
            if self._computes:
                json.dumps(part, allow_nan=False)
        except _EVALUATION_ERRORS as error:
            message = f"`input: {self._expression}` cannot be evaluated on this output: {error}"
            return cannot("input_failed", message)
        if part is None:
            return cannot(
                "missing_part", f"`input: {self._expression}` finds nothing in {_outline(output)}"
            )
        return part


class ExpectedPart:
    """`expected: sources[0]`: a JMESPath into what a case expects; finding nothing is None, as if it named none."""

    def __init__(self, expression: str) -> None:
        """Compile it.

        Raises:
            ValueError: it is no JMESPath.
        """
        self._expression = expression
        self._compiled = jmespath.compile(expression)

    def __call__(self, expected: Json) -> Json | JudgeFailed:
        """The part, or why it cannot be had."""
        try:
            part: Json = self._compiled.search(expected)
            json.dumps(part, allow_nan=False)
        except _EVALUATION_ERRORS as error:
            message = f"`expected: {self._expression}` cannot be evaluated on this case: {error}"
            return cannot("input_failed", message)
        return part


def _outline(output: Json) -> str:
    if isinstance(output, dict):
        keys = ", ".join(sorted(output)[:20]) or "none"
        return f"the output, an object with the keys {keys}"
    return f"the output, which is {kind(output)}"


def why_not_applicable(when: When, case: JudgeCase) -> str | None:
    """Why a judge has nothing to say about a case; None when it applies."""
    if when.tags is not None and not set(when.tags) & set(case.tags):
        return "the case has none of the tags " + ", ".join(when.tags)
    if when.split is not None and when.split not in ("all", case.split):
        return f"the case is not in the split {when.split}"
    if when.has == "expected" and case.expected is None:
        return "the case names no `expected`"
    return None


def negated(answer: JudgeAnswer) -> JudgeAnswer:
    """Yes as no and no as yes; a failure and "not applicable" stay what they are (B32)."""
    if not isinstance(answer, Scored):
        return answer
    if answer.value not in (0.0, 1.0):
        message = (
            f"`negate` turns yes and no round, and the value is {answer.value!r}, neither 1 nor 0"
        )
        return cannot("contract_violation", message)
    if answer.value == 0.0:
        return Scored(1.0, answer.reason)
    return Scored(
        0.0, answer.reason or "negated: what must not be there or hold, is there or holds"
    )
