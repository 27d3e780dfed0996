"""The house: locks, workflows, the two commands, what start-up imports (issue step 1, item 1)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from releasecheck.assets import VERSION, templates_dir
from releasecheck.errors import InfrastructureError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ["runtime", "demo", "dev"]


def lock_text(name: str) -> str:
    return (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")


def pins(text: str) -> dict[str, str]:
    """Return requirement -> hashes; a requirement is name, version and environment marker."""
    joined = text.replace("\\\n", " ")
    lines = [line for line in joined.splitlines() if line and not line.startswith("#")]
    split = [line.partition(" --hash=") for line in lines]
    return {requirement.strip(): hashes for requirement, _, hashes in split}


def distribution(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


@pytest.mark.parametrize("name", LOCKS)
def test_locks__name_no_place(name: str) -> None:
    """Where files come from is the installing machine's business."""
    for line in lock_text(name).splitlines():
        assert not re.search(
            r"://|index-url|find-links|trusted-host|[\w-]+\.(org|com|net|io)\b| @ ", line
        )
        assert not re.search(r"(^|\s)(\.{0,2}/|[A-Za-z]:\\)", line)


@pytest.mark.parametrize("name", LOCKS)
def test_locks__pin_everything_by_hash(name: str) -> None:
    found = pins(lock_text(name))
    assert found
    for requirement, hashes in found.items():
        assert re.match(r"[a-z0-9-]+==\S+( ; .+)?$", requirement), requirement
        assert re.match(r"sha256:[0-9a-f]{64}", hashes), requirement


def test_locks__larger_ones_hold_the_smaller() -> None:
    """So whatever passed with the tests' environment is what users of a smaller lock get."""
    runtime, demo, dev = (pins(lock_text(name)) for name in LOCKS)
    for smaller, larger in ((runtime, demo), (demo, dev)):
        assert len(smaller) < len(larger)
        for requirement, hashes in smaller.items():
            # What is needed on one system alone may be needed everywhere by something of the larger one.
            everywhere = requirement.partition(" ; ")[0]
            assert hashes in (larger.get(requirement), larger.get(everywhere)), requirement


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("runtime", PROJECT["dependencies"]),
        ("demo", PROJECT["optional-dependencies"]["demo"]),
    ],
)
def test_locks__hold_what_is_declared(name: str, declared: list[str]) -> None:
    locked = {distribution(requirement) for requirement in pins(lock_text(name))}
    assert {distribution(requirement) for requirement in declared} <= locked


def test_dependencies__every_import_is_declared() -> None:
    """What only comes along with something else may stop coming along."""
    declared = {distribution(requirement) for requirement in PROJECT["dependencies"]}
    declared.add("pydantic-core")  # pydantic pins the one it needs
    homes = packages_distributions()
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            else:
                continue
            tops = {module.partition(".")[0] for module in modules} - {"releasecheck"}
            # `compression` is of the standard library since Python 3.14.
            for top in tops - sys.stdlib_module_names - {"compression"}:
                homes_of_top = {distribution(home) for home in homes.get(top, [])}
                assert homes_of_top & declared, f"{path}:{node.lineno}: {top} is not declared"


def test_version__is_one() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert PROJECT["version"] == VERSION
    assert f"\n## {VERSION}" in changelog


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme__names_the_two_commands(command: str) -> None:
    target = command.removeprefix("make ")
    assert re.search(
        rf"^\s*{command}\b", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert f"\n{target}: ## " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_ci_run__ends_with_the_tests() -> None:
    """Their closing line is to be the last one."""
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").split("\n")
    assert "set -euo pipefail" in lines
    assert [line for line in lines if line.startswith("make ")] == [
        "make demo",
        "make sabotage",
        "make test",
    ]
    assert lines[-2:] == ["make test", ""]


@pytest.mark.parametrize(
    "linter",
    [["actionlint", "-no-color"], ["zizmor", "--offline", "--no-progress", "--color=never", "."]],
    ids=lambda linter: linter[0],
)
def test_workflows__pass(linter: list[str]) -> None:
    program = Path(sys.executable).with_name(linter[0])
    done = subprocess.run(
        [program, *linter[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows__pin_actions_and_ask_for_little() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        for used in re.findall(r"uses: (\S+)", text):
            # Ours cannot be pinned to the commit that holds the reference (docs/decisions/0007).
            ours = used.startswith(("./", "releasecheck/releasecheck@v"))
            assert ours or re.search(r"@[0-9a-f]{40}$", used), used
        assert text.count("persist-credentials: false") == text.count("actions/checkout@")
        # A called workflow that names none for the whole file has what its caller grants (test_workflow_files.py).
        assert "  workflow_call:\n" in text or re.search(
            r"^permissions:\n  contents: read\n|^permissions: \{\}\n", text, re.MULTILINE
        )


LOADED = """
import sys
before = set(sys.modules)  # site has its own needs
from releasecheck.__main__ import main
code = main({arguments!r})
sys.stderr.write(' '.join({{name.partition('.')[0] for name in set(sys.modules) - before}}))
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], {"asyncio", "click", "httpx", "pathlib", "pydantic"}),
        (["--help"], {"asyncio", "httpx", "jinja2", "jsonschema", "numpy", "rich"}),
    ],
    ids=["version", "help"],
)
def test_start__imports_little(arguments: list[str], unwanted: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(arguments=arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "releasecheck" in done.stdout
    assert unwanted.isdisjoint(done.stderr.split())


def test_templates_dir__editable_install_uses_the_root_folder() -> None:
    assert templates_dir() == ROOT / "templates"


def test_templates_dir__packed_ones_come_first(tmp_path: Path) -> None:
    package = tmp_path / "src" / "releasecheck"
    (package / "templates").mkdir(parents=True)
    (tmp_path / "templates").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert templates_dir(package) == package / "templates"


def test_templates_dir__somebody_elses_folder_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    with pytest.raises(InfrastructureError, match="install releasecheck again"):
        templates_dir(tmp_path / "lib" / "releasecheck")
