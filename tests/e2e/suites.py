"""Small suites on disk, and targets that know how often they were asked."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

CONFIG = "releasecheck.yaml"


@dataclass(frozen=True)
class Asked:
    """One call as the target saw it."""

    key: str
    """Its idempotency key."""
    question: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def trial(self) -> str:
        """`case#tN`: the key without the run."""
        return self.key.partition(":")[2]


class Answers(ThreadingHTTPServer):
    """A target over HTTP: answers `QN` to `qN`, unless told otherwise."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.wrong: set[str] = set()
        """Questions answered with nonsense."""
        self.status: dict[str, int] = {}
        """Questions answered with another status."""
        self.reply: Callable[[Asked], tuple[int, Any]] | None = None
        """Answers everything itself."""
        self.hold_after: int | None = None
        """Calls beyond this number are held until `open` is set."""
        self.open = threading.Event()
        self._news = threading.Condition()
        super().__init__(("127.0.0.1", 0), _Handler)

    @override
    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    @override
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.open.set()
        self.shutdown()
        self.server_close()

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed hangs up; nothing to say."""

    @property
    def url(self) -> str:
        """Where calls go."""
        return f"http://127.0.0.1:{self.server_address[1]}/answer"

    def take(self, asked: Asked) -> tuple[int, Any]:
        """Note a call and answer it."""
        with self._news:
            self.asked.append(asked)
            self._news.notify_all()
            held = self.hold_after is not None and len(self.asked) > self.hold_after
        if held:
            self.open.wait(30)
        if self.reply is not None:
            return self.reply(asked)
        status = self.status.get(asked.question, 200)
        if status != 200:
            return status, {"error": "told to"}
        answer = "nonsense" if asked.question in self.wrong else asked.question.upper()
        return 200, {"answer": answer}

    def wait_asked(self, count: int, within_s: float = 30.0) -> None:
        """Wait until that many calls came."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.asked) >= count, within_s)

    def counts(self) -> Counter[str]:
        """`case#tN` -> calls."""
        return Counter(asked.trial for asked in self.asked)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer one call."""
        body = self.rfile.read(int(self.headers.get("content-length", "0"))).decode()
        headers = {name.lower(): value for name, value in self.headers.items()}
        question = json.loads(body).get("q", "") if body else ""
        key = headers.get("idempotency-key", "").strip('"')
        status, answer = cast("Answers", self.server).take(
            Asked(key, question, self.path, headers, body)
        )
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@dataclass
class Suite:
    """A suite in a folder of its own, written when asked."""

    folder: Path
    config: dict[str, Any]
    cases: list[dict[str, Any]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Its config file."""
        return self.folder / CONFIG

    @property
    def out(self) -> Path:
        """Where its runs go unless told otherwise."""
        return self.folder / "out"

    def write(self, **changes: Any) -> Suite:
        """Write config (with top-level `changes`) and cases to disk."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.config |= changes
        # JSON is YAML, so what is written is what was meant.
        self.path.write_text(json.dumps(self.config, indent=1), encoding="utf-8")
        lines = "".join(json.dumps(case) + "\n" for case in self.cases)
        (self.folder / "cases.jsonl").write_text(lines, encoding="utf-8")
        return self


def questions(count: int) -> list[dict[str, Any]]:
    """Cases whose right answer is the question in capitals."""
    return [
        {"id": f"c{number}", "input": f"q{number}", "expected": f"Q{number}"}
        for number in range(count)
    ]


def http_suite(folder: Path, answers: Answers, cases: int = 6, **changes: Any) -> Suite:
    """A suite over `answers`; one call at a time unless told otherwise."""
    target = {
        "id": "app",
        "type": "http",
        "url": answers.url,
        "body": {"q": "{{ input }}"},
        "output": "answer",
        "concurrency": 1,
        "retries": 0,
        "timeout": "20s",
    }
    target |= changes.pop("target", {})
    config = {
        "version": 1,
        "suite": "small",
        "cases": [{"path": "cases.jsonl"}],
        "target": target,
        "judges": [{"id": "exact", "type": "exact"}],
        "gates": [{"id": "quality", "metric": "exact", "min": 0.5}],
    }
    return Suite(folder, config | changes, questions(cases)).write()


PYTHON_TARGET = """\
import os
import pathlib
import time

