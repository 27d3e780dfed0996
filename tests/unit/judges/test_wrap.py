"""`when`, `input`, `negate` and clean reasons, outside of every judge (B26, B32, B40, B65)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from releasecheck.judges.outcome import cannot
from releasecheck.judges.wrap import LONGEST_REASON, WrappedJudge, negated
from releasecheck.model.failure import LONGEST_MESSAGE
from releasecheck.model.record import Usage
from releasecheck.model.score import JudgeAnswer, JudgeFailed, NotApplicable, Pending, Scored
from releasecheck.ports import Judge, JudgeAsk, Judged
from releasecheck.redact import NOTHING_SECRET, Redactor
from tests.unit.judges.builders import answer, ask, opened, reason, said, spec_of


class Scripted(Judge):
    """Gives one answer and remembers what it was asked."""

    def __init__(self, found: JudgeAnswer) -> None:
        self._found = found
        self.asked: list[Any] = []
        self.closed = False

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        self.asked.append(ask.output)
        return Judged(self._found, Usage(7, 0.5))

    @override
    async def aclose(self) -> None:
        self.closed = True


def wrapped(inner: Judge, redactor: Redactor = NOTHING_SECRET, **settings: Any) -> WrappedJudge:
    return WrappedJudge(inner, spec_of("exact", **settings), redactor)


@pytest.mark.parametrize(
    ("when", "case", "applies"),
    [
        ({"tags": ["math", "code"]}, {"tags": ("x", "code")}, True),
        ({"tags": ["math"]}, {"tags": ("x",)}, False),
        ({"tags": ["math"]}, {}, False),
        ({"split": "hard"}, {"split": "hard"}, True),
        ({"split": "hard"}, {"split": "main"}, False),
        ({"split": "all"}, {"split": "main"}, True),
        ({"has": "expected"}, {"expected": ""}, True),  # B26: an empty text is named
        ({"has": "expected"}, {"expected": 0}, True),
        ({"has": "expected"}, {"expected": None}, False),
        ({"tags": ["math"], "split": "hard"}, {"tags": ("math",), "split": "main"}, False),
    ],
)
def test_when__decides_before_the_judge(when: Any, case: Any, applies: bool) -> None:
    """B65: what does not apply is on record as such, with a reason, and never passes."""
    inner = Scripted(Scored(1.0))
    judged = asyncio.run(wrapped(inner, when=when).judge(ask("out", **case)))
    assert said(judged.answer) == (1.0 if applies else "not-applicable")
    assert len(inner.asked) == int(applies)
    assert applies or reason(judged.answer).startswith("the case ")


@pytest.mark.parametrize("type_", ["exact", "numeric", "contains", "similarity", "recall"])
def test_when__has_expected__before_any_kind(type_: str) -> None:
    found = answer(type_, "hi", None, when={"has": "expected"})
    assert said(found) == "not-applicable"


@pytest.mark.parametrize(
    ("path", "output", "part"),
    [
        ("answer", {"answer": 0}, 0),  # B26
        ("answer", {"answer": False}, False),
        ("answer", {"answer": ""}, ""),
        ("answer", {"answer": []}, []),
        ("docs[].id", {"docs": [{"id": 1}, {"id": 2}]}, [1, 2]),
        ("length(@)", "four", 4),
        ("@", "text", "text"),
    ],
)
def test_input__selects(path: str, output: Any, part: Any) -> None:
    inner = Scripted(Scored(1.0))
    asyncio.run(wrapped(inner, input=path).judge(ask(output)))
    assert inner.asked == [part]
    assert type(inner.asked[0]) is type(part)


@pytest.mark.parametrize(
    ("path", "output", "code"),
    [
        ("answer", {"anser": 1}, "missing_part"),
        ("answer", {"answer": None}, "missing_part"),
        ("answer", "a text", "missing_part"),
        ("answer", False, "missing_part"),
        ("length(answer)", {"answer": 5}, "input_failed"),
        ("sum(@)", ["a"], "input_failed"),
        ("to_number(@)", "1e999", "input_failed"),
        ("[*].to_number(@)", ["NaN"], "input_failed"),
    ],
)
def test_input__missing__fails(path: str, output: Any, code: str) -> None:
    """A part that is not there is a failure, not a wrong answer."""
    inner = Scripted(Scored(1.0))
    judged = asyncio.run(wrapped(inner, input=path).judge(ask(output)))
    assert said(judged.answer) == code
    assert inner.asked == []


def test_input__missing__says_what_is_there() -> None:
    found = answer("exact", {"b": 1, "a": 2}, 1, input="answer")
    assert "an object with the keys a, b" in reason(found)


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        (Scored(1.0), 0.0),
        (Scored(0.0, "not found"), 1.0),
        (cannot("timeout", "too slow"), "timeout"),
        (NotApplicable("no links"), "not-applicable"),
        (Pending("t1"), "pending"),
        (Scored(0.7), "contract_violation"),
        (Scored(-1.0), "contract_violation"),
    ],
)
def test_negate__once_and_outside(inner: JudgeAnswer, outer: float | str) -> None:
    """B32: an error stays an error."""
    judged = asyncio.run(wrapped(Scripted(inner), negate=True).judge(ask("out")))
    assert said(judged.answer) == outer
    assert judged.usage == Usage(7, 0.5)
    assert negated(inner) == judged.answer


@pytest.mark.parametrize(
    ("type_", "settings", "output", "plain"),
    [
        ("exact", {}, "blue", 1.0),
        ("contains", {"value": "blue"}, "The sky is blue.", 1.0),
        ("contains", {"value": "blue"}, "The sky is grey.", 0.0),
        ("regex", {"pattern": "blue"}, "The sky is blue.", 1.0),
        ("regex", {"pattern": "(a|aa)+$", "timeout": "50ms"}, "a" * 60 + "!", "timeout"),
        ("regex", {"pattern": "blue"}, {"a": 1}, "not_text"),
        ("json-schema", {"schema": {"type": "object"}}, "not JSON", 0.0),
        ("numeric", {"extract": True}, "3 or 4", "bad_expected"),
    ],
)
def test_negate__every_kind(
    type_: str, settings: dict[str, Any], output: Any, plain: float | str
) -> None:
    """B32: the catalogue's suite, and every other yes/no judge."""
    turned = {1.0: 0.0, 0.0: 1.0}.get(plain, plain) if isinstance(plain, float) else plain
    assert said(answer(type_, output, "blue", **settings)) == plain
    assert said(answer(type_, output, "blue", negate=True, **settings)) == turned


