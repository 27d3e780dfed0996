"""A process that has imported the program and forks one of it per request.

Every command of a test is so a process of its own, with its own signals, files, exit code and death, and
does not pay a second of imports. Requests and reports are lines of JSON on the standard streams.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import sys
from typing import Any

SCRIPTS = frozenset({"releasecheck.transport.worker"})
"""Run by file, in other interpreters; never imported."""


def preload() -> None:
    """Import every module of the program, and compile its templates."""
    import releasecheck

    for module in pkgutil.walk_packages(releasecheck.__path__, "releasecheck."):
        if module.name not in SCRIPTS:
            importlib.import_module(module.name)
    for library in ("numpy.random", "numpy.ma"):  # imported where they are first used
        importlib.import_module(library)
    importlib.import_module("rich.cells").cell_len(
        "é"
    )  # reads a table of widths when it is first asked
    build_models()
    from releasecheck.assets import templates_dir
    from releasecheck.scorecard.templating import html_environment, markdown_environment

    # Those that others include, too: a process compiles what it is the first to need.
    for path in sorted(templates_dir().rglob("*.j2")):
        environment = markdown_environment() if path.name.endswith(".md.j2") else html_environment()
        environment.get_template(path.relative_to(templates_dir()).as_posix())
    gc.freeze()  # what is here stays, so no child need walk (and so copy) it


def build_models() -> None:
    """Build the validators of every model: the program does so at their first use, in each process anew."""
    from releasecheck.model.base import Document, Written

    todo: list[type[Document | Written]] = [Document, Written]
    while todo:
        model = todo.pop()
        model.model_rebuild()
        todo += model.__subclasses__()


def become(request: dict[str, Any]) -> int:
    """In the child: be the program that the request asks for; returns its exit code."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, path in ((0, os.devnull), (1, request["out"]), (2, request["err"])):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    for descriptor, names in ((1, ("stdout", "__stdout__")), (2, ("stderr", "__stderr__"))):
        stream = open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        for name in names:
            setattr(sys, name, stream)
    os.environ.clear()  # noqa: TID251 - the environment of a child of its own
    os.environ.update(request["env"])  # noqa: TID251
    os.chdir(request["cwd"])
    sys.argv = ["releasecheck", *request["argv"]]
    if request["fault"] is not None:
        from tests.e2e.faultpoints import arm

        arm(request["fault"])
    from releasecheck.__main__ import main

    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def report(**said: int) -> None:
    """Tell the test one fact."""
    os.write(1, json.dumps(said).encode() + b"\n")


NUMBERS: dict[int, int] = {}
"""Process id of a child that runs -> number of its request; the system uses process ids again."""


def reap() -> None:
    """Report every child that has ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        report(ended=NUMBERS.pop(pid), code=os.waitstatus_to_exitcode(status))


def serve() -> None:
    """Fork for every line on stdin, until its end."""
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    pending = b""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        selector.register(wake, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if wake in ready:
                os.read(wake, 4096)
                reap()
            if 0 not in ready:
                continue
            data = os.read(0, 1 << 16)
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                fork(json.loads(line))


def fork(request: dict[str, Any]) -> None:
    """Start one child."""
    pid = os.fork()
    if pid:
        NUMBERS[pid] = request["number"]
        report(started=request["number"], pid=pid)
        return
    code = 70
    try:
        code = become(request)
    except BaseException:  # noqa: BLE001 - a bug of ours must be seen in the test's stderr
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    preload()
    serve()
