"""Ledger files on a full disk, and more of them than a process may open (B106, S0-52)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from releasecheck.ledger.jsonl import JsonlWriter, LedgerReader
from releasecheck.model.record import OutputRecord
from tests.builders import header
from tests.fakes import FakeClock

_FULL_DISK = """
import resource, sys
from pathlib import Path
from releasecheck.errors import InfrastructureError
from releasecheck.ledger.jsonl import JsonlWriter
from tests.builders import header, output
from tests.fakes import FakeClock

path, limit = Path(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit * 10))
written = 0
try:
    writer = JsonlWriter(path, header(), FakeClock())
except InfrastructureError as error:
    assert "cannot write the ledger" in str(error), error
    print("no header")
    sys.exit()
try:
    while True:
        writer.append(output(f"c{written}", "x" * 100))
        written += 1
except InfrastructureError as error:
    assert "cannot write the ledger" in str(error), error
resource.setrlimit(resource.RLIMIT_FSIZE, (limit * 10, limit * 10))  # somebody made room
try:
    writer.append(output("later"))
except InfrastructureError as error:
    assert "could not be written" in str(error), error
else:
    raise AssertionError("appended after a failed write")
writer.close(None)
print(written)
"""

if sys.platform != "win32":  # Windows has no limits that a process can set for itself
    import resource

    def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        root = Path(__file__).parents[3]
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
            timeout=50,
        )

    @pytest.mark.parametrize("limit", [1000, 1017, 1200, 5000])
    def test_writer__a_full_disk_ends_the_file_after_the_last_whole_record(
        tmp_path: Path, limit: int
    ) -> None:
        """B106: nothing is glued to a stump, and nothing acknowledged is lost."""
        path = tmp_path / "ledger.jsonl"
        written = int(run_python(_FULL_DISK, str(path), str(limit)).stdout)
        reader = LedgerReader(path)
        assert [record.case for _, record in reader if isinstance(record, OutputRecord)] == [
            f"c{index}" for index in range(written)
        ]
        assert (reader.torn, reader.ended) == (False, False)

    def test_writer__a_disk_without_room_for_the_header(tmp_path: Path) -> None:
        path = tmp_path / "ledger.jsonl"
        assert run_python(_FULL_DISK, str(path), "10").stdout == "no header\n"
        assert LedgerReader(path).header is None

    def test_reader__keeps_no_file_open(tmp_path: Path) -> None:
        """A run of 256 shards and some attempts has more files than a process may open."""
        paths = [tmp_path / f"{index}.jsonl" for index in range(60)]
        for path in paths:
            JsonlWriter(path, header(), FakeClock()).close(None)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = os.dup(0)
        os.close(highest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 5, hard))
        try:
            readers = [LedgerReader(path) for path in paths]
            assert all(list(reader) == [] for reader in readers)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
