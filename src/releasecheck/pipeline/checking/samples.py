"""What a judge is asked in a check: one output, under as many idempotency keys as are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.canonical import digest
from releasecheck.ports import JudgeAsk, JudgeCase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case
    from releasecheck.model.judge import Judge


@dataclass(frozen=True, slots=True)
class Sample:
    """One case with an output for it."""

    case: JudgeCase
    output: Json
    where: str
    """Where it came from, for a person."""

    def ask(self, run_id: str, judge: str, number: int) -> JudgeAsk:
        """The output as one that has not been judged before, but for the same number."""
        case = self.case._replace(id=f"{self.case.id}-{number}" if number else self.case.id)
        identity = digest(self.output)
        return JudgeAsk(
            case=case,
            trial=0,
            output=self.output,
            output_digest=identity,
            run_id=run_id,
            judge=judge,
            idempotency_key=f"{run_id}:{case.id}#t0:{judge}:{identity}",
        )


def sample_of(spec: Judge, cases: Sequence[Case]) -> Sample:
    """Something that the judge should be able to judge: its first sentinel, else the first case."""
    if spec.sentinels:
        one = spec.sentinels[0]
        case = JudgeCase("sample", one.input, one.expected, one.metadata)
        return Sample(case, one.output, "its first sentinel")
    first = cases[0]
    output = first.input if first.expected is None else first.expected
    case = JudgeCase(first.id, first.input, first.expected, first.metadata, first.tags, first.split)
    what = "input" if first.expected is None else "expected"
    return Sample(case, output, f"the case {first.id}, with its {what} as the answer")


def own_sample() -> Sample:
    """For a judge without a suite."""
    case = JudgeCase("sample", "What is the capital of Norway?", "Oslo", {})
    return Sample(case, "Oslo", "the capital of Norway, answered rightly")
