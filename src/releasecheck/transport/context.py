"""What a run gives to everything that calls out: made once, by the composition root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.transport.classify import Classifier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from releasecheck.model.failure import Stage
    from releasecheck.ports import Clock
    from releasecheck.transport.client import RunClient


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of targets and judges."""

    environment: Mapping[str, str]
    """What references in the config are read from; programs get it too."""
    root: Path
    """The config's folder: programs start there, modules are found there."""
    clock: Clock
    client: RunClient
    """The one HTTP client of the run, with the gates of all hosts."""
    redact: Callable[[str], str]
    """Removes secret values from a text."""
    jitter: Callable[[], float]
    """Seeded numbers in [0, 1)."""
    log_folder: Path | None = None
    """Where the logs of started programs are kept; None is the system's folder for temporary files."""

    def classifier(self, stage: Stage) -> Classifier:
        """The classifier for one stage."""
        return Classifier(stage, self.redact)
