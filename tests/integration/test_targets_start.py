"""A target that we start: on a free port, ready before the first case, gone after the last."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import ConfigError, InfrastructureError
from tests.integration.targets_running import ask, code_of, message_of, output_of, running
from tests.stubs import Pids
from tests.unit.targets.opened import call_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = """
import http.server, json, os, pathlib, subprocess, sys, time

folder = pathlib.Path(os.environ["PIDS"])
(folder / str(os.getpid())).touch()
child = subprocess.Popen(["sleep", "600"])
(folder / str(child.pid)).touch()
print("listening soon", flush=True)
ready_at = time.monotonic() + float(os.environ.get("WAIT", "0"))

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.say(200 if time.monotonic() >= ready_at else 503, self.path)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if asked["input"] == "die":
            print("dying as asked", flush=True)
            os._exit(9)
        self.say(200, {"answer": asked["input"], "port": sys.argv[1]})

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Pids]:
    folder = tmp_path / "pids"
    folder.mkdir()
    (tmp_path / "serve.py").write_text(SERVER, "utf-8")
    found = Pids(folder)
    yield found
    found.kill()


# Times of `start` are on the clock of the test, which runs a hundred times too fast.
def spec(**start: Any) -> dict[str, Any]:
    run = [sys.executable, "serve.py", "${RELEASECHECK_PORT}"]
    return {
        "type": "http",
        "id": "search",
        "url": "http://127.0.0.1:${RELEASECHECK_PORT}/answer",
        "output": "answer",
        "retries": 0,
        "start": {"run": run, "timeout": "3000s", **start},
    }


@pytest.mark.parametrize("ready", [None, "/healthz"])
def test_start__ready_before_the_first_case_and_gone_after(
    tmp_path: Path, pids: Pids, ready: str | None
) -> None:
    environment = {"PIDS": str(pids.folder), "WAIT": "0.5" if ready else "0"}
    answer = ask(tmp_path, spec(ready=ready), log_folder=tmp_path / "logs", environment=environment)
    assert output_of(answer) == "hi"
    assert len(pids.read()) == 2
    assert pids.left() == set()
    log = (tmp_path / "logs" / "search.log").read_text("utf-8")
    assert log.startswith("listening soon")
    assert ("GET /healthz HTTP/1.1" in log) is (ready is not None)


def test_start__two_at_once_get_two_ports(tmp_path: Path, pids: Pids) -> None:
    async def inside() -> set[str]:
        environment = {"PIDS": str(pids.folder)}
        both = {**spec(), "output": "port"}
        async with (
            running(tmp_path, both, environment=environment) as one,
            running(tmp_path, both, environment=environment) as two,
        ):
            return {output_of(await target.answer(call_of())) for target in (one, two)}

    assert len(asyncio.run(inside())) == 2
    assert pids.left() == set()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise SystemExit('no model here')", r"ended with exit code 1 before.*no model here"),
        ("import os; os.kill(os.getpid(), 9)", r"ended with SIGKILL before.*is empty"),
    ],
)
def test_start__an_early_end_is_named_with_the_end_of_the_log(
    tmp_path: Path, code: str, says: str
) -> None:
    (tmp_path / "app.py").write_text(code, "utf-8")
    with pytest.raises(InfrastructureError, match=says):
        ask(tmp_path, spec(run=[sys.executable, "app.py"]))


def test_start__not_ready_in_time_is_stopped_and_says_what_was_seen(
    tmp_path: Path, pids: Pids
) -> None:
    environment = {"PIDS": str(pids.folder), "WAIT": "600"}
    with pytest.raises(InfrastructureError, match=r"GET /up: answered 503.*ends: .*GET /up"):
        ask(tmp_path, spec(ready="/up", timeout="500s"), environment=environment)
    assert len(pids.read()) == 2
    assert pids.left() == set()


def test_start__a_program_that_does_not_exist_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"target\.start\.run: program 'no-such-server'"):
        ask(tmp_path, spec(run=["no-such-server"]))


def test_start__stopped_when_the_rest_of_the_target_cannot_be_opened(
    tmp_path: Path, pids: Pids
) -> None:
    broken = {**spec(), "body": "{{ input"}
    with pytest.raises(ConfigError):
        ask(tmp_path, broken, environment={"PIDS": str(pids.folder)})
    assert len(pids.read()) == 2
    assert pids.left() == set()


def test_start__a_program_that_died_is_named_in_the_failure(tmp_path: Path, pids: Pids) -> None:
    async def inside() -> None:
        environment = {"PIDS": str(pids.folder)}
        logs = tmp_path / "logs"
        async with running(tmp_path, spec(), log_folder=logs, environment=environment) as target:
            answer = await target.answer(call_of("die"))
            async with asyncio.timeout(20):
                while not message_of(answer).startswith("the started program has ended"):
                    answer = await target.answer(call_of())
            assert code_of(answer) in ("connect", "connection_lost")
            assert "(exit code 9)" in message_of(answer)

    asyncio.run(inside())
    assert pids.left() == set()


def test_start__secrets_in_the_log_are_in_no_message(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit('key ' + os.environ['TOKEN'])"
    (tmp_path / "app.py").write_text(textwrap.dedent(code), "utf-8")
    with pytest.raises(InfrastructureError) as caught:
        ask(
            tmp_path,
            spec(run=[sys.executable, "app.py"]),
            secrets={"TOKEN": "canary-value-2"},
        )
    assert "canary" not in str(caught.value)


def test_start__before_a_command_too(tmp_path: Path, pids: Pids) -> None:
    command = {
        "type": "command",
        "run": [sys.executable, "-c", "import os; print(os.environ['RELEASECHECK_PORT'])"],
        "start": spec()["start"],
    }
    answer = ask(tmp_path, command, environment={"PIDS": str(pids.folder)})
    assert int(output_of(answer)) > 1023
    assert pids.left() == set()
