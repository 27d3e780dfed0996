"""Time, calls, connections and peak memory of waiting for scores that judges owe (issue 4: 10,000 tickets).

    python benchmarks/settling.py                            # 10,000 and 50,000 tickets
    python benchmarks/settling.py --tickets 2000 --json

Plans a suite with one http judge, writes the ledger files of shards whose outputs were all given a ticket,
and then runs `releasecheck finish` in a process of its own against a judge on loopback. The judge has the
score of each ticket with the first, second or third question for it, so that finish pauses twice for a
second. `wall_s` is of the whole finish: merge, questions, records, decision, bundle.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

SHARDS = 4
ROUNDS = 3


class LoopbackJudge:
    """evaluator@2 without the first half: it only answers questions for tickets."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.calls = self.largest = self.open = self.most_open = self.in_flight = self.most = 0
        self.asked: dict[str, int] = {}
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = head.decode().lower().split("\r\n")
                length = next((int(f[15:]) for f in fields if f.startswith("content-length:")), 0)
                body = await reader.readexactly(length)
                self.in_flight += 1
                self.most = max(self.most, self.in_flight)
                await asyncio.sleep(0.002)  # a judge that looks something up
                said = self._answer(body)
                self.in_flight -= 1
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    b"content-length: %d\r\n\r\n%s" % (len(said), said)
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    def _answer(self, body: bytes) -> bytes:
        if not body:
            return b'{"contract": "evaluator@2", "name": "benchmark"}'
        tickets = json.loads(body)["tickets"]
        self.calls += 1
        self.largest = max(self.largest, len(tickets))
        scores: dict[str, Any] = {}
        for ticket in tickets:
            times = self.asked[ticket] = self.asked.get(ticket, 0) + 1
            there = times > int(ticket.rpartition("-")[2]) % ROUNDS
            scores[ticket] = {"value": 1.0} if there else {"state": "pending"}
        return json.dumps({"scores": scores}).encode()


def write_suite(folder: Path, tickets: int, port: int) -> None:
    """A dataset of so many short cases, and one judge."""
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(tickets):
            file.write(f'{{"id":"c{number}","input":"q{number}","expected":"a"}}\n')
    config = {
        "version": 1,
        "suite": "bench",
        "shards": SHARDS,
        "cases": [{"path": "cases.jsonl"}],
        "target": {"type": "http", "url": "http://127.0.0.1:9/", "body": {"q": "{{ input }}"}},
        "judges": [
            {"id": "slow", "type": "http", "url": f"http://127.0.0.1:{port}/", "interval": "1s"}
        ],
        "gates": [{"id": "quality", "metric": "slow", "min": 0.5}],
    }
    (folder / "releasecheck.yaml").write_text(json.dumps(config), encoding="utf-8")


def write_results(folder: Path) -> None:
    """What the shards recorded: an output and a ticket for each case."""
    from releasecheck.canonical import digest
    from releasecheck.drivers.local.clock import SystemClock
    from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name
    from releasecheck.model.record import read_record

    plan, clock = json.loads((folder / "plan/plan.json").read_bytes()), SystemClock()
    usage, found = {"cost_usd": None, "tokens": None}, digest("a")
    for shard in plan["shards"]:
        path = folder / "results" / shard_file_name(shard["index"], 1)
        header = read_record(
            {
                "record": "shard", "schema": "releasecheck/results@1", "plan_digest": plan["plan_digest"],
                "run_id": plan["run_id"], "shard": shard["index"], "shards": len(plan["shards"]),
                "attempt": 1, "tool": "benchmark", "started_at": clock.now(), "approved_by": None,
                "code": {"commit": None, "files": {}},
            },
            path,
        )  # fmt: skip
        writer = JsonlWriter(path, header, clock)  # type: ignore[arg-type]
        for line in (folder / "plan" / shard["file"]).read_bytes().splitlines():
            case = json.loads(line)
            writer.append(read_record({
                "record": "output", "case": case["id"], "trial": 0, "attempt": 1, "calls": 1, "output": "a",
                "output_digest": found, "failure": None, "latency_ms": 10.0, "usage": usage,
                "trace_id": None, "notes": [], "at": clock.now(),
            }, path))  # type: ignore[arg-type]  # fmt: skip
            writer.append(read_record({
                "record": "score", "case": case["id"], "trial": 0, "judge": "slow", "output_digest": found,
                "state": "pending", "value": None, "reason": None, "failure": None,
                "ticket": f"t-{case['index']}", "usage": usage, "revision": 1, "at": clock.now(),
            }, path))  # type: ignore[arg-type]  # fmt: skip
        writer.close(None)


def finish(folder: Path) -> tuple[float, float, int]:
    """Run `releasecheck finish`; returns wall seconds, CPU seconds and peak memory in MB."""
    began = time.perf_counter()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-m", "releasecheck", "finish", "--plan", "plan",
             "--results", "results", "--out", "out"],
            cwd=folder, stdout=log, stderr=log,
        )  # fmt: skip
        _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit((folder / "log").read_text("utf-8")[-3000:])
    wall = time.perf_counter() - began
    return wall, used.ru_utime + used.ru_stime, round(used.ru_maxrss / 1024)


def measure(tickets: int) -> dict[str, float]:
    """Settle so many tickets in a new folder."""
    folder = Path(tempfile.mkdtemp(prefix="releasecheck-settling-"))
    judge = LoopbackJudge()
    try:
        write_suite(folder, tickets, judge.port)
        subprocess.run(
            [sys.executable, "-I", "-X", "utf8", "-m", "releasecheck", "plan", "releasecheck.yaml"],
            cwd=folder, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        write_results(folder)
        wall, cpu, peak = finish(folder)
        card = json.loads((folder / "out/scorecard.json").read_bytes())
        if card["counts"]["scored"] != tickets or card["exit_code"] != 0:
            sys.exit(f"not all tickets were settled: {card['counts']}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "tickets": tickets,
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "peak_mb": peak,
        "calls": judge.calls,
        "most_tickets": judge.largest,
        "connections": judge.most_open,
        "in_flight": judge.most,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tickets", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--json", action="store_true", help="for programs")
    given = parser.parse_args()
    rows = [measure(tickets) for tickets in given.tickets]
    if given.json:
        print(json.dumps(rows))
        return
    print(" ".join(f"{name:>12}" for name in rows[0]))
    for row in rows:
        print(" ".join(f"{value:>12,}" for value in row.values()))


if __name__ == "__main__":
    main()
