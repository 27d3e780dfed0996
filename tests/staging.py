"""Jobs of a workflow played step by step, with what act cannot do: attempts, re-runs, cancels, kills.

The workflow is `.github/workflows/release-check.yml` and the steps are those of `action.yml`, both read from
the files: a renamed input or a lost `if` shows here. Scripts run in bash as on a runner; only the
interpreter is another one, which asks a launcher that has paid for the imports.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import yaml

from tests.expressions import filled, holds

if TYPE_CHECKING:
    from tests.e2e.program import Program, Running
    from tests.githubfake import FakeGitHub, Run

ROOT: Final = Path(__file__).resolve().parent.parent
upload: Final = runpy.run_path(str(ROOT / "tests/e2e/actions/upload-artifact/upload.py"))["main"]
ACTION: Final[dict[str, Any]] = yaml.safe_load((ROOT / "action.yml").read_bytes())
WORKFLOW: Final[dict[Any, Any]] = yaml.safe_load(
    (ROOT / ".github/workflows/release-check.yml").read_bytes()
)
JOBS: Final[dict[str, Any]] = WORKFLOW["jobs"]
CALLED: Final[dict[str, Any]] = WORKFLOW[True]["workflow_call"]["inputs"]  # YAML reads `on` so
ASKED: Final = ["-I", "-X", "utf8", "-m", "releasecheck"]
CLIENT: Final = """\
#!{python} -ISE
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    asked = dict(argv=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ))
    line.sendall(json.dumps(asked).encode() + b"\\n")
    with line.makefile("rb") as answer:
        pid = int(answer.readline())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda found, _: os.kill(pid, found))
        said = json.loads(answer.read())
os.write(1, said["out"].encode())
os.write(2, said["err"].encode())
if said["code"] < 0:
    if said["code"] != -signal.SIGKILL:
        signal.signal(-said["code"], signal.SIG_DFL)
    os.kill(os.getpid(), -said["code"])
os._exit(said["code"])
"""
COMMANDS: Final = frozenset((
    "set-env", "set-output", "save-state", "add-mask", "add-path", "add-matcher", "remove-matcher", "debug",
    "warning", "error", "notice", "group", "endgroup", "echo", "stop-commands",
))  # fmt: skip
Event: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """A line of a log that the runner obeys."""

    name: str
    properties: str
    data: str


def commands_in(log: str) -> list[Command]:
    """What a runner would obey: `::name::` at the start of a line, `##[name]` anywhere in it."""
    found, stopped = [], ""
    for line in re.split(r"\r\n|\r|\n", log):
        match = re.match(r"\s*::([A-Za-z-]+)(?: (.*?))?::(.*)", line) or re.search(
            r"##\[([A-Za-z-]+)(?: ([^\]]*))?\](.*)", line
        )
        if stopped:
            stopped = "" if line.strip() == f"::{stopped}::" else stopped
            continue
        if match and match[1].lower() in COMMANDS:
            found.append(Command(match[1].lower(), match[2] or "", match[3]))
            stopped = match[3] if match[1].lower() == "stop-commands" else ""
    return found


def outputs_in(text: str) -> dict[str, str]:
    """What a file of outputs says, one `name=value` or a here-document each."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, mark, value = line.partition("=")
        begun = re.fullmatch(r"([^=]+?)<<(.+)", line)
        if begun:
            inside = []
            for inner in lines:
                if inner == begun[2]:
                    break
                inside.append(inner)
            else:
                message = f"the delimiter of {begun[1]!r} never came"
                raise ValueError(message)
            found[begun[1]] = "\n".join(inside)
        elif mark:
            found[name] = value
        elif line:
            message = f"{line!r} is no output; the runner fails the step"
            raise ValueError(message)
    return found


@dataclass
class Step:
    """One step that was looked at."""

    outcome: str = "skipped"
    outputs: dict[str, str] = field(default_factory=dict)
    log: str = ""
    conclusion: str = "skipped"
    """As `outcome`, but success where the step may fail."""


