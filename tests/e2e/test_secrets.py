"""A canary in the environment is found in no file and no line (issue 2, B122, B29, G-24)."""

from __future__ import annotations

import base64
import html
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pytest
from typing_extensions import override

from tests.e2e.suites import (
    Answers,
    Asked,
    document,
    files_below,
    http_suite,
    ledger,
    lines,
    noted,
    python_suite,
    scorecard,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.program import Done, Program

CANARY = 'FAKE-not-a-secret/+="quoted"&<tag>'
BASIC = "dXNlcjpGQUtFLW5vdC1hLXNlY3JldA=="
NAMES = {"RC_E2E_TOKEN": CANARY, "RC_E2E_BASIC": BASIC}


def forms(secret: str) -> set[bytes]:
    """A secret in the forms in which it may travel."""
    data = secret.encode()
    escaped = json.dumps(secret)[1:-1]
    texts = {secret, escaped, escaped.replace("/", "\\/"), json.dumps(escaped)[1:-1]}
    texts |= {repr(secret)[1:-1], html.escape(secret), html.escape(escaped)}
    texts |= {quote(secret), quote(secret, safe=""), quote_plus(secret), secret.encode().hex()}
    texts.add(quote(secret, safe="!$&'()*+,;="))  # as an address may hold it
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        texts.add(encode(data).decode().rstrip("="))
        # Behind `user:` and the like it begins at another of three offsets.
        texts |= {encode(b"x" * pad + data).decode()[4:].rstrip("=")[:-2] for pad in (1, 2, 3)}
    return {text.encode() for text in texts}


def leaks(*folders: Path, streams: tuple[Done, ...] = ()) -> list[str]:
    """Where any form of any canary stands."""
    seen = {str(path): path.read_bytes() for path in files_below(*folders)}
    seen |= {f"{path} (its name)": str(path).encode() for path in files_below(*folders)}
    for number, done in enumerate(streams):
        seen[f"stdout {number}"], seen[f"stderr {number}"] = done.out.encode(), done.err.encode()
    every = {form for secret in NAMES.values() for form in forms(secret)}
    return [where for where, data in seen.items() if any(form in data for form in every)]


def test_leaks__finds_every_form(tmp_path: Path) -> None:
    """The search below could fail."""
    for number, form in enumerate(sorted(forms(CANARY))):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert not leaks(folder)
        (folder / ".hidden").write_bytes(b"before " + form + b" after")
        assert leaks(folder), form


def echo(asked: Asked) -> tuple[int, Any]:
    """Say everything that was sent, in every way an answer can go wrong."""
    sent = {"path": asked.path, "headers": asked.headers, "body": asked.body}
    everything = json.dumps(sent)
    encoded = base64.b64encode(f"user:{CANARY}".encode()).decode()
    match asked.question:
        case "q0":
            return 200, {"answer": sent, "trace": asked.headers["authorization"]}
        case "q1":
            return 500, {"error": sent}
        case "q2":
            return 200, f"this is no JSON: {everything}".encode()
        case "q3":
            return 401, f"bad key {CANARY}, {quote(CANARY)} or {encoded}".encode()
        case "q4":
            return 200, {"answer": {CANARY: [encoded, quote_plus(CANARY)]}, "trace": CANARY}
        case _:
            return 200, {"other": sent}


def test_http__no_file_and_no_line(tmp_path: Path, program: Program, answers: Answers) -> None:
    """In headers, URL and body; echoed in answers, keys, trace ids, error bodies and reasons."""
    answers.reply = echo
    suite = http_suite(
        tmp_path,
        answers,
        6,
        target={
            "url": answers.url + "?key=${RC_E2E_TOKEN}",
            "headers": {"authorization": "Bearer ${RC_E2E_TOKEN}", "x-basic": "${RC_E2E_BASIC}"},
            "body": {"q": "{{ input }}", "token": "${RC_E2E_TOKEN}"},
            "trace_id": "trace",
        },
        gates=[{"id": "quality", "metric": "exact", "min": 0.5, "on_target_failure": "count_as_fail"}],
        judges=[{"id": "exact", "type": "exact"}, {"id": "shape", "type": "json-schema", "schema": {
            "type": "object", "required": ["nothing"]}}],
    )  # fmt: skip
    seen = [program("validate", suite.path, "--check-env", cwd=tmp_path, env=NAMES)]
    seen.append(program("plan", suite.path, cwd=tmp_path, env=NAMES))
    assert not leaks(tmp_path / "plan")
    shard = ("shard", "--plan", "plan", "--index", "0")
    seen.append(program(*shard, cwd=tmp_path, env=NAMES))
    finish = ("finish", "--plan", "plan", "--results", "results", "--out", "finished")
    seen.append(program(*finish, "--json", cwd=tmp_path, env=NAMES))
    seen.append(program("run", suite.path, cwd=tmp_path, env=NAMES))
    seen.append(program("resume", "out", cwd=tmp_path, env=NAMES))
    seen += [program(command, "out", cwd=tmp_path, env=NAMES) for command in ("status", "verify")]
    codes = [done.code for done in seen]
    assert codes[:3] == [0, 0, 2], [str(done) for done in seen[:3]]
    assert codes[-1] == 0, seen[-1]
    folders = [tmp_path / name for name in ("plan", "results", "finished", "out")]
    assert leaks(*folders, streams=tuple(seen)) == []
    sent = answers.asked[0]
    assert sent.headers["authorization"] == f"Bearer {CANARY}"  # it was really sent
    assert json.loads(sent.body)["token"] == CANARY
    outputs = [line for line in ledger(suite.out) if line["record"] == "output"]
    assert all("[redacted:RC_E2E_TOKEN]" in json.dumps(line) for line in outputs[:1])
    assert document(suite.out / "manifest.json")["redactions"] == sorted(NAMES)


PYTHON = """\
import base64, os, sys
    secret = os.environ["GIVEN"]
    print(secret)
    print(secret, file=sys.stderr)
    number = case["id"]
    if number == "c0":
        raise RuntimeError("cannot log in with " + secret)
    if number == "c1":
        raise KeyError(secret)
    if number == "c2":
        return {secret: [secret, base64.b64encode(("user:" + secret).encode()).decode()]}
    if number == "c3":
        os.write(2, secret.encode()); os._exit(3)
    return case["input"].upper()"""

JUDGE = """

def leaky(ask):
    import os, sys
    secret = os.environ["GIVEN"]
    print(secret, file=sys.stderr)
    if ask["case"]["id"] == "c4":
        return {"value": 1, "reason": "compared with " + secret}
    raise ValueError("judge cannot log in with " + secret)
"""


def test_python__no_file_and_no_line(tmp_path: Path, program: Program) -> None:
    """In exceptions, prints, keys, a dying worker's last words, and a judge's reasons and errors."""
    suite = python_suite(
        tmp_path,
        6,
        PYTHON,
        target={"env": {"GIVEN": "${RC_E2E_TOKEN}"}, "concurrency": 1, "retries": 0},
        judges=[{"id": "own", "type": "python", "function": "app:leaky",
                 "env": {"GIVEN": "${RC_E2E_TOKEN}"}}],
        gates=[{"id": "quality", "metric": "own", "min": 0.5}],
    )  # fmt: skip
    with (tmp_path / "app.py").open("a", encoding="utf-8") as file:
        file.write(JUDGE)
    env = {"RC_E2E_TOKEN": CANARY}
    done = program("run", suite.path, cwd=tmp_path, env=env)
    assert done.code == 2, done
    assert sum(noted(suite).values()) >= 6
    told = program("resume", "out", "--final", "--json", cwd=tmp_path, env=env)
    assert leaks(suite.out, streams=(done, told)) == []
    text = json.dumps(lines(suite.out / "results.jsonl"))
    assert "cannot log in with [redacted:RC_E2E_TOKEN]" in text
    assert "compared with [redacted:RC_E2E_TOKEN]" in text


def test_programs__no_file_and_no_line(tmp_path: Path, program: Program, answers: Answers) -> None:
    """A command's stderr, and the log of a started program that dies; its failure.json too."""
    script = "import os, sys; sys.exit('no access with ' + os.environ['GIVEN'])"
    command = {
        "id": "app", "type": "command", "run": [sys.executable, "-c", script],
        "env": {"GIVEN": "${RC_E2E_TOKEN}"},
    }  # fmt: skip
    env = {"RC_E2E_TOKEN": CANARY}
    suite = http_suite(tmp_path / "command", answers, 2).write(target=command)
    done = program("run", suite.path, cwd=suite.folder, env=env)
    assert done.code == 2, done
    assert "no access with [redacted:RC_E2E_TOKEN]" in json.dumps(ledger(suite.out))
    assert leaks(suite.out, streams=(done,)) == []
    start = {"run": [sys.executable, "-c", script.replace("GIVEN", "RC_E2E_TOKEN")]}
    started = http_suite(
        tmp_path / "start", answers, 1,
        target={"start": start, "headers": {"x": "${RC_E2E_TOKEN}"}},
    )  # fmt: skip
    died = program("run", started.path, cwd=started.folder, env=env)
    assert died.code == 4, died
    assert "no access with [redacted:RC_E2E_TOKEN]" in died.err
    assert (started.out / "failure.json").exists()
    assert leaks(started.out, streams=(died,)) == []


class _Refusing(BaseHTTPRequestHandler):
    """A proxy that lets nobody through, and repeats what it was told."""

    def do_POST(self) -> None:
        """Refuse a call."""
        told = self.headers.get("proxy-authorization", "nothing").encode()
        self.send_response(407, "Who are you")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def do_CONNECT(self) -> None:
        """Refuse a tunnel."""
        self.do_POST()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def refusing() -> Iterator[int]:
    """The port of a proxy that answers 407."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY"])
def test_proxy__its_password_is_in_no_file_and_no_line(
    tmp_path: Path, program: Program, answers: Answers, refusing: int, variable: str
) -> None:
    """No suite names the variable, and the proxy's refusal quotes its whole address (G-24, B122)."""
    scheme = "http" if variable == "HTTP_PROXY" else "https"
    suite = http_suite(tmp_path, answers, 2, target={"url": f"{scheme}://target.invalid/answer"})
    env = {variable: f"http://user:{quote(CANARY, safe='')}@127.0.0.1:{refusing}"}
    done = program("run", suite.path, cwd=tmp_path, env=env)
    assert done.code == 2, done
    said = ledger(suite.out)[1]["failure"]["message"]
    proxy = f"http://127.0.0.1:{refusing} answered 407 Who are you"
    assert said.endswith(f": the proxy {proxy}" if scheme == "https" else "[redacted:HTTP_PROXY]")
    assert leaks(suite.out, streams=(done,)) == []
    assert document(suite.out / "manifest.json")["redactions"] == [variable]


@pytest.mark.parametrize("port", ["none", "99999"])
def test_proxy__that_is_no_address(
    tmp_path: Path, program: Program, answers: Answers, port: str
) -> None:
    """Said before the first call, by the variable's name alone."""
    suite = http_suite(tmp_path, answers, 2, target={"url": "https://target.invalid/answer"})
    env = {"HTTPS_PROXY": f"http://user:{quote(CANARY, safe='')}@127.0.0.1:{port}"}
    done = program("run", suite.path, cwd=tmp_path, env=env)
    assert done.code == 3, done
    assert "HTTPS_PROXY" in done.err
    assert leaks(*(folder for folder in [suite.out] if folder.exists()), streams=(done,)) == []


def test_proxy__its_password_in_the_words_of_a_program(tmp_path: Path, program: Program) -> None:
    """Programs inherit the environment; what they say of it is redacted."""
    body = 'raise OSError("no way through " + os.environ["HTTPS_PROXY"])'
    suite = python_suite(tmp_path, 2, body, target={"retries": 0})
    env = {"HTTPS_PROXY": f"http://user:{quote(CANARY, safe='')}@127.0.0.1:9"}
    done = program("run", suite.path, cwd=tmp_path, env=env)
    assert done.code == 2, done
    assert "no way through http://[redacted:HTTPS_PROXY]@127" in json.dumps(ledger(suite.out))
    assert leaks(suite.out, streams=(done,)) == []


@pytest.mark.parametrize("value", ["a", "pass"])
def test_short_value__does_not_blank_the_report(
    tmp_path: Path, program: Program, answers: Answers, value: str
) -> None:
    """B122: too short to redact, and said so; words of the report stay whole."""
    suite = http_suite(tmp_path, answers, 2, target={"headers": {"x": "${RC_E2E_SHORT}"}})
    done = program("run", suite.path, cwd=tmp_path, env={"RC_E2E_SHORT": value})
    assert done.code == 0, done
    assert "RC_E2E_SHORT" in done.err
    assert "too short" in done.err
    assert scorecard(suite.out)["verdict"] == "pass"
    assert not any(b"[redacted" in path.read_bytes() for path in files_below(suite.out))
