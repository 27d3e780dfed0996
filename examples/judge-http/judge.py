"""A judge that speaks evaluator@2 and answers later, on the standard library alone.

    python judge.py [PORT]

It scores the share of the expected words that the output names. Judging takes a moment, so that every output
gets a ticket, a thread does the work, and the score is there when it is asked for.
"""

import json
import re
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTRACT = "evaluator@2"
TAKES_S = 0.5
MOST = 50
workers = ThreadPoolExecutor(8)
lock = threading.Lock()
tickets: dict[str, str] = {}  # by idempotency key: the same key gets the same ticket
scores: dict[str, Future] = {}  # by ticket; kept, since whoever asked may ask again


def words(text: object) -> set[str]:
    """Words of a text, without regard to case."""
    return set(re.findall(r"\w+", str(text).casefold()))


def score(case: dict, output: object) -> dict:
    """What a judge is for. `output` is untrusted text."""
    time.sleep(TAKES_S)
    expected = words(case["expected"])
    if case["expected"] is None or not expected:
        return {"state": "not-applicable", "reason": "the case names no expected words"}
    absent = sorted(expected - words(output))
    reason = "does not name: " + ", ".join(absent) if absent else "names everything"
    return {"value": 1 - len(absent) / len(expected), "reason": reason}


def promise(asked: dict) -> str:
    """Start judging, and give the ticket; for the same key the same one."""
    key, case, output = asked["idempotency_key"], asked["case"], asked["output"]
    case["expected"]  # a KeyError here is a 400, and no ticket is given
    with lock:
        if key not in tickets:
            tickets[key] = uuid.uuid4().hex
            scores[tickets[key]] = workers.submit(score, case, output)
        return tickets[key]


def collect(ticket: str) -> dict:
    """What there is for one ticket now."""
    found = scores.get(ticket)
    if found is None:
        return {"state": "failed", "reason": "unknown ticket"}
    if not found.done():
        return {"state": "pending"}
    if found.exception() is not None:
        return {"state": "failed", "reason": f"could not judge: {found.exception()!r}"}
    return found.result()


def forget(gone: list[str]) -> None:
    """Delete what belongs to these tickets; what is gone already is fine."""
    with lock:
        for ticket in gone:
            scores.pop(ticket, None)
        for key in [key for key, ticket in tickets.items() if ticket in gone]:
            del tickets[key]


class _Judge(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept

    def do_GET(self) -> None:
        self.reply(200, {"contract": CONTRACT, "name": "example, by words"})

    def do_POST(self) -> None:
        self.answer(self.collect if self.path.endswith("/collect") else self.judge)

    def do_DELETE(self) -> None:
        self.answer(self.purge)

    def judge(self, asked: dict) -> tuple[int, dict]:
        return 202, {"state": "pending", "ticket": promise(asked)}

    def collect(self, asked: dict) -> tuple[int, dict]:
        return 200, {"scores": {ticket: collect(ticket) for ticket in asked["tickets"][:MOST]}}

    def purge(self, asked: dict) -> tuple[int, dict]:
        forget(asked["tickets"])
        return 200, {}

    def answer(self, make: Callable[[dict], tuple[int, dict]]) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            asked = json.loads(body)
            known = asked["contract"] == CONTRACT
            status, said = make(asked) if known else (400, {"error": f"we speak {CONTRACT}"})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            status, said = 400, {"error": f"cannot be judged: {error!r}"}
        self.reply(status, said)

    def reply(self, status: int, said: dict) -> None:
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Outputs of others do not belong on a terminal."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 8090), _Judge)
    print(f"judging at http://127.0.0.1:{server.server_address[1]}/score", flush=True)
    server.serve_forever()
