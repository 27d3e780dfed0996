"""Which files a judge is made of: a changed module is another judge (contract section 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import digest_bytes
from releasecheck.judges import judge_files
from releasecheck.plan.identity import judge_identity
from tests.unit.judges.builders import spec_of

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, name: str, text: str) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return digest_bytes(text.encode())


def test_judge_files__python_module(tmp_path: Path) -> None:
    found = write(tmp_path, "judges.py", "def tone(ask): return 1")
    spec = spec_of("python", function="judges:tone")
    assert judge_files(spec, tmp_path) == {"judges.py": found}
    assert write(tmp_path, "judges.py", "def tone(ask): return 0") != found
    assert judge_files(spec, tmp_path) != {"judges.py": found}


def test_judge_files__python_package(tmp_path: Path) -> None:
    top = write(tmp_path, "checks/__init__.py", "")
    inner = write(tmp_path, "checks/tone.py", "x = 1")
    package = write(tmp_path, "checks/deep/__init__.py", "y = 1")
    files = judge_files(spec_of("python", function="checks.tone:f"), tmp_path)
    assert files == {"checks/__init__.py": top, "checks/tone.py": inner}
    files = judge_files(spec_of("python", function="checks.deep:f"), tmp_path)
    assert files == {"checks/__init__.py": top, "checks/deep/__init__.py": package}


def test_judge_files__installed_module__by_name(tmp_path: Path) -> None:
    one = judge_files(spec_of("python", function="somewhere.tone:f"), tmp_path)
    other = judge_files(spec_of("python", function="elsewhere.tone:f"), tmp_path)
    assert list(one) == ["installed:somewhere.tone"]
    assert list(one.values()) != list(other.values())


def test_judge_files__command(tmp_path: Path) -> None:
    script = write(tmp_path, "checks/lint.py", "print(1)")
    words = write(tmp_path, "words.txt", "a b")
    outside = tmp_path / "root"
    outside.mkdir()
    spec = spec_of("command", run=["python", "checks/lint.py", "./words.txt", "--strict"])
    assert judge_files(spec, tmp_path) == {"checks/lint.py": script, "words.txt": words}
    assert judge_files(spec_of("command", run=["../words.txt"]), outside) == {}


def test_judge_files__schema(tmp_path: Path) -> None:
    found = write(tmp_path, "answer.schema.json", '{"type": "object"}')
    named = spec_of("json-schema", schema="answer.schema.json")
    assert judge_files(named, tmp_path) == {"answer.schema.json": found}
    assert judge_files(spec_of("json-schema", schema={"type": "object"}), tmp_path) == {}


def test_judge_files__all_spec(tmp_path: Path) -> None:
    assert judge_files(spec_of("exact"), tmp_path) == {}


def test_judge_files__links_and_modules_named_to_the_interpreter(tmp_path: Path) -> None:
    """A link out of the folder is what it leads to, under its own name; `-m NAME` is a module."""
    found = write(tmp_path, "shared/judge.py", "x = 1")
    root = tmp_path / "root"
    module = write(root, "myj.py", "y = 1")
    (root / "linked.py").symlink_to(tmp_path / "shared" / "judge.py")
    assert judge_files(spec_of("python", function="linked:f"), root) == {"linked.py": found}
    spec = spec_of("command", run=["python", "-m", "myj"])
    assert judge_files(spec, root) == {"myj.py": module}


def test_judge_identity__the_interpreter_is_part_of_it() -> None:
    """The contract leaves out only time-outs, deadlines and concurrency."""
    one, other, same = (
        judge_identity(spec_of("python", function="m:f", **more)).digest
        for more in ({}, {"interpreter": "python3.12"}, {"timeout": 5, "concurrency": 1})
    )
    assert one != other
    assert one == same
