"""How a process group is ended on each platform (B38)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typing_extensions import override

from releasecheck.transport.process import Child, GroupProtocol, find_program


class Handle(asyncio.SubprocessTransport):
    """A process that a test ends."""

    def __init__(self, code: int | None) -> None:
        super().__init__()
        self.code = code
        self.closed = False

    @override
    def get_pid(self) -> int:
        return 4711

    @override
    def get_returncode(self) -> int | None:
        return self.code

    @override
    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("platform", "code", "dies_of", "sent"),
    [
        # A helper may live on in the group of a leader that has ended.
        ("linux", 0, "kill", ["kill"]),
        ("linux", None, "term", ["term", "kill"]),
        ("linux", None, "kill", ["term", "kill"]),
        # There `taskkill` blocks, and finds nothing below a process that is gone.
        ("win32", 0, "kill", []),
        ("win32", 1, "kill", []),
        ("win32", None, "kill", ["kill"]),
    ],
)
def test_stop__sends_what_the_platform_knows(
    platform: str, code: int | None, dies_of: str, sent: list[str]
) -> None:
    async def inside() -> None:
        found: list[str] = []
        handle, protocol = Handle(code), GroupProtocol(lambda _: None)
        if code is not None:
            protocol.process_exited()

        def kill(pid: int, *, gently: bool) -> None:
            assert pid == 4711
            found.append("term" if gently else "kill")
            if found[-1] == dies_of:
                handle.code = -9
                protocol.process_exited()

        child = Child(handle, protocol, platform=platform, kill=kill)
        await child.stop(0.01)
        assert found == sent
        assert handle.closed
        await child.stop(0.01)
        assert found[len(sent) :] == ([] if platform == "win32" else ["kill"])

    asyncio.run(inside())


def test_find_program__beside_a_config_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`./app.sh` is never looked for on PATH, whichever way the folder is named."""
    program = tmp_path / "app.sh"
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for folder in (Path(), tmp_path):
        assert find_program("./app.sh", folder, {"PATH": ""}) == str(program)
