"""The input `python-extras`: what judges need that run in the action's own environment.

It is code that the required check runs, so on pull requests the file is that of the base commit, as the
judges are; and none of our own locked dependencies may be replaced by it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.cli.action.rules import in_tree, policy_root_of, policy_tree_of
from releasecheck.cli.output import say
from releasecheck.drivers.github.errors import quoted
from releasecheck.errors import InfrastructureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.cli.action.job import Job
    from releasecheck.model.plan import Plan

TIMEOUT_S: Final = 1200


def rules_of(job: Job, plan: Plan) -> Path | None:
    """The folder that a plan's judges run in (see `policy_root_of`), with what they need installed."""
    tree = policy_tree_of(job, plan)
    install_extras(job, tree)
    return None if tree is None else policy_root_of(job, tree)


def install_extras(job: Job, tree: Path | None) -> None:
    """Install them into this environment.

    Args:
        job: Whose inputs name the file.
        tree: Files of the commit whose rules apply; None where they are the checkout's own.

    Raises:
        UsageError: there is no such file.
        InfrastructureError: they cannot be installed, or not beside our own dependencies.
    """
    name = job.inputs.python_extras
    if name is None:
        return
    path = job.world.cwd / name if tree is None else in_tree(job, tree, Path(name))
    if not path.is_file():
        where = "the checkout" if tree is None else "the base commit"
        message = f"{name}: the input python-extras names a file that is not in {where}"
        raise UsageError(message)
    pins = job.folder / "locked.txt"
    pins.write_text("".join(f"{pin}\n" for pin in _pins(job.lock)), encoding="utf-8")
    say(f"installing {name}")
    try:
        done = subprocess.run(  # noqa: S603 - our own installer, files of the rules that apply
            [*_installer(job.uv), "--constraint", pins, "--requirement", path],
            env=dict(job.world.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f"{name}: cannot be installed: {type(error).__name__}"
        raise InfrastructureError(message) from None
    if done.returncode:
        message = f"{name}: cannot be installed: {quoted(done.stderr.strip(), 500)}"
        raise InfrastructureError(message)
    importlib.invalidate_caches()


def _installer(uv: str | None) -> list[str]:
    if uv:
        return [uv, "pip", "install", "--quiet", "--no-config", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _pins(lock: Path) -> Iterator[str]:
    """`name==version` with its marker, without the hashes."""
    for line in lock.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            yield line.removesuffix("\\").strip()