@dataclass
class Fate:
    """What happens to one job."""

    never: bool = False
    """Its machine is lost before anything ran; it ends as `failure` with nothing done."""
    lost: bool = False
    """When the stage is killed the machine goes with it: no step comes after."""
    fault: Mapping[str, Any] | None = None
    """Of `tests.e2e.faultpoints`, for the stage's process."""
    meanwhile: Callable[[Running], None] | None = None
    """Runs beside the stage, such as to kill it."""
    cancel: bool = False
    """The run is cancelled while the stage runs: it gets SIGINT after `meanwhile`, or by `fault`."""
    masked: tuple[str, ...] = ()
    """More texts that the runner hides, such as a short secret."""
    before: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    """Step id -> called before that step."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Inputs of the action that the job sets otherwise."""


@dataclass
class Ran:
    """One job of one attempt."""

    name: str
    result: str
    attempt: int
    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    log: str = ""
    """What the steps printed, before secrets are hidden."""
    folder: Path | None = None
    masks: frozenset[str] = frozenset()

    @property
    def commands(self) -> list[Command]:
        """What the runner obeyed."""
        return commands_in(self.log)

    @property
    def shown(self) -> str:
        """The log as people see it."""
        text = self.log
        for secret in sorted(self.masks, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    @property
    def summary(self) -> str:
        """The job's summary page."""
        path = self.folder / "summary.md" if self.folder else None
        return path.read_text("utf-8") if path and path.exists() else ""

    @property
    def temporary(self) -> Path:
        """The stages' own folder."""
        assert self.folder is not None
        return self.folder / "temp/releasecheck"


class Interpreter:
    """Stands where the environment's Python would: hands each call to the launcher."""

    def __init__(self, program: Program, folder: Path) -> None:
        self.program = program
        self.path = folder / "python"
        self.fate = Fate()
        self.shell: int | None = None
        """Of the step under way."""
        address = folder / "line"
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(address))
        self._server.listen()
        self.path.write_text(CLIENT.format(python=sys.executable, address=str(address)), "utf-8")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return
            with line, line.makefile("rb") as file:
                asked = json.loads(file.readline())
                try:
                    said = self._run(asked, line)
                except Exception as error:  # noqa: BLE001 - shows where the test looks: in the job's log
                    said = {"code": 70, "out": "", "err": f"no process: {error!r}"}
                line.sendall(json.dumps(said).encode())

    def _run(self, asked: dict[str, Any], line: socket.socket) -> dict[str, Any]:
        fate, argv = self.fate, asked["argv"]
        if argv[: len(ASKED)] != ASKED:
            line.sendall(b"0\n")
            return {"code": 70, "out": "", "err": f"the interpreter was called with {argv}"}
        running = self.program.start(
            *argv[len(ASKED) :], cwd=Path(asked["cwd"]), env=asked["env"], fault=fate.fault
        )
        line.sendall(f"{running.pid}\n".encode())
        if fate.meanwhile is not None:
            fate.meanwhile(running)
        if fate.cancel and fate.fault is None:
            assert self.shell is not None
            os.kill(self.shell, signal.SIGINT)  # a runner signals the step's shell, and nobody else
        code = self.program.code_of(running, 120)
        # An id of a process is never used again: the client must not seem to be the one that was killed.
        out, err = (path.read_text("utf-8") for path in (running.out, running.err))
        return {"code": code, "out": out, "err": err}

    def close(self) -> None:
        """Answer no more calls."""
        self._server.close()


