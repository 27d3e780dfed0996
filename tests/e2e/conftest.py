"""What all end-to-end tests share: one launcher of the program, and a target that counts its calls."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.e2e.faults import Box, make_run
from tests.e2e.program import Program
from tests.e2e.site import Site, site_in
from tests.e2e.suites import Answers
from tests.githubfake import FakeGitHub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Start commands of the program."""
    started = Program(tmp_path_factory.mktemp("streams"))
    yield started
    started.stop()


@pytest.fixture
def answers() -> Iterator[Answers]:
    """A target over HTTP."""
    with Answers() as server:
        yield server


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, program: Program) -> Path:
    """A whole run: suite, baseline, plan, results and bundle; to copy from."""
    return make_run(tmp_path_factory.mktemp("made") / "suite", program)


@pytest.fixture
def box(tmp_path: Path, program: Program, answers: Answers, made: Path) -> Box:
    """A suite to harm, with the bundle of an earlier run in `out/`."""
    shutil.copytree(made / "out", tmp_path / "out")
    return Box(tmp_path, program, answers, made)


@pytest.fixture
def site(tmp_path: Path, program: Program, answers: Answers) -> Iterator[Site]:
    """A repository on a GitHub of its own, whose workflow runs are played job by job."""
    with FakeGitHub() as github:
        made = site_in(tmp_path, github, answers, program)
        yield made
        made.interpreter.close()
