"""Time and peak memory of merging ledger files (S0-45, S0-52).

    python benchmarks/merge.py                      # 5,000 cases x 5 judges x 2 attempts, then 1,000,000 records
    python benchmarks/merge.py --cases 5000 --json  # one size, for programs

Both attempts measured everything, the worst case: every record of the second says again what the first
said. Files are written by one process and merged by another, whose time and peak memory are shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

SHARDS = 20
MILLION = 83_334
"""Cases that make 1,000,008 records with 5 judges and 2 attempts."""


def write(folder: Path, cases: int, judges: int, attempts: int) -> None:
    """Ledger files of a run whose attempts all measured everything."""
    from tests.builders import make_frame, output, score
    from tests.fakes import FakeClock

    from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name

    frame = make_frame(cases, judges=[f"judge{index}" for index in range(judges)], shards=SHARDS)
    for attempt in range(1, attempts + 1):
        writers = [
            JsonlWriter(
                folder / shard_file_name(shard, attempt), frame.header(shard, attempt), FakeClock()
            )
            for shard in range(SHARDS)
        ]
        for case, shard in zip(frame.cases, frame.shard_of, strict=True):
            content = f"the answer to {case.id} " * 10
            writers[shard].append(output(case.id, content, attempt=attempt))
            for judge in frame.plan.judges:
                writers[shard].append(score(case.id, case.line % 2, judge=judge.id, of=content))
        for writer in writers:
            writer.close(None)


def merge(folder: Path, cases: int, judges: int) -> dict[str, float]:
    """Merge them, in this process, and say what it took."""
    import resource

    from tests.builders import make_frame

    from releasecheck.ledger.jsonl import LedgerReader

    frame = make_frame(cases, judges=[f"judge{index}" for index in range(judges)], shards=SHARDS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, busy = time.perf_counter(), time.process_time()
    merged = frame.merge(*[LedgerReader(path) for path in sorted(folder.glob("*.jsonl"))])
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "records": sum(seen.records for seen in merged.files),
        "scored": int((merged.table.state == 1).sum()),
        "duplicates": merged.duplicates,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(busy, 2),
        "before_mb": round(before * unit / 1e6, 1),
        "peak_mb": round(peak * unit / 1e6, 1),
    }


def measure(cases: int, judges: int, attempts: int) -> dict[str, float]:
    """Write and merge, each in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        size = ["--cases", str(cases), "--judges", str(judges), "--attempts", str(attempts)]
        for step in ("write", "merge"):
            done = subprocess.run(
                [sys.executable, __file__, *size, "--folder", folder, "--step", step],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--judges", type=int, default=5)
    parser.add_argument("--attempts", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=["write", "merge"], help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step == "write":
        write(asked.folder, asked.cases, asked.judges, asked.attempts)
    elif asked.step == "merge":
        print(json.dumps(merge(asked.folder, asked.cases, asked.judges)))
    else:
        for cases in [asked.cases] if asked.cases else [5_000, MILLION]:
            found = measure(cases, asked.judges, asked.attempts)
            if asked.json:
                print(json.dumps(found))
                continue
            print(
                f"{cases:,} cases x {asked.judges} judges x {asked.attempts} attempts: "
                f"{found['records']:,} records merged in {found['seconds']} s "
                f"({found['cpu_seconds']} s of CPU, "
                f"{1e6 * found['cpu_seconds'] / found['records']:.0f} us each), peak {found['peak_mb']} MB "
                f"({found['before_mb']} MB before)"
            )


if __name__ == "__main__":
    main()