@dataclass
class Play:
    """One run of the reusable workflow."""

    github: FakeGitHub
    run: Run
    event: Event
    checkout: Path
    folder: Path
    interpreter: Interpreter
    inputs: dict[str, Any] = field(default_factory=dict)
    secret: str = ""
    """The secret `env` of the caller."""
    environment: dict[str, str] = field(default_factory=dict)
    more: dict[str, dict[str, str]] = field(default_factory=dict)
    """Job -> inputs of the action on top of the workflow's."""
    jobs: dict[str, Ran] = field(default_factory=dict)
    """The latest of each name, kept from attempt to attempt as GitHub keeps them."""
    cancelled: bool = False

    def attempt(self, **fates: Fate) -> dict[str, Ran]:
        """Run what is to run now; returns what did. `shard_0` names the first shard's fate."""
        ran: dict[str, Ran] = {}
        for name, job in JOBS.items():
            ran |= self._job(name, job, fates)
        results = {one.result for one in self.jobs.values()}
        ended = "cancelled" if self.cancelled else "failure" if "failure" in results else "success"
        self.run.finish(ended)
        return ran

    def rerun(self, which: str, **fates: Fate) -> dict[str, Ran]:
        """Re-run `failed` jobs with all that need them, or `all`."""
        self.run.rerun(which)
        return self.rerun_began(which, **fates)

    def rerun_began(self, which: str, **fates: Fate) -> dict[str, Ran]:
        """Run the jobs of a re-run that somebody else asked GitHub for."""
        self.cancelled = False
        if which == "all":
            self.jobs.clear()
        else:
            again = {n for n, one in self.jobs.items() if one.result not in ("success", "skipped")}
            for name, job in JOBS.items():
                if self._of(again, *_needed(job)) or self._of(again, name):
                    again |= {
                        n for n in self._of(self.jobs, name) if _leg_must(n, name, again, job)
                    }
                    again |= {name} if not self._of(self.jobs, name) else set()
            for name in again:
                self.jobs.pop(name, None)
        self.run.status = "in_progress"
        return self.attempt(**fates)

    def _of(self, names: Any, *jobs: str) -> list[str]:
        return [name for name in names if name.partition(" ")[0] in jobs]

    def _job(self, name: str, job: dict[str, Any], fates: Mapping[str, Fate]) -> dict[str, Ran]:
        values = self._values(job)
        legs: list[tuple[str, dict[str, Any]]] = [(name, {})]
        status = self._status(_needed(job))
        runs = holds(job.get("if"), values, status)
        if runs and "strategy" in job:
            vector = json.loads(filled(job["strategy"]["matrix"]["index"], values))
            assert vector, "a matrix without a value fails the workflow"
            legs = [(f"{name} ({index})", {"index": index}) for index in vector]
        ran = {}
        for full, matrix in legs:
            if full in self.jobs:
                continue
            if runs:
                fate = fates.get(f"{name}_{matrix['index']}" if matrix else name, Fate())
                one = self._play(full, job, {**values, "matrix": matrix}, fate)
            else:
                one = Ran(full, "cancelled" if self.cancelled else "skipped", self.run.attempt)
            self.jobs[full] = ran[full] = one
            self.run.add_job(full, one.result)
        return ran

    def _status(self, needed: list[str]) -> dict[str, bool]:
        results = [self._result(name) for name in needed]
        return {
            "success": not self.cancelled and all(one == "success" for one in results),
            "failure": "failure" in results,
            "cancelled": self.cancelled,
            "always": True,
        }

    def _result(self, name: str) -> str:
        found = [self.jobs[one].result for one in self._of(self.jobs, name)]
        for word in ("failure", "cancelled", "skipped"):
            if word in found:
                return word
        return "success" if found else "skipped"

    def _values(self, job: dict[str, Any]) -> dict[str, Any]:
        needs = {
            name: {
                "result": self._result(name),
                "outputs": self.jobs[name].outputs if name in self.jobs else {},
            }
            for name in _needed(job)
        }
        defaults = {name: one.get("default", "") for name, one in CALLED.items()}
        unknown = self.inputs.keys() - defaults.keys()
        assert not unknown, unknown
        return {
            "needs": needs,
            "inputs": {**defaults, **self.inputs},
            "secrets": {"env": self.secret},
            "github": {"token": self.github.token, "run_id": self.run.id},
        }

    def _play(self, name: str, job: dict[str, Any], values: dict[str, Any], fate: Fate) -> Ran:
        at = self.run.attempt
        if fate.never:
            return Ran(name, "failure", at)
        folder = self.folder / f"{at}-{re.sub('[^a-z0-9]+', '-', name).strip('-')}"
        ours = next(one for one in job["steps"] if one.get("uses", "").startswith("releasecheck/"))
        given = {key: filled(value, values) for key, value in ours["with"].items()}
        given |= self.more.get(name.partition(" ")[0], {}) | dict(fate.given)
        ran = self.act(name, given, folder, fate)
        steps = {ours["id"]: {"outputs": ran.outputs}} if "id" in ours else {}
        told = {
            key: filled(text, {**values, "steps": steps})
            for key, text in job.get("outputs", {}).items()
        }
        # An output that holds what is hidden is dropped, with a warning that nobody reads.
        ran.outputs = {
            key: value
            for key, value in told.items()
            if value and not any(hidden in value for hidden in ran.masks)
        }
        return ran

    def act(
        self, name: str, given: Mapping[str, str], folder: Path, fate: Fate | None = None
    ) -> Ran:
        """One job that does nothing but to use our action."""
        fate = fate or Fate()
        known = {key: filled(one.get("default", ""), {"github": {"token": self.github.token}})
                 for key, one in ACTION["inputs"].items()}  # fmt: skip
        unknown = given.keys() - known.keys()
        assert not unknown, f"inputs that the action does not have: {sorted(unknown)}"
        hidden = {line.strip() for line in self.secret.splitlines() if line.strip()}
        ran = Ran(name, "success", self.run.attempt, folder=folder)
        stage = _Stage(
            self, ran, {**known, **given}, fate, {*hidden, self.github.token, *fate.masked}
        )
        stage.run()
        ran.masks = frozenset(stage.masks)
        steps = {key: {"outputs": step.outputs} for key, step in ran.steps.items()}
        ran.outputs = {
            key: filled(one["value"], {"steps": steps}) for key, one in ACTION["outputs"].items()
        }
        return ran


