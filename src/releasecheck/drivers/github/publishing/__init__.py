"""What a run says to the world through GitHub: one module for each surface, each published for itself."""

from releasecheck.drivers.github.publishing.evidence import Expected
from releasecheck.drivers.github.publishing.request import PublishOptions
from releasecheck.drivers.github.publishing.results import (
    Done,
    Failed,
    Publication,
    Published,
    Skipped,
)
from releasecheck.drivers.github.publishing.stage import publish

__all__ = [
    "Done",
    "Expected",
    "Failed",
    "Publication",
    "PublishOptions",
    "Published",
    "Skipped",
    "publish",
]
