"""The program as processes of a test: started, signalled, killed, waited for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from tests.processes import environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
LONGEST_S = 50.0


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    """Exit code; negative for the signal that ended it."""
    out: str
    err: str

    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @override
    def __str__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


@dataclass(slots=True)
class Running:
    """A command under way, the leader of its own process group."""

    number: int
    """Of the request that started it."""
    pid: int
    program: Program
    argv: tuple[str, ...]
    cwd: Path
    out: Path
    err: Path

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process alone, as `kill` does."""
        os.kill(self.pid, number)

    def wait(self, within_s: float = LONGEST_S) -> Done:
        """Wait for its end."""
        code = self.program.code_of(self, within_s)
        done = Done(code, self.out.read_text("utf-8"), self.err.read_text("utf-8"))
        if done.code == 1:
            self._believe(done)
        return done

    def _believe(self, done: Done) -> None:
        """Nobody believes an exit code 1 but beside a scorecard that says `block`."""
        assert self.argv[0] in ("run", "finish", "resume", "retry", "rescore"), (self.argv, done)
        default = f"{self.argv[1]}-retry" if self.argv[0] == "retry" else "out"
        named = self.argv[self.argv.index("--out") + 1] if "--out" in self.argv else default
        out = self.cwd / (self.argv[1] if self.argv[0] in ("resume", "rescore") else named)
        card = json.loads((out / "scorecard.json").read_bytes())
        assert (card["verdict"], card["exit_code"]) == ("block", 1), (self.argv, done)


@dataclass
class Program:
    """Starts commands through a launcher that has paid for the imports."""

    scratch: Path
    """For captured streams."""
    _codes: dict[int, int] = field(default_factory=dict)
    _pids: dict[int, int] = field(default_factory=dict)
    _count: int = 0

    def __post_init__(self) -> None:
        launcher = ROOT / "tests" / "e2e" / "launcher.py"
        self._process = subprocess.Popen(
            [sys.executable, str(launcher), str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._gone = False
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._news:
                if "started" in said:
                    self._pids[said["started"]] = said["pid"]
                else:
                    self._codes[said["ended"]] = said["code"]
                self._news.notify_all()
        with self._news:
            self._gone = True
            self._news.notify_all()

    def start(
        self,
        *argv: str | Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        fault: Mapping[str, Any] | None = None,
    ) -> Running:
        """Start `releasecheck ARGV` in a folder; `env` is added to the tests' own environment."""
        number = self._count = self._count + 1
        out, err = (self.scratch / f"{number}.{name}" for name in ("out", "err"))
        path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
        request = {
            "number": number,
            "argv": [str(argument) for argument in argv],
            "cwd": str(cwd),
            "env": environment(**{"PATH": path, "NO_COLOR": "1", **(env or {})}),
            "out": str(out),
            "err": str(err),
            "fault": fault,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        with self._news:
            self._news.wait_for(lambda: number in self._pids or self._gone, LONGEST_S)
            assert number in self._pids, "the launcher has ended; its stderr says why"
            words = tuple(str(argument) for argument in argv)
            return Running(number, self._pids[number], self, words, cwd, out, err)

    def __call__(
        self,
        *argv: str | Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        fault: Mapping[str, Any] | None = None,
    ) -> Done:
        """Run `releasecheck ARGV` to its end."""
        return self.start(*argv, cwd=cwd, env=env, fault=fault).wait()

    def code_of(self, running: Running, within_s: float) -> int:
        """Exit code of a started process, waited for."""
        with self._news:
            if not self._news.wait_for(lambda: running.number in self._codes, within_s):
                os.killpg(running.pid, signal.SIGKILL)
                message = f"process {running.pid} did not end within {within_s} s"
                raise TimeoutError(message)
            return self._codes[running.number]

    def first_to_end(self, started: Sequence[Running], within_s: float = LONGEST_S) -> Running:
        """Wait until one of some processes has ended."""
        with self._news:
            ended = self._news.wait_for(
                lambda: [found for found in started if found.number in self._codes], within_s
            )
        assert ended, "none of them has ended"
        return ended[0]

    def stop(self) -> None:
        """End the launcher; commands that still run are killed."""
        for number in self._pids.keys() - self._codes.keys():
            os.killpg(self._pids[number], signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
