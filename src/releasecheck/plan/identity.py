"""What makes a judge or a target the same as in another run (contract section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest
from releasecheck.model.plan import PlannedJudge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.judge import Judge
    from releasecheck.model.target import Target

_HOW_IT_RUNS: Final = {
    "timeout", "deadline", "concurrency", "interval", "batch", "wait", "mode", "rejudge", "sentinels",
}  # fmt: skip
"""Settings of a judge that cannot change a score, only whether and when it comes, and who checks it."""
_CONTRACTS: Final = {
    "python": "python@1", "command": "command@1", "http": "evaluator@2", "langfuse": "langfuse@1",
    "llm": "llm@1", "precomputed": "precomputed@1", "plugin": "evaluator@2",
}  # fmt: skip
CONTRACTS: Final = frozenset({"builtin@1", *_CONTRACTS.values()})
"""What judges of this version speak; a plan with any other one is refused by its name (S1-14)."""


def judge_identity(spec: Judge, files: Mapping[str, str] | None = None) -> PlannedJudge:
    """A judge with its digest.

    The digest covers the type, everything that is set and can change a score or whether it passes
    (`pass_at` and `pass_rule` too), the contract, and the digests of its files. A setting at its default
    is left out, so that a later version with one more option finds the same judge again.

    Args:
        spec: the judge; a schema file is already replaced by its content.
        files: digests of the files it is made of, by path relative to the config.
    """
    contract = _CONTRACTS.get(spec.type, "builtin@1")
    written = _written(spec)
    kept = {name: value for name, value in written.items() if name not in _HOW_IT_RUNS}
    files = dict(sorted((files or {}).items()))
    identity = digest({"contract": contract, "spec": kept, "files": files})
    return PlannedJudge(spec=spec, contract=contract, digest=identity, files=files)


def target_identity(target: Target) -> str:
    """Digest of everything that is set for the target, references by name."""
    return digest(_written(target))


def _written(spec: Judge | Target) -> dict[str, Json]:
    return spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
