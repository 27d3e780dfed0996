"""Merge streams: its memory is bounded by what was planned, not by what was recorded (S0-45, S0-52)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

if sys.platform != "win32":  # where a process can ask for its own peak

    @pytest.mark.timeout(300)  # writing and reading 60,000 records, on whatever machine
    def test_merge__5000_cases_x_5_judges_x_2_attempts_in_256_mb() -> None:
        command = [
            sys.executable,
            str(ROOT / "benchmarks" / "merge.py"),
            "--cases",
            "5000",
            "--json",
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout)
        assert (found["records"], found["scored"], found["duplicates"]) == (60_000, 25_000, 25_000)
        assert found["peak_mb"] < 256
        # Kept as objects, the records alone would take several times this.
        assert found["peak_mb"] - found["before_mb"] < 64
