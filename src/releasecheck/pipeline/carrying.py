"""What a retry carries from the run that it redoes a part of: which records, and under which name (X-05, G-19).

The unit is a (case, trial). What was measured is carried as it is and never rolled again; what failed in a
chosen class is left out, so that it is done; every other failure is carried as one that nobody mends.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest
from releasecheck.errors import DigestMismatch
from releasecheck.model.failure import Failure, failure
from releasecheck.model.record import (
    NO_USAGE,
    OUTPUT_NOT_STORED,
    OutputRecord,
    ScoreRecord,
    read_record,
)
from releasecheck.model.score import JudgeFailed, Missing, NotApplicable, Scored
from releasecheck.model.table import ANSWERED, FAILED, NO_OUTPUT, NOT_APPLICABLE, SCORED
from releasecheck.pipeline.rows import NOT_EXECUTED, SHARED_TICKET

if TYPE_CHECKING:
    from collections.abc import Collection

    from releasecheck.model.plan import Plan
    from releasecheck.model.record import Record
    from releasecheck.model.score import Score
    from releasecheck.pipeline.lines import Lines
    from releasecheck.pipeline.remaining import Recorded

TARGET: Final = "target"
"""The class under which an answer that was not kept may be asked again."""


@dataclass(slots=True)
class Carried:
    """What became of the records of a run."""

    answers: int = 0
    scores: int = 0
    """Measured."""
    to_ask: int = 0
    """(case, trial)s whose target is asked again."""
    to_judge: int = 0
    """Scores that are asked for again over a stored output."""
    lost: int = 0
    """Scores that cannot be had, since their outputs were not stored."""
    judges: set[str] = field(default_factory=set)
    """Judges that are asked again."""

    @property
    def redone(self) -> int:
        """What there is to do: answers and scores."""
        return self.to_ask + self.to_judge


@dataclass(frozen=True, slots=True)
class Carrying:
    """Sorts the records of a merged run."""

    plan: Plan
    recorded: Recorded
    classes: Collection[str]
    lines: Lines
    tally: Carried
    now: str
    """When what is not on record there is put on record here; RFC 3339."""

    def records(self, case: int, trial: int) -> list[Record]:
        """What is carried of one (case, trial): its answer first; nothing when it is asked anew."""
        merged = self.recorded.merged
        target = int(merged.table.target[case, trial])
        if target == NO_OUTPUT:
            return self._failed(case, trial, None)
        output = self._output(case, trial)
        if target != ANSWERED:
            return self._failed(case, trial, output)
        found: list[Record] = []
        redo: list[int] = []
        for judge in range(len(merged.table.judges)):
            score = self._score(case, trial, judge)
            if score is None:
                redo.append(judge)
            else:
                found.append(score)
        return self._answered(case, trial, output, found, redo)

    def _answered(
        self, case: int, trial: int, output: OutputRecord, found: list[Record], redo: list[int]
    ) -> list[Record]:
        merged, tally = self.recorded.merged, self.tally
        states = merged.table.state[case, trial]
        measured = int(((states == SCORED) | (states == NOT_APPLICABLE)).sum())
        names = [merged.table.judges[judge] for judge in redo]
        if redo and not merged.stored[case, trial]:
            # A new answer would be judged whole, so it is asked for only where nothing was measured yet.
            if TARGET in self.classes and not measured and len(redo) == len(states):
                return self._again()
            tally.lost += len(redo)
            found += [
                self._said(case, trial, judge, output, Missing(OUTPUT_NOT_STORED)) for judge in redo
            ]
        elif redo:
            tally.to_judge += len(redo)
            tally.judges.update(names)
        tally.answers += 1
        tally.scores += measured
        return [output, *found]

    def _again(self) -> list[Record]:
        self.tally.to_ask += 1
        return []

    def _failed(self, case: int, trial: int, output: OutputRecord | None) -> list[Record]:
        """A trial without an answer."""
        if output is None:
            why = failure(
                "infra", "target", NOT_EXECUTED, "not asked in the run that this one retries"
            )
        else:
            assert output.failure is not None  # noqa: S101 - the merge says so
            why = output.failure
        if why.cls in self.classes:
            return self._again()
        if output is not None:
            return [output._replace(failure=_final(why))]
        return [
            OutputRecord(
                case=self.recorded.merged.table.cases[case].id,
                trial=trial,
                attempt=1,
                output=None,
                output_digest=None,
                failure=why,
                latency_ms=None,
                usage=NO_USAGE,
                trace_id=None,
                at=self.now,
                calls=1,
                carried_from=self.plan.run_id,
            )
        ]

    def _output(self, case: int, trial: int) -> OutputRecord:
        place = self.recorded.merged.output_at[case, trial].tolist()
        record = read_record(self.lines.at(place), self.recorded.paths[place[0]])
        assert isinstance(record, OutputRecord)  # noqa: S101 - locators come from the merge
        if record.output is not None and digest(record.output) != record.output_digest:
            what = f"the output of case {record.case[:80]!r}"
            expected = str(record.output_digest)
            raise DigestMismatch(what, found=digest(record.output), expected=expected)
        return record._replace(carried_from=record.carried_from or self.plan.run_id)

    def _score(self, case: int, trial: int, judge: int) -> ScoreRecord | None:
        """The score that is carried; None when it is asked for again."""
        merged = self.recorded.merged
        place = merged.score_at[case, trial, judge].tolist()
        if place[0] < 0:
            if "infra" in self.classes:
                return None
            output = self._output(case, trial)
            return self._said(case, trial, judge, output, Missing(NOT_EXECUTED))
        record = read_record(self.lines.at(place), self.recorded.paths[place[0]])
        assert isinstance(record, ScoreRecord)  # noqa: S101 - as above
        score, cls = _outcome(record.score, shared=merged.table.state[case, trial, judge] == FAILED)
        if cls is not None and cls in self.classes:
            return None
        return record._replace(
            score=score,
            revision=1,
            carried_from=record.carried_from or self.plan.run_id,
            carried_from_revision=None,
        )

    def _said(
        self, case: int, trial: int, judge: int, output: OutputRecord, score: Score
    ) -> ScoreRecord:
        table = self.recorded.merged.table
        return ScoreRecord(
            case=table.cases[case].id,
            trial=trial,
            judge=table.judges[judge],
            output_digest=str(output.output_digest),
            score=score,
            ticket=None,
            usage=NO_USAGE,
            revision=1,
            at=self.now,
            carried_from=self.plan.run_id,
        )


def _outcome(score: Score, *, shared: bool) -> tuple[Score, str | None]:
    """A score as it is carried, and the class of its failure; None where it was measured."""
    match score:
        case Scored() | NotApplicable() if shared:
            message = SHARED_TICKET.partition(": ")[2]
            return JudgeFailed(failure("judge", "collect", "contract_violation", message)), "judge"
        case Scored() | NotApplicable():
            return score, None
        case JudgeFailed(failed):
            return JudgeFailed(_final(failed)), failed.cls
        case Missing(_, failed):
            return score, "judge" if failed is None else failed.cls
        case _:  # pending: nobody waits for it any more
            return Missing("interrupted"), "judge"


def _final(failed: Failure) -> Failure:
    """Whoever left its class out of a retry wants it to stay."""
    return replace(failed, retryable=False)
