"""Why something could not be done: one closed vocabulary for every driver (X-01, X-02)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

FailureClass: TypeAlias = Literal["infra", "config", "target", "judge", "outcome", "cancelled"]
"""infra: the way there broke, trying again may help. config: trying again changes nothing.
target, judge: the thing itself broke. outcome: a legitimate end that is no answer. cancelled: stopped."""
Stage: TypeAlias = Literal["plan", "target", "judge", "collect", "merge", "publish"]
LONGEST_MESSAGE: Final = 500
"""Characters of a failure's message that are kept."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, classified where it happened, with secrets already removed."""

    cls: FailureClass
    """Written as `class`."""
    stage: Stage
    """Where it happened."""
    code: str
    """Stable word for programs: `timeout`, `rate_limited`, `exit_code`, ..."""
    retryable: bool
    """Whether a re-run has something to do."""
    message: str | None
    """For a person; at most 500 characters, the cause first; None once purged."""

    def to_json(self) -> dict[str, object]:
        """The `failure` object of records."""
        return {
            "class": self.cls,
            "stage": self.stage,
            "code": self.code,
            "retryable": self.retryable,
            "message": self.message,
        }

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> Failure:
        """Read a `failure` object (KeyError, TypeError, ValueError when it is none)."""
        if row["class"] not in get_args(FailureClass) or row["stage"] not in get_args(Stage):
            message = f"unknown failure class or stage: {row['class']!r}, {row['stage']!r}"
            raise ValueError(message)
        if not isinstance(row["code"], str) or not isinstance(row["retryable"], bool):
            message = "a failure needs a text `code` and a true or false `retryable`"
            raise TypeError(message)
        said = row.get("message")
        if said is not None and not isinstance(said, str):
            message = f"the message of a failure is {type(said).__name__}, expected text"
            raise TypeError(message)
        return cls(row["class"], row["stage"], row["code"], row["retryable"], said)


def failure(
    cls: FailureClass, stage: Stage, code: str, message: str, *, retryable: bool = False
) -> Failure:
    """Build a failure whose message is cut to `LONGEST_MESSAGE`."""
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 3] + "..."
    return Failure(cls, stage, code, retryable, message)