def test_negate__missing_input__stays_a_failure() -> None:
    found = answer("contains", {"b": 1}, value="x", input="answer", negate=True)
    assert said(found) == "missing_part"


@pytest.mark.parametrize(
    "found",
    [Scored(0.5, "{}"), NotApplicable("{}"), cannot("judge_failed", "{}")],
    ids=["scored", "not-applicable", "failed"],
)
def test_reasons__are_cleaned_redacted_and_cut(found: JudgeAnswer) -> None:
    """B40 and secrets, in whichever state the words come."""
    secret = "s3cr3t-value-of-a-key"
    words = f"half \ud83d {secret} " + "x" * 5000

    def with_words(state: JudgeAnswer) -> JudgeAnswer:
        match state:
            case Scored(value):
                return Scored(value, words)
            case NotApplicable():
                return NotApplicable(words)
            case _:
                return cannot("judge_failed", words)

    redactor = Redactor({"KEY": secret})
    judged = asyncio.run(wrapped(Scripted(with_words(found)), redactor).judge(ask("out")))
    shown = reason(judged.answer)
    assert shown.startswith("half \ufffd [redacted:KEY] xxx")
    assert len(shown) == (LONGEST_MESSAGE if isinstance(found, JudgeFailed) else LONGEST_REASON)
    shown.encode("utf-8")


def test_reasons__a_secret_at_the_cut__leaves_no_half() -> None:
    secret = "s3cr3t-value-of-a-key"
    for found in (
        Scored(0.5, "x" * (LONGEST_REASON - 8) + secret),
        cannot("judge_failed", "x" * (LONGEST_MESSAGE - 8) + secret),
    ):
        judge = wrapped(Scripted(found), Redactor({"KEY": secret}))
        assert "s3cr" not in reason(asyncio.run(judge.judge(ask("out"))).answer)


def test_secrets__are_in_no_ticket_note_or_code() -> None:
    """All of them are kept in records, and a ticket must come back as it was given."""
    redactor = Redactor({"KEY": "s3cr3t-value-of-a-key"})

    class Noting(Scripted):
        @override
        async def judge(self, ask: JudgeAsk) -> Judged:
            return Judged(self._found, notes=("model=s3cr3t-value-of-a-key",))

    for found in (Pending("t-s3cr3t-value-of-a-key"), cannot("s3cr3t-value-of-a-key", "no")):
        judged = asyncio.run(wrapped(Noting(found), redactor).judge(ask("out")))
        assert isinstance(judged.answer, JudgeFailed)
        assert "s3cr3t" not in str(judged)
        assert judged.notes == ("model=[redacted:KEY]",)
    assert asyncio.run(
        wrapped(Scripted(Pending("t")), redactor).judge(ask("out"))
    ).answer == Pending("t")


def test_aclose__reaches_the_judge() -> None:
    inner = Scripted(Scored(1.0))
    asyncio.run(wrapped(inner).aclose())
    assert inner.closed


def test_open_judges__secret_in_a_mismatch__is_redacted() -> None:
    judge = opened(spec_of("exact"), redactor=Redactor({"KEY": "s3cr3t-value"}))
    found = asyncio.run(judge.judge(ask("it is s3cr3t-value", "no"))).answer
    assert "[redacted:KEY]" in reason(found)


def by_part(path: str, output: Any, expected: Any, **settings: Any) -> JudgeAnswer:
    judge = opened(spec_of("exact", expected=path, **settings))
    return asyncio.run(judge.judge(ask(output, expected))).answer


@pytest.mark.parametrize(
    ("path", "expected", "output", "value"),
    [
        ("a", {"a": "x", "b": "y"}, "x", 1.0),
        ("b", {"a": "x", "b": "y"}, "x", 0.0),
        ("a[1]", {"a": ["v", "x"]}, "x", 1.0),
        ("a", {"a": 0}, 0, 1.0),  # B26: nought is named
        ("a", {"a": ""}, "", 1.0),
    ],
)
def test_expected__is_the_part_that_is_compared(
    path: str, expected: Any, output: Any, value: float
) -> None:
    """One case tells several judges what each looks for."""
    assert said(by_part(path, output, expected)) == value


@pytest.mark.parametrize("expected", [{"b": "x"}, "x", None, {"a": None}])
def test_expected__without_its_part__names_none(expected: Any) -> None:
    """Never a pass: a failure, or outside where the judge asks for cases that name it."""
    assert isinstance(by_part("a", "x", expected), JudgeFailed)
    outside = by_part("a", "x", expected, when={"has": "expected"})
    assert isinstance(outside, NotApplicable)


def test_expected__that_cannot_be_evaluated__fails() -> None:
    assert said(by_part("length(a, a)", "x", {"a": "x"})) == "input_failed"
