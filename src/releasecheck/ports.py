"""The seams: what the core needs from outside, and what each implementation promises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from releasecheck.model.record import NO_USAGE, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.failure import Failure
    from releasecheck.model.record import Record
    from releasecheck.model.score import JudgeAnswer


class Clock(Protocol):
    """The only way to know or spend time."""

    def now(self) -> str:
        """UTC as RFC 3339 with milliseconds and `Z`, for people and across processes."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, for measuring inside one process."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class TargetCall(NamedTuple):
    """One trial of one case, as the target may see it: never `expected`."""

    case: str
    trial: int
    input: Json
    tags: tuple[str, ...]
    metadata: Mapping[str, Json]
    idempotency_key: str
    """`{run_id}:{case}#t{trial}`, the same over all attempts."""


class Answered(NamedTuple):
    """The target gave an answer."""

    output: Json
    """Any JSON but null."""
    latency_ms: float
    """Of the attempt that succeeded."""
    usage: Usage = NO_USAGE
    """Over all attempts."""
    trace_id: str | None = None
    calls: int = 1
    notes: tuple[str, ...] = ()
    fingerprint: str | None = None
    """Which model answered, as the target says it."""


@dataclass(frozen=True, slots=True)
class TargetFailed:
    """The target gave no answer."""

    failure: Failure
    usage: Usage = NO_USAGE
    calls: int = 1


TargetAnswer: TypeAlias = Answered | TargetFailed


class Target(Protocol):
    """The system under test.

    `answer` never raises for what the target does; it raises only for defects of ours
    and `asyncio.CancelledError`. It owns its concurrency, rate limit, time-outs and retries.
    """

    async def answer(self, call: TargetCall) -> TargetAnswer:
        """Ask once (with the retries the suite allows)."""
        ...

    async def aclose(self) -> None:
        """Stop everything that was started, whole process groups included; idempotent."""
        ...


class JudgeCase(NamedTuple):
    """A case as judges may see it."""

    id: str
    input: Json
    expected: Json
    """None when the case names none."""
    metadata: Mapping[str, Json]
    tags: tuple[str, ...] = ()
    split: str = "main"


class JudgeAsk(NamedTuple):
    """One output to be judged."""

    case: JudgeCase
    trial: int
    output: Json
    output_digest: str
    run_id: str
    judge: str
    idempotency_key: str
    """Pair and output digest; the same over all attempts."""
    whole: Json = None
    """The whole output, where `output` is the part that `input` selects; None: `output` is the whole."""


class Judged(NamedTuple):
    """A judge's answer with what it used."""

    answer: JudgeAnswer
    usage: Usage = NO_USAGE
    notes: tuple[str, ...] = ()
    """How it came about, as `key=value`: the model that a provider says answered, an option it refused."""


class Judge(Protocol):
    """Scores one output.

    `judge` never raises for what the judge does; a judge that cannot score answers `JudgeFailed`.
    """

    async def judge(self, ask: JudgeAsk) -> Judged:
        """Score the output, say that it does not apply, fail, or defer under a ticket."""
        ...

    async def aclose(self) -> None:
        """Stop what was started; idempotent."""
        ...


class Arrived(NamedTuple):
    """What has come for one ticket."""

    answer: JudgeAnswer
    """`Pending`: the judge says that it is still to come."""
    usage: Usage = NO_USAGE
    made_at: str | None = None
    """When the judge says that it made the score; RFC 3339. None where it does not say."""
    notes: tuple[str, ...] = ()
    """As in `Judged`."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What one question for scores brought."""

    scores: Mapping[str, Arrived] = field(default_factory=dict)
    """By ticket; one that is not here is still to come."""
    failure: Failure | None = None
    """Why the question itself failed, if it did; what `scores` holds came all the same."""
    again_s: float | None = None
    """Seconds that the judge asks to be left alone for (Retry-After)."""
    violations: tuple[str, ...] = ()
    """What of the answer broke the contract and concerns no single score: a ticket never asked for."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What became of a request to forget."""

    state: Literal["done", "unsupported", "failed"]
    message: str
    """For a person."""


@runtime_checkable
class DeferredJudge(Judge, Protocol):
    """A judge that may answer `Pending` and is asked again with the ticket."""

    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        """What has come for at most 50 tickets of its own, asked within the seconds that are left.

        One call, without retries: whoever settles asks again. Never raises for what the judge does; it is
        cancelled when the time is over. Asking again for a ticket that was answered changes nothing.
        """
        ...

    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        """Ask the judge to delete what it keeps for at most 50 tickets; repeating it is no error."""
        ...


@runtime_checkable
class BulkJudge(DeferredJudge, Protocol):
    """A deferred judge that takes many outputs in one request and would rather have them all at once."""

    most: int
    """Outputs in one request."""

    async def submit(self, asks: Sequence[JudgeAsk]) -> Sequence[Judged]:
        """Hand over outputs; one answer each, in their order, `Pending` for those that were taken.

        Handing the same outputs over again must not make the judge do them twice where it can tell.
        """
        ...


class LedgerWriter(Protocol):
    """Appends to one ledger file; every record is flushed before the call returns."""

    def append(self, record: Record) -> None:
        """Write one record."""
        ...

    def sync(self) -> None:
        """Force what was appended to the disk; may run in another thread than `append`."""
        ...

    def close(self, stopped: str | None) -> None:
        """Write the `end` record, sync and close; idempotent."""
        ...


class Progress(Protocol):
    """Told what happened; never asked."""

    def begin(self, total: int) -> None:
        """So many trials are to be done, over all shards of this process."""
        ...

    def case_done(self, shard: int, done: int, total: int, failed: int) -> None:
        """One more trial of this shard has its output and scores on record."""
        ...

    def note(self, text: str) -> None:
        """Something a person should read now."""
        ...

    def close(self) -> None:
        """Nothing more will come; idempotent."""
        ...