def _needed(job: dict[str, Any]) -> list[str]:
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)


def _leg_must(leg: str, name: str, again: set[str], job: dict[str, Any]) -> bool:
    """Of a matrix only the legs that failed run again, unless what they need runs again."""
    above = any(one.partition(" ")[0] in _needed(job) for one in again)
    return above or leg in again or "strategy" not in job


class _Stage:
    """The steps of our action in one job."""

    def __init__(
        self, play: Play, ran: Ran, inputs: dict[str, str], fate: Fate, masks: set[str]
    ) -> None:
        self.play, self.ran, self.inputs, self.fate, self.masks = play, ran, inputs, fate, masks
        self.failed = self.gone = False
        assert ran.folder is not None
        self.folder = ran.folder
        self.base = {
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(play.folder), "LANG": "C.UTF-8", "CI": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            **play.github.environment(play.run, play.event, self.folder),
            "GITHUB_WORKSPACE": str(play.checkout),
            "GITHUB_ENV": str(self.folder / "env"), "GITHUB_PATH": str(self.folder / "path"),
            "GITHUB_STATE": str(self.folder / "state"),
            **play.environment,
        }  # fmt: skip
        for name in ("env", "path", "state", "output", "summary.md"):
            (self.folder / name).write_bytes(b"")

    def run(self) -> None:
        for number, step in enumerate(ACTION["runs"]["steps"]):
            name = step.get("id", f"step-{number}")
            made = self.ran.steps[name] = Step()
            if self.gone or not holds(step.get("if"), self._values(), self._status()):
                continue
            if name in self.fate.before:
                self.fate.before[name]()
            made.outcome = self._carry_out(name, step, made)
            kept = step.get("continue-on-error") is True and made.outcome == "failure"
            made.conclusion = "success" if kept else made.outcome
            self.failed = self.failed or made.conclusion == "failure"
            self.ran.log += made.log
        failed = self.failed or self.gone
        self.ran.result = "cancelled" if self.fate.cancel else "failure" if failed else "success"

    def _values(self) -> dict[str, Any]:
        steps = {
            key: {"outcome": one.outcome, "conclusion": one.conclusion, "outputs": one.outputs}
            for key, one in self.ran.steps.items()
        }
        return {"inputs": self.inputs, "steps": steps}

    def _status(self) -> dict[str, bool]:
        stopped = self.play.cancelled
        return {
            "success": not self.failed and not stopped, "failure": self.failed,
            "cancelled": stopped, "always": True,
        }  # fmt: skip

    def _carry_out(self, name: str, step: dict[str, Any], made: Step) -> str:
        values = self._values()
        environment = {key: filled(text, values) for key, text in step.get("env", {}).items()}
        uses = step.get("uses", "").partition("@")[0]
        if uses == "actions/upload-artifact":
            given = {key: filled(text, values) for key, text in step["with"].items()}
            environment |= {
                "NAME": given.get("name", "artifact"), "FROM": given["path"],
                "MISSING": given["if-no-files-found"], "ARCHIVE": given.get("archive", "true"),
            }  # fmt: skip
            return self._upload(made, environment)
        if uses == "astral-sh/setup-uv":
            made.outputs["uv-path"] = "/nowhere/uv"
            return "success"
        if uses == "actions/attest":
            assert all(Path(filled(step["with"][key], values)).stat().st_size
                       for key in ("subject-checksums", "predicate-path"))  # fmt: skip
            return "success"
        assert not uses, uses
        if name == "install":
            made.outputs["python"] = str(self.play.interpreter.path)
            return "success"
        # Relative to the workspace, as the runner takes it.
        below = filled(step.get("working-directory", "."), values)
        # As a runner starts `shell: bash`.
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        self.play.interpreter.fate = self.fate
        outcome = self._process(made, shell, environment, self.play.checkout / below)
        if name == "stage":
            killed = self.fate.fault is not None or self.fate.meanwhile is not None
            self.gone = self.fate.lost and killed
            if self.fate.cancel:
                self.play.cancelled = True
                return "cancelled"
        return outcome

    def _upload(self, made: Step, environment: dict[str, str]) -> str:
        """In this process: a run has many of them, and starting Python takes longer than uploading."""
        output = self.folder / "output"
        output.write_bytes(b"")
        try:
            upload({**self.base, **environment})
        except SystemExit as end:
            made.log = f"{end.code}\n" if end.code else ""
            return "failure" if end.code else "success"
        except OSError as error:  # the answer was lost on the way
            made.log = f"{error}\n"
            return "failure"
        made.outputs |= outputs_in(output.read_text("utf-8"))
        return "success"

    def _process(
        self, made: Step, command: list[str], environment: dict[str, str], cwd: Path
    ) -> str:
        output = self.folder / "output"
        output.write_bytes(b"")
        process = subprocess.Popen(
            command, cwd=cwd, env={**self.base, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.play.interpreter.shell = process.pid
        out, err = process.communicate(timeout=180)
        made.log = out.decode("utf-8", "replace") + err.decode("utf-8", "replace")
        made.outputs |= outputs_in(output.read_text("utf-8"))
        failed = process.returncode != 0
        for one in commands_in(made.log):
            match one.name:
                case "add-mask":
                    self.masks.add(one.data)
                case "set-output":
                    made.outputs[one.properties.removeprefix("name=")] = one.data
                case "set-env" | "add-path":
                    failed = True
                case _:
                    pass
        return "failure" if failed else "success"
