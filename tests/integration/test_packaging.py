"""The wheel, installed where nothing else of this checkout is, does the main job."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from releasecheck.assets import VERSION
from tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
CACHES = {"__pycache__", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
PIP_INSTALL = ["install", "--no-index", "--no-deps", "--quiet"]

pytestmark = pytest.mark.timeout(300)


@dataclass(frozen=True)
class Installation:
    """An environment that has the wheel and, from the environment of the tests, only libraries."""

    scripts: Path
    """Folder of its programs."""
    library: Path
    """Its own site-packages."""
    home: Path
    """An empty folder to work in."""

    def run(self, program: str, *arguments: str) -> str:
        """Run `program` of this environment and return what it printed; it must succeed."""
        path = f"{self.scripts}{os.pathsep}{environment()['PATH']}"
        done = subprocess.run(
            [self.scripts / program, *arguments],
            cwd=self.home,
            env=environment(PATH=path, PYTHONPATH=""),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built the long way round, from the source archive, so that this is complete as well."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    names = {"base": str(folder), "platbase": str(folder)}
    scripts = Path(sysconfig.get_path("scripts", "venv", names))
    library = Path(sysconfig.get_path("purelib", "venv", names))
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(scripts / "python"),
            *PIP_INSTALL,
            str(wheel),
        ],
        check=True,
        capture_output=True,
    )
    # A path file is not followed through: the tests' own editable install stays out of sight.
    (library / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return Installation(scripts, library, tmp_path_factory.mktemp("home"))


def test_wheel__holds_package_templates_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"releasecheck-{VERSION}.dist-info"
    ours = {
        path.relative_to(base).as_posix()
        for base in (ROOT / "src", ROOT)
        for path in (base / ("releasecheck" if base.name == "src" else "templates")).rglob("*")
        if path.is_file() and CACHES.isdisjoint(path.parts)
    }
    expected = {name.replace("templates/", "releasecheck/templates/", 1) for name in ours}
    assert {name for name in names if not name.startswith(info)} == expected
    assert f"{info}/licenses/LICENSE" in names
    assert "releasecheck/py.typed" in names


def test_installation__is_apart_from_the_checkout(installation: Installation) -> None:
    code = "import releasecheck, releasecheck.assets as a; print(releasecheck.__file__, a.templates_dir())"
    package, templates = installation.run("python", "-c", code).split()
    assert Path(package) == installation.library / "releasecheck" / "__init__.py"
    assert Path(templates) == installation.library / "releasecheck" / "templates"


def test_installation__carries_a_first_suite_through(installation: Installation) -> None:
    assert installation.run("releasecheck", "--version") == f"releasecheck {VERSION}\n"
    installation.run("releasecheck", "init", "suite")
    installation.run("releasecheck", "run", "suite/releasecheck.yaml", "--out", "out")
    installation.run("releasecheck", "verify", "out")
    for name in ("scorecard.html", "scorecard.json", "manifest.json", "badge.svg"):
        assert (installation.home / "out" / name).stat().st_size > 0
