"""`failure.json`: why a run could not be carried through (S2-46, S2-60)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.errors import (
    ConfigError,
    CorruptLedger,
    DigestMismatch,
    EnvironmentMissing,
    ForeignRecord,
    InfrastructureError,
    Interrupted,
    NotResumable,
    ReleaseCheckError,
    Untrusted,
    UsageError,
)
from releasecheck.redact import NOTHING_SECRET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.failure import FailureClass, Stage
    from releasecheck.model.plan import Plan
    from releasecheck.redact import Redactor

FAILURE_SCHEMA: Final = "releasecheck/failure@1"
_LONGEST_MESSAGE: Final = 4000
_CODES: Final[tuple[tuple[type[BaseException], str, FailureClass], ...]] = (
    (EnvironmentMissing, "environment_missing", "config"),
    (ConfigError, "config_invalid", "config"),
    (NotResumable, "not_resumable", "config"),
    (UsageError, "usage", "config"),
    (DigestMismatch, "digest_mismatch", "infra"),
    (CorruptLedger, "corrupt_ledger", "infra"),
    (ForeignRecord, "foreign_record", "infra"),
    (Untrusted, "untrusted", "infra"),
    (InfrastructureError, "infrastructure", "infra"),
    (Interrupted, "interrupted", "cancelled"),
    (KeyboardInterrupt, "interrupted", "cancelled"),
    (MemoryError, "out_of_memory", "infra"),
    (OSError, "io_error", "infra"),
)
_ADVICE: Final[dict[str, str]] = {
    "config": "Repair what the message names and run the command again; what was recorded is kept.",
    "untrusted": (
        "Get the original files again (plan, results, baseline) and run `releasecheck finish` once more; "
        "nothing was decided from these."
    ),
    "cancelled": "Carry on with `releasecheck resume`; what was recorded is kept.",
    "infra": "Remove the cause and carry on with `releasecheck resume`; what was recorded is kept.",
    "internal": (
        "Please report this with the code above. `releasecheck resume` carries on from what was recorded."
    ),
}


def build_failure(
    error: BaseException,
    stage: Stage,
    *,
    now: str,
    plan: Plan | None = None,
    recorded: Mapping[str, Json] | None = None,
    redactor: Redactor = NOTHING_SECRET,
) -> dict[str, Json]:
    """The content of `failure.json`: why a run could not be carried through (S2-46, S2-60).

    `recorded` counts what is on disk, e.g. `{"outputs": 40, "scores": 80, "expected_pairs": 168}`.
    """
    worst = max(_leaves(error), key=_exit_code)
    code, cls, todo = _classified(worst)
    message = redactor.text(_message(worst))
    return {
        "schema": FAILURE_SCHEMA,
        "run_id": None if plan is None else plan.run_id,
        "plan_digest": None if plan is None else plan.plan_digest,
        "suite": None if plan is None else plan.suite,
        "stage": stage,
        "class": cls,
        "code": code,
        "exit_code": _exit_code(worst),
        "message": message[:_LONGEST_MESSAGE],
        "recorded": dict(recorded or {}),
        "what_to_do": _ADVICE[todo],
        "at": now,
    }


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _exit_code(error: BaseException) -> int:
    if isinstance(error, ReleaseCheckError):
        return error.exit_code
    return 130 if isinstance(error, KeyboardInterrupt) else 4


def _classified(error: BaseException) -> tuple[str, FailureClass, str]:
    """Code, class and which advice."""
    for kind, code, cls in _CODES:
        if isinstance(error, kind):
            return code, cls, "untrusted" if isinstance(error, Untrusted) else cls
    return "internal_error", "infra", "internal"


def _message(error: BaseException) -> str:
    if isinstance(error, ReleaseCheckError):
        return str(error)
    # The message of a stranger may quote a secret in a form that no redactor knows.
    if isinstance(error, OSError) and error.strerror:
        place = f": {error.filename}" if isinstance(error.filename, str) else ""
        return f"{type(error).__name__}: {error.strerror}{place}"
    return type(error).__name__