HERE = pathlib.Path(__file__).parent


def note(name, text):
    with open(HERE / name, "a") as file:
        file.write(text + "\\n")


def answer(case):
    note("calls.txt", case["idempotency_key"].partition(":")[2])
    {body}


def judge(ask):
    note("judged.txt", ask["case"]["id"])
    return ask["output"] == ask["case"]["expected"]
"""


def python_suite(folder: Path, cases: int = 6, body: str = "", **changes: Any) -> Suite:
    """A suite whose target is a function in `app.py` that notes its calls in `calls.txt`."""
    folder.mkdir(parents=True, exist_ok=True)
    code = PYTHON_TARGET.replace("{body}", body or 'return case["input"].upper()')
    (folder / "app.py").write_text(code, encoding="utf-8")
    config = {
        "version": 1,
        "suite": "small",
        "cases": [{"path": "cases.jsonl"}],
        "target": {"id": "app", "type": "python", "function": "app:answer"}
        | changes.pop("target", {}),
        "judges": [{"id": "exact", "type": "exact"}],
        "gates": [{"id": "quality", "metric": "exact", "min": 0.5}],
    }
    return Suite(folder, config | changes, questions(cases)).write()


def noted(suite: Suite, name: str = "calls.txt") -> Counter[str]:
    """What `app.py` noted."""
    path = suite.folder / name
    return Counter(path.read_text("utf-8").splitlines() if path.exists() else [])


def recorded(out: Path) -> set[str]:
    """`case#tN` of every output (or failure) on record below a folder."""
    if not out.exists():
        return set()
    found = (line for line in ledger(out) if line["record"] == "output")
    return {f"{line['case']}#t{line['trial']}" for line in found}


def document(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_bytes())


def scorecard(out: Path) -> dict[str, Any]:
    """A bundle's scorecard."""
    card: dict[str, Any] = document(out / "scorecard.json")
    return card


def outcomes(out: Path) -> dict[str, str]:
    """Gate -> outcome."""
    return {gate["id"]: gate["outcome"] for gate in scorecard(out)["gates"]}


def lines(path: Path) -> list[dict[str, Any]]:
    """The documents of a JSON Lines file; a torn last line is left out."""
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.split(b"\n") if line]


def ledger(folder: Path) -> list[dict[str, Any]]:
    """Every record in every ledger file below a folder."""
    return [line for path in sorted(folder.rglob("*.attempt-*.jsonl")) for line in lines(path)]


LATENCY = re.compile(rb'"latency_ms":[0-9.e-]+')


def timeless_results(out: Path) -> bytes:
    """The bytes of `results.jsonl` but for measured times."""
    return LATENCY.sub(b'"latency_ms":0', (out / "results.jsonl").read_bytes())


def timeless_scorecard(out: Path) -> dict[str, Any]:
    """A scorecard but for what the contract lets differ: times, run id, shard list."""
    card = scorecard(out)
    for name in ("run_id", "created_at", "shards"):
        del card[name]
    card["metrics"] = [
        {"metric": "latency_ms", "n_scored": metric["n_scored"], "n_expected": metric["n_expected"]}
        if metric["metric"] == "latency_ms"
        else metric
        for metric in card["metrics"]
    ]
    return card


def same_but_for_times(one: Path, other: Path) -> None:
    """Assert that two bundles hold the same results and the same decision."""
    assert timeless_results(one) == timeless_results(other)
    assert timeless_scorecard(one) == timeless_scorecard(other)


def files_below(*folders: Path) -> Iterable[Path]:
    """Every file, hidden ones too."""
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.is_file())
