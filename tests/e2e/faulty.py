"""What the tests of real-world faults share: the command line in process, scripted servers in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import io
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from releasecheck.__main__ import main
from tests.e2e.program import Done
from tests.e2e.suites import Suite, document, ledger, lines, scorecard

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.stubs import Stub

PYTHON = sys.executable
EXACT = {"id": "exact", "type": "exact"}
QUALITY = {"id": "quality", "metric": "exact", "min": 0.5}


def cli(*argv: str | Path, cwd: Path) -> Done:
    """Run `releasecheck ARGV` to its end, in this process."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main([str(argument) for argument in argv])
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Done(code, out.getvalue(), err.getvalue())


def suite_of(
    folder: Path,
    cases: Sequence[Mapping[str, Any]],
    target: Mapping[str, Any],
    /,
    *judges: Mapping[str, Any],
    **changes: Any,
) -> Suite:
    """A suite on disk; one call at a time, no retries and one `exact` judge unless told otherwise."""
    config = {
        "version": 1,
        "suite": "faults",
        "cases": [{"path": "cases.jsonl"}],
        "target": {"id": "app", "timeout": "20s", "concurrency": 1, "retries": 0} | dict(target),
        "judges": list(judges) or [EXACT],
        "gates": [QUALITY],
    }
    return Suite(folder, config | changes, [dict(case) for case in cases]).write()


def command(code: str, **spec: Any) -> dict[str, Any]:
    """A target that is a Python program; `case` is what it got."""
    before = "import json, os, sys, time; case = json.load(sys.stdin)\n"
    return {"type": "command", "run": [PYTHON, "-c", before + code], **spec}


def function(folder: Path, body: str, name: str = "app") -> str:
    """Write a module with `answer(case)`, and say how it is called."""
    folder.mkdir(parents=True, exist_ok=True)
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    code = f"import asyncio, json, os, sys, time\n\n\ndef answer(case):\n{indented}"
    (folder / f"{name}.py").write_text(code, encoding="utf-8")
    return f"{name}:answer"


def python(folder: Path, body: str, **spec: Any) -> dict[str, Any]:
    """A target that is a function with this body."""
    return {
        "type": "python", "function": function(folder, body), "interpreter": PYTHON, **spec
    }  # fmt: skip


def asks(*inputs: Any, expected: Any = "x") -> list[dict[str, Any]]:
    """Cases c0, c1, ... with these inputs."""
    return [
        {"id": f"c{number}", "input": given, "expected": expected}
        for number, given in enumerate(inputs)
    ]


def rows(out: Path) -> dict[str, dict[str, Any]]:
    """Case -> its line of `results.jsonl` (of its first trial)."""
    found: dict[str, dict[str, Any]] = {}
    for row in lines(out / "results.jsonl"):
        found.setdefault(row["case"], row)
    return found


def order(out: Path) -> list[str]:
    """The cases of `results.jsonl` as they stand."""
    return [row["case"] for row in lines(out / "results.jsonl")]


def failure_of(out: Path, case: str) -> tuple[str, str, bool]:
    """Class, code and whether it is retryable, of a case that the target did not answer."""
    found = rows(out)[case]["failure"]
    assert found is not None, rows(out)[case]
    assert found["stage"] == "target"
    return found["class"], found["code"], found["retryable"]


def judge_failure(out: Path, case: str, judge: str) -> tuple[str, str, bool]:
    """The same, of a judge that could not score."""
    records = [
        record
        for record in ledger(out / "results")
        if (record["record"], record.get("case"), record.get("judge")) == ("score", case, judge)
    ]
    assert records, f"no record of {judge} on {case}"
    found = records[-1]
    assert (found["state"], found["value"]) == ("failed", None), found
    assert found["failure"]["stage"] == "judge"
    return found["failure"]["class"], found["failure"]["code"], found["failure"]["retryable"]


def state_of(out: Path, case: str, judge: str) -> tuple[str, float | None]:
    """State and value of a score."""
    score = rows(out)[case]["scores"][judge]
    return score["state"], score["value"]


def calls(out: Path) -> dict[str, int]:
    """Case -> target calls on record, retries included."""
    found: dict[str, int] = {}
    for record in ledger(out / "results"):
        if record["record"] == "output":
            found[record["case"]] = found.get(record["case"], 0) + record.get("calls", 1)
    return found


def not_measured(done: Done, suite: Suite, out: Path | None = None) -> dict[str, Any]:
    """Assert exit 2 and nothing green anywhere; all planned is accounted for, in dataset order."""
    card = decided(done, suite, out, code=2)
    assert card["verdict"] == "blocked_missing", card["reasons"]
    assert any(gate["outcome"] == "blocked_missing" for gate in card["gates"])
    assert card["incomplete"] or card["counts"]["not_applicable"]
    return card


def decided(done: Done, suite: Suite, out: Path | None = None, *, code: int) -> dict[str, Any]:
    """Assert the exit code, and what holds of every decided run."""
    out = out or suite.out
    assert done.code == code, done
    card = scorecard(out)
    assert card["exit_code"] == code
    assert (card["verdict"] == "pass") == (code == 0), card["verdict"]
    badge = out / "badge.json"
    if code and badge.exists():  # none is made of what is not final
        assert "green" not in document(badge)["color"]
    counts = card["counts"]
    states = ("scored", "not_applicable", "failed", "missing", "pending")
    assert sum(counts[state] for state in states) == counts["pairs"]
    trials = suite.config.get("trials", 1)
    assert order(out) == [case["id"] for case in suite.cases for _ in range(trials)]
    return card


@contextlib.contextmanager
def served(stub: Stub, tls: ssl.SSLContext | None = None) -> Iterator[Stub]:
    """A scripted server on a loop of its own, in a thread."""
    ready, loop_box = threading.Event(), []

    async def serve() -> None:
        stop = asyncio.Event()
        loop_box.append((asyncio.get_running_loop(), stop))
        async with stub.open(tls):
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield stub
    finally:
        loop, stop = loop_box[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
