"""Whether a downloaded bundle may be a baseline: everything in it recomputed from its records.

What its scorecard says is believed only because `verify` comes to the same; where it was found is
believed only because its own run id and plan say so too (traps 23 and 28).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from releasecheck.errors import ReleaseCheckError, Untrusted, UsageError
from releasecheck.pipeline.baselines import BaselineFiles, read_baseline, why_unfit
from releasecheck.pipeline.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.drivers.github.refusals import Reason
    from releasecheck.pipeline.world import World

_RUN_ID: Final = re.compile(r"rc-([0-9a-f]{12})-([1-9][0-9]{0,17})")
_ODD: Final = (ValidationError, LookupError, TypeError, ValueError, ArithmeticError, RecursionError)
"""What reading a bundle may raise that no honest program wrote."""
TRY_OLDER: Final = frozenset({"unreadable", "not_verified", "stranger", "not_final"})
"""Such a bundle decides nothing, so that of an earlier attempt may count; any other refusal stands for
the whole run."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """The bundle is no baseline."""

    reason: Reason
    why: str


@dataclass(frozen=True, slots=True)
class Sound:
    """A final, complete, verified bundle of a full run."""

    run_id: str
    """`rc-<plan12>-<run>`."""
    run: int
    """Of the workflow."""
    plan12: str
    commit: str | None
    verdict: str
    """`pass` or `bootstrap`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """What the name and place of a bundle say it is."""

    repository: str
    suite: str
    plan12: str
    run: int | None
    """None where the place names no run."""


def check_bundle(folder: Path, filed: Filed, world: World) -> Sound | Unfit:
    """Verify a bundle and compare it with where it was found.

    Raises:
        InfrastructureError: this machine cannot read it.
    """
    try:
        verified = verify(folder, world)
        if verified.differences:
            return Unfit("not_verified", f"{verified.summary}: {verified.differences[0]}")
        files = read_baseline(folder, "looked at")
    except Untrusted as error:
        return Unfit("not_verified", str(error))
    except UsageError as error:
        return Unfit("unreadable", str(error))
    except ReleaseCheckError:
        raise
    except _ODD as error:
        return Unfit("unreadable", f"it is no bundle: {type(error).__name__}: {error}")
    return _stranger(files, filed) or _judged(files)


def _stranger(files: BaselineFiles, filed: Filed) -> Unfit | None:
    manifest = files.manifest
    match = _RUN_ID.fullmatch(manifest.run_id)
    expected = f"rc-{filed.plan12}-{filed.run or '<run>'}"
    if manifest.suite != filed.suite or files.scorecard.suite != filed.suite:
        return Unfit("stranger", f"it is of the suite {manifest.suite}; expected {filed.suite}")
    if (
        match is None
        or match[1] != filed.plan12
        or manifest.plan_digest.removeprefix("sha256:")[:12] != filed.plan12
        or filed.run not in (None, int(match[2]))
    ):
        return Unfit("stranger", f"it is of the run {manifest.run_id}; expected {expected}")
    # Numbers of runs are unique over all repositories, and a repository may be renamed; only where no run
    # vouches for the bundle must it name this one.
    repository = manifest.context.get("repository")
    known = isinstance(repository, str) and repository.casefold() == filed.repository.casefold()
    if filed.run is None and not known:
        return Unfit("stranger", f"it was made for the repository {repository}")
    return None


def _judged(files: BaselineFiles) -> Sound | Unfit:
    card, manifest = files.scorecard, files.manifest
    if manifest.finalized_at is None or card.verdict is None:
        return Unfit("not_final", "its run was still open: another attempt may decide otherwise")
    if card.mode != "full":
        return Unfit("partial", f"it is a {card.mode} run over a part of the cases")
    if card.verdict not in ("pass", "bootstrap"):
        return Unfit("verdict", f"its verdict is {card.verdict}")
    if card.incomplete:
        return Unfit("incomplete", card.incomplete[0].message)
    problem = why_unfit(files)
    if problem is not None:
        return Unfit("unfit", f"it {problem}")
    match = _RUN_ID.fullmatch(card.run_id)
    assert match is not None  # noqa: S101 - for the type checker: checked before
    commit = files.baseline.commit
    return Sound(card.run_id, int(match[2]), match[1], commit, card.verdict)
