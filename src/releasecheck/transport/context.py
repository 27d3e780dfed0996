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
    from releasecheck.transport.http import HttpClient
    from releasecheck.transport.limits import Gates


@dataclass(frozen=True, slots=True)
class Context:
    """The surroundings of targets and judges."""

    environment: Mapping[str, str]
    """What references in the config are read from; programs get it too."""
    root: Path
    """The config's folder: programs start there, modules are found there."""
    clock: Clock
    client: HttpClient
    """The one HTTP client of the run."""
    gates: Gates
    """The one set of gates of the run: whoever calls a host goes through that host's gate."""
    redact: Callable[[str], str]
    """Removes secret values from a text."""
    jitter: Callable[[], float]
    """Seeded numbers in [0, 1)."""
    log_folder: Path | None = None
    """Where logs of started programs are kept; None keeps them until the end only."""

    def classifier(self, stage: Stage) -> Classifier:
        """The classifier for one stage."""
        return Classifier(stage, self.redact)
