"""One process at a time: locks on a bundle and on the files of a shard."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

from releasecheck.errors import InfrastructureError, NotResumable, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK: Final = ".lock"
"""Name of a bundle's lock file."""


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold a bundle against other processes (NotResumable when one is at work)."""
    lock = FileLock(out / LOCK)
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        message = f"{out}: another process is at work on this run; wait for it, or stop it"
        raise NotResumable(message) from None
    except (NotADirectoryError, FileNotFoundError, PermissionError) as error:
        message = (
            f"{out}: this folder cannot be used: {error.strerror}; name another one with --out"
        )
        raise UsageError(message) from None
    except OSError as error:
        message = f"{out}: cannot be written: {error.strerror}"
        raise InfrastructureError(message) from None
    try:
        yield
    finally:
        with suppress(OSError):
            if [path.name for path in out.iterdir()] == [LOCK]:  # nothing came of it
                (out / LOCK).unlink()
                out.rmdir()
        lock.release()


@contextmanager
def shard_locked(results: Path, index: int) -> Iterator[None]:
    """Hold one shard's files in a folder: two writers would ask everything twice (S0-12)."""
    lock = FileLock(results / f".shard-{index:04d}.lock")
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        message = f"{results}: another process is at work on shard {index}; wait for it, or stop it"
        raise NotResumable(message) from None
    except OSError as error:
        message = (
            f"{results}: this folder cannot be used: {error.strerror}; name another one with --out"
        )
        raise UsageError(message) from None
    try:
        yield
    finally:
        lock.release()
        with suppress(OSError):
            Path(lock.lock_file).unlink()
