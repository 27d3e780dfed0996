"""What the engine adds to the calls it makes: `run` beside bare loops, all in one process and one run.

Against a server in another process that answers at once: 5,000 cases, concurrency 50, one `exact` judge.

- bare: only posts the same requests and reads the answers, over the client and transport that the engine uses
- httpx: only posts and reads, over httpx's own transport
- shards: everything `run` does between plan and finish: templates, calls, digests, ledger, judge, syncs
- run: the whole command, planning and reports included

Usage: python benchmarks/engine.py [--cases 5000] [--concurrency 50] [--rounds 3]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from releasecheck.drivers.local.run import RunOptions, run, run_shards
from releasecheck.drivers.local.world import local_world
from releasecheck.pipeline.folders import Bundle, open_plan
from releasecheck.pipeline.freezing import PlanRequest, make_plan
from releasecheck.pipeline.preflight import preflight
from releasecheck.transport import open_client
from releasecheck.transport.http import headers_with

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

SERVER = Path(__file__).with_name("transports.py")


def write_suite(folder: Path, url: str, cases: int, concurrency: int) -> Path:
    """A suite whose target is the server at `url`."""
    rows = (
        json.dumps({"id": f"c{n:05}", "input": f"question {n}", "expected": "Oslo"}) + "\n"
        for n in range(cases)
    )
    (folder / "cases.jsonl").write_text("".join(rows), encoding="utf-8")
    config = folder / "releasecheck.yaml"
    config.write_text(
        f"""version: 1
suite: bench
cases: [{{path: cases.jsonl}}]
target: {{type: http, url: "{url}", body: {{question: "{{{{ input }}}}"}}, output: answer, concurrency: {concurrency}}}
judges: [{{id: exact, type: exact}}]
gates: [{{id: all, metric: exact, require: all}}]
""",
        encoding="utf-8",
    )
    return config


async def drive(call: Callable[[int], Awaitable[None]], requests: int, concurrency: int) -> float:
    """Requests per second."""
    turns = iter(range(requests))

    async def worker() -> None:
        for turn in turns:
            await call(turn)

    start = time.perf_counter()
    await asyncio.gather(*[worker() for _ in range(concurrency)])
    return requests / (time.perf_counter() - start)


async def bare(url: str, requests: int, concurrency: int) -> float:
    """Our client and transport, nothing else."""
    address = httpx.URL(url)
    headers = headers_with({"content-type": "application/json"})
    key = b"idempotency-key"
    async with open_client({}) as client:
        http = client.http()

        async def call(turn: int) -> None:
            body = b'{"question":"question %d"}' % turn
            sent = [*headers, (key, b"rc-0123456789ab-bench:c%05d#t0" % turn)]
            answer = await http.request("POST", address, headers=sent, content=body, within_s=60)
            json.loads(answer.body)

        return await drive(call, requests, concurrency)


async def httpx_alone(url: str, requests: int, concurrency: int) -> float:
    """httpx with its own transport."""
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(limits=limits) as client:

        async def call(turn: int) -> None:
            response = await client.post(url, json={"question": f"question {turn}"})
            response.json()

        return await drive(call, requests, concurrency)


async def shards(config: Path, cases: int) -> float:
    """What `run` does between plan and finish."""
    folder = Path(tempfile.mkdtemp())
    try:
        world = local_world(quiet=True)
        make_plan(PlanRequest(config, unique="bench"), world, folder / "plan", check=preflight)
        plan = open_plan(folder / "plan")
        start = time.perf_counter()
        await run_shards(Bundle(folder), plan, RunOptions(), world)
        return cases / (time.perf_counter() - start)
    finally:
        shutil.rmtree(folder)


async def whole(config: Path, cases: int) -> float:
    """The whole of `run`."""
    folder = Path(tempfile.mkdtemp())
    try:
        start = time.perf_counter()
        result = await run(
            PlanRequest(config, unique="bench"), folder, RunOptions(), local_world(quiet=True)
        )
        assert result.scorecard.counts.scored == cases, result.scorecard.counts
        return cases / (time.perf_counter() - start)
    finally:
        shutil.rmtree(folder)


async def measure(cases: int, concurrency: int, rounds: int) -> None:
    """Print the table."""
    server = subprocess.Popen(  # noqa: ASYNC220 - before anything runs on the loop
        [sys.executable, str(SERVER), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/answer"
    taken: dict[str, list[float]] = {"bare": [], "httpx": [], "shards": [], "run": []}
    with tempfile.TemporaryDirectory() as name:
        config = write_suite(Path(name), url, cases, concurrency)
        few = max(200, cases // 10)
        for _ in range(rounds):
            taken["bare"].append(await bare(url, cases, concurrency))
            taken["shards"].append(await shards(config, cases))
            taken["run"].append(await whole(config, cases))
            taken["httpx"].append(await httpx_alone(url, few, concurrency))
    server.communicate()
    middle = {way: statistics.median(rates) for way, rates in taken.items()}
    write(f"{cases} cases, concurrency {concurrency}, median of {rounds} rounds; httpx on {few}")
    write(f"{'':8}{'requests/s':>12}{'of bare':>10}{'x httpx':>10}")
    for way, rate in middle.items():
        write(f"{way:8}{rate:12.0f}{rate / middle['bare']:10.2f}{rate / middle['httpx']:10.1f}")
    write(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def write(text: str) -> None:
    """One line of the report."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--concurrency", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    asyncio.run(measure(options.cases, options.concurrency, options.rounds))


if __name__ == "__main__":
    main()
