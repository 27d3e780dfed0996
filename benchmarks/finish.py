"""Time and peak memory of the finish stage over many shards (issue 3: 256 shards of 4,000 cases each).

    python benchmarks/finish.py                              # 256 shards x 4,000 cases
    python benchmarks/finish.py --shards 20 --cases 100 --json

Plans a suite, writes the ledger file that each shard would have uploaded, each into a folder of its own as
artifacts come, and then runs `releasecheck finish` in a process of its own, whose wall time and peak memory
are shown. Every tenth answer is wrong. Texts are short, so that 1,024,000 cases stay below 2 GB on disk.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = {
    "version": 1,
    "suite": "bench",
    "cases": [{"path": "cases.jsonl"}],
    "target": {"type": "http", "url": "http://127.0.0.1:9/", "body": {"q": "{{ input }}"}},
    "judges": [{"id": "exact", "type": "exact"}],
    "gates": [{"id": "quality", "metric": "exact", "min": 0.5}],
}


def releasecheck(folder: Path, *arguments: str) -> tuple[float, int]:
    """Run the program; returns wall seconds and exit code."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-X", "utf8", "-m", "releasecheck", *arguments],
        cwd=folder, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    if done.returncode not in (0, 1):
        sys.exit(f"{arguments[0]} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return time.perf_counter() - began, done.returncode


def write_suite(folder: Path, cases: int) -> None:
    """A dataset of so many short cases."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(cases):
            file.write(f'{{"id":"c{number}","input":"q{number}","expected":"a"}}\n')
    (folder / "releasecheck.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")


def write_results(folder: Path) -> list[Path]:
    """What the shards would have uploaded; returns the folders."""
    from releasecheck.canonical import digest
    from releasecheck.drivers.local.clock import SystemClock
    from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name
    from releasecheck.model.record import read_record

    plan = json.loads((folder / "plan/plan.json").read_bytes())
    at, clock = "2026-01-01T00:00:00.000Z", SystemClock()
    usage = {"cost_usd": None, "tokens": None}
    made = []
    for shard in plan["shards"]:
        index = shard["index"]
        into = folder / "artifacts" / str(index)
        into.mkdir(parents=True)
        path = into / shard_file_name(index, 1)
        header = read_record(
            {
                "record": "shard", "schema": "releasecheck/results@1", "plan_digest": plan["plan_digest"],
                "run_id": plan["run_id"], "shard": index, "shards": len(plan["shards"]), "attempt": 1,
                "tool": "benchmark", "started_at": at, "approved_by": None,
                "code": {"commit": None, "files": {}},
            },
            path,
        )  # fmt: skip
        writer = JsonlWriter(path, header, clock)  # type: ignore[arg-type]
        for line in (folder / "plan" / shard["file"]).read_bytes().splitlines():
            case = json.loads(line)
            answer = "b" if case["index"] % 10 == 0 else "a"
            found = digest(answer)
            writer.append(read_record({
                "record": "output", "case": case["id"], "trial": 0, "attempt": 1, "calls": 1, "output": answer,
                "output_digest": found, "failure": None, "latency_ms": 10.0 + case["index"] % 7,
                "usage": usage, "trace_id": None, "notes": [], "at": at,
            }, path))  # type: ignore[arg-type]  # fmt: skip
            writer.append(read_record({
                "record": "score", "case": case["id"], "trial": 0, "judge": "exact", "output_digest": found,
                "state": "scored", "value": float(answer == "a"), "reason": None, "failure": None,
                "ticket": None, "usage": usage, "revision": 1, "at": at,
            }, path))  # type: ignore[arg-type]  # fmt: skip
        writer.close(None)
        made.append(into)
    return made


def size(folder: Path) -> float:
    """Megabytes of the files below a folder; a file with two names counts once."""
    files = {
        path.stat().st_ino: path.stat().st_size for path in folder.rglob("*") if path.is_file()
    }
    return sum(files.values()) / 2**20


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shards", type=int, default=256)
    parser.add_argument("--cases", type=int, default=4000, help="in each shard")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--folder", type=Path, help="where to work; it is emptied first and removed at the end"
    )
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="releasecheck-finish-"))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        write_suite(folder, given.shards * given.cases)
        planned, _ = releasecheck(
            folder, "plan", "releasecheck.yaml", "--shards", str(given.shards)
        )
        plan_peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        # In a child, so that what it needs is not taken for what finish needs.
        if (pid := os.fork()) == 0:
            write_results(folder)
            os._exit(0)
        _, status, used = os.wait4(pid, 0)
        if status:
            sys.exit("the ledger files could not be written")
        arguments = [
            word for index in range(given.shards) for word in ("--results", f"artifacts/{index}")
        ]
        began = time.perf_counter()
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-m", "releasecheck", "finish", "--plan", "plan",
                 *arguments, "--out", "out"],
                cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
            _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        if os.waitstatus_to_exitcode(status):
            sys.exit((folder / "log").read_text("utf-8")[-3000:])
        figures = {
            "shards": given.shards,
            "cases": given.shards * given.cases,
            "plan_s": round(planned, 1),
            "plan_peak_mb": round(plan_peak),
            "finish_s": round(wall, 1),
            "finish_cpu_s": round(used.ru_utime + used.ru_stime, 1),
            "finish_peak_mb": round(used.ru_maxrss / 1024),
            "results_mb": round(size(folder / "artifacts")),
            "bundle_mb": round(size(folder / "out")),
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name:<15} {value:>12,}")


if __name__ == "__main__":
    main()
