"""Config and dataset files to a checked suite and its cases (contract section 3)."""

from releasecheck.config.cases import check_cases, load_cases, read_cases
from releasecheck.config.policy import load_suite_under
from releasecheck.config.suite import LoadedSuite, load_suite

__all__ = [
    "LoadedSuite",
    "check_cases",
    "load_cases",
    "load_suite",
    "load_suite_under",
    "read_cases",
]
