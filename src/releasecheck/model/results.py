"""`results.jsonl`: one line per (case, trial) in plan order, the public form of what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from releasecheck.canonical import digest
from releasecheck.model.failure import Failure
from releasecheck.model.record import Usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case


@dataclass(frozen=True, slots=True)
class RowScore:
    """One judge's cell."""

    state: str
    """One of `releasecheck.model.table.STATES`."""
    value: float | None
    reason: str | None
    """Untrusted text, or a code of ours."""

    def to_json(self) -> dict[str, Json]:
        """`{state, value, reason}`."""
        return {"state": self.state, "value": self.value, "reason": self.reason}

    @classmethod
    def from_json(cls, cell: dict[str, Any]) -> RowScore:
        """Read a cell (KeyError, TypeError when it is none).

        One stored before states existed has the state that its value implies (S1-35): a value was measured,
        and null says that none is there - not that the judge had nothing to say, and not 0.
        """
        value = cell["value"]
        if "state" in cell:
            return cls(cell["state"], value, cell["reason"])
        return cls("missing" if value is None else "scored", value, cell.get("reason"))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """What is known of one (case, trial)."""

    case: str
    case_digest: str
    trial: int
    split: str
    tags: tuple[str, ...]
    """So that a baseline knows which of its cases a gate with tags is about."""
    output: Json
    """None when there is none, or when it is not stored."""
    failure: Failure | None
    latency_ms: float | None
    usage: Usage
    trace_id: str | None
    scores: dict[str, RowScore]
    """By judge id, every planned judge."""
    passed: dict[str, bool]
    """By judge id, where known."""
    cluster: str | None = None
    """What the case's metadata names as `cluster`."""
    fingerprint: str | None = None
    """Which model answered, as the target says it."""

    def to_json(self) -> dict[str, Json]:
        """The line."""
        return {
            "case": self.case,
            "case_digest": self.case_digest,
            "trial": self.trial,
            "split": self.split,
            "tags": list(self.tags),
            **({} if self.cluster is None else {"cluster": self.cluster}),
            "output": self.output,
            "failure": None if self.failure is None else self.failure.to_json(),
            "latency_ms": self.latency_ms,
            "usage": self.usage.to_json(),
            "trace_id": self.trace_id,
            **({} if self.fingerprint is None else {"fingerprint": self.fingerprint}),
            "scores": {judge: score.to_json() for judge, score in self.scores.items()},
            "passed": self.passed,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> ResultRow:
        """Read a line (KeyError, TypeError, ValueError when it is none)."""
        usage = row["usage"]
        return cls(
            case=row["case"],
            case_digest=row["case_digest"],
            trial=row["trial"],
            split=row["split"],
            tags=tuple(row.get("tags", ())),
            cluster=row.get("cluster"),
            output=row["output"],
            failure=None if row["failure"] is None else Failure.from_json(row["failure"]),
            latency_ms=row["latency_ms"],
            usage=Usage(usage["tokens"], usage["cost_usd"]),
            trace_id=row["trace_id"],
            fingerprint=row.get("fingerprint"),
            scores={judge: RowScore.from_json(cell) for judge, cell in row["scores"].items()},
            passed=dict(row["passed"]),
        )


@dataclass(frozen=True, slots=True)
class RowView:
    """A result with its case, for reports."""

    row: ResultRow
    case: Case


def results_digest(rows: Iterable[dict[str, Json]]) -> str:
    """Digest of a results file that purging does not change: without outputs, reasons, messages."""
    stable = []
    for row in rows:
        kept = {key: value for key, value in row.items() if key != "output"}
        if kept["failure"] is not None:
            kept["failure"] = {k: v for k, v in kept["failure"].items() if k != "message"}
        kept["scores"] = {
            # As it is written: a file from before states existed keeps the digest it always had.
            judge: {key: cell[key] for key in ("state", "value") if key in cell}
            for judge, cell in kept["scores"].items()
        }
        stable.append(digest(kept))
    return digest(stable)
