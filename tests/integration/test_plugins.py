"""Plug-ins as packages: built, installed beside the program, found by their entry points (S1-14, S1-50, G-37)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.processes import environment

pytestmark = pytest.mark.timeout(240)  # the package is built in the first test

DOCS = Path(__file__).resolve().parents[2] / "docs" / "plugins.md"
QUESTIONS = [
    {"id": "c1", "input": "one two"},
    {"id": "c2", "input": "three words here"},
]


def blocks(language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page, installed into a folder of its own."""
    source, site = (tmp_path_factory.mktemp(name) for name in ("source", "site"))
    (source / "pyproject.toml").write_text(blocks("toml")[0], "utf-8")
    (source / "brief_checks.py").write_text(blocks("python")[0], "utf-8")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    # Compiled files would outlive a change within the same second that leaves the size as it was.
    command += ["--no-build-isolation", "--no-compile", "--target", str(site), str(source)]
    subprocess.run(command, check=True, env=environment(), capture_output=True)
    return site


@pytest.fixture
def site(built: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    return Path(shutil.copytree(built, tmp_path / "site"))


class Place:
    """The suite of the page in a folder, and the program with a site folder on its path."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.site = folder, site
        folder.mkdir(exist_ok=True)
        self.suite = blocks("yaml")[0]
        self.write()

    def write(self, old: str = "", new: str = "") -> None:
        assert old in self.suite
        self.suite = self.suite.replace(old, new) if old else self.suite
        (self.folder / "releasecheck.yaml").write_text(self.suite, "utf-8")
        rows = "".join(json.dumps(row) + "\n" for row in QUESTIONS)
        (self.folder / "cases.jsonl").write_text(rows, "utf-8")

    def __call__(self, *argv: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.site)])
        return subprocess.run(
            [sys.executable, "-m", "releasecheck", *argv],
            cwd=self.folder,
            env=environment(PYTHONPATH=path, NO_COLOR="1", PYTHONDONTWRITEBYTECODE="1"),
            capture_output=True,
            text=True,
            check=False,
        )

    def document(self, name: str) -> Any:
        return json.loads((self.folder / name).read_bytes())


def test_plugins__the_package_of_the_page_works(site: Path, tmp_path: Path) -> None:
    """S1-50: a judge and a target in a package of their own, and nothing of ours changed for it."""
    place = Place(tmp_path / "suite", site)
    done = place("run", "releasecheck.yaml")
    assert done.returncode == 0, done
    rows = (place.folder / "out/results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(row)["output"] for row in rows] == ["ONE TWO", "THREE WORDS HERE"]
    assert json.loads(rows[0])["scores"]["brief"] == {
        "state": "scored",
        "value": 1.0,
        "reason": "2 words",
    }
    (judge,) = place.document("out/plan/plan.json")["judges"]
    assert judge["contract"] == "evaluator@2"
    assert list(judge["files"]) == ["plug-in brief: brief-checks 1.0.0"]
    header = json.loads(
        (place.folder / "out/results/shard-0000.attempt-1.jsonl").read_text().splitlines()[0]
    )
    assert list(header["code"]["files"]) == ["plug-in shout: brief-checks 1.0.0"]
    target = place.document("out/plan/plan.json")["target_plugin"]
    assert (target["contract"], target["files"]) == ("target@1", header["code"]["files"])
    assert place("verify", "out").returncode == 0


def test_plugins__one_that_is_not_installed_is_refused_with_those_that_are(
    site: Path, tmp_path: Path
) -> None:
    place = Place(tmp_path / "suite", site)
    place.write("plugin: brief,", "plugin: breif,")
    done = place("plan", "releasecheck.yaml", "--out", "plan")
    assert done.returncode == 3, done
    assert "releasecheck.yaml:6:" in done.stderr
    assert "no plug-in 'breif' is installed" in done.stderr
    assert "did you mean 'brief'? (installed: 'brief')" in done.stderr
    shutil.rmtree(site)
    none = place("plan", "releasecheck.yaml", "--out", "plan")
    assert none.returncode == 3, none
    assert "no plug-in 'shout' is installed, and none under releasecheck.targets" in none.stderr
    assert not (place.folder / "plan").exists()


@pytest.mark.soak
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"evaluator@2"', '"evaluator@1"', "speaks the contract 'evaluator@1'; expected `contract"),
        ("open_judge.contract =", "unused =", "does not say which contract it speaks; expected"),
        ('"target@1"', '"target@2"', "speaks the contract 'target@2'; expected `contract = 'target@1'`"),
        ("class Brief:", "import nowhere_at_all\n\nclass Brief:",
         "cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'"),
        ("class Brief:", "raise SystemExit(7)\n\nclass Brief:", "cannot be imported: SystemExit: 7"),
    ],
)  # fmt: skip
def test_plugins__another_contract_is_refused_by_its_name(
    site: Path, tmp_path: Path, old: str, new: str, expected: str
) -> None:
    """S1-14, S1-15, G-37: at plan time, never found to judge nothing later."""
    module = site / "brief_checks.py"
    module.write_text(module.read_text("utf-8").replace(old, new), "utf-8")
    place = Place(tmp_path / "suite", site)
    done = place("plan", "releasecheck.yaml", "--out", "plan")
    assert done.returncode == 3, done
    assert expected in done.stderr


@pytest.mark.soak
def test_plugins__another_one_than_planned_is_refused(site: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "suite", site)
    assert place("plan", "releasecheck.yaml", "--out", "plan").returncode == 0
    module = site / "brief_checks.py"
    text = module.read_text("utf-8")
    shard = ("shard", "--plan", "plan", "--index", "0", "--out", "results")
    module.write_text(text.replace("<= self.words", "< 1_000"), "utf-8")
    changed = place(*shard)
    assert changed.returncode == 4, changed
    assert "judge brief is not the planned one" in changed.stderr
    module.write_text(text, "utf-8")
    metadata = next(site.glob("*.dist-info")) / "METADATA"
    said = metadata.read_text("utf-8")
    metadata.write_text(said.replace("Version: 1.0.0", "Version: 1.0.1"), "utf-8")
    newer = place(*shard)
    assert newer.returncode == 4, newer
    assert "plug-in brief: brief-checks 1.0" in newer.stderr
    metadata.write_text(said, "utf-8")
    assert place(*shard).returncode == 0
    whole = place("finish", "--plan", "plan", "--results", "results", "--out", "out")
    assert whole.returncode == 0, whole


@pytest.mark.parametrize("change", ["code", pytest.param("version", marks=pytest.mark.soak)])
def test_plugins__a_target_that_changed_since_the_plan_is_said(
    site: Path, tmp_path: Path, change: str
) -> None:
    """Issue 4, plug-ins: the plan knows what it was made for, and such a run is never promoted."""
    place = Place(tmp_path / "suite", site)
    place.write(
        "{id: brief, type: plugin, plugin: brief, options: {words: 3}, pass_at: 1, scale: [0, 1]}",
        "{id: brief, type: contains, value: W}",
    )
    assert place("plan", "releasecheck.yaml", "--out", "plan").returncode == 0
    module, metadata = site / "brief_checks.py", next(site.glob("*.dist-info")) / "METADATA"
    path, old, new = (
        (module, "class Shout:", "class Shout:  # louder")
        if change == "code"
        else (metadata, "Version: 1.0.0", "Version: 1.0.1")
    )
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    shard = place("shard", "--plan", "plan", "--index", "0", "--out", "results")
    assert shard.returncode == 0, shard
    place("finish", "--plan", "plan", "--results", "results", "--out", "out")
    assert place.document("out/scorecard.json")["code_changed"] == ["plug-in shout"]
    assert place("verify", "out").returncode == 0


def test_plugins__one_that_is_gone_is_named(site: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "suite", site)
    assert place("plan", "releasecheck.yaml", "--out", "plan").returncode == 0
    entries = next(site.glob("*.dist-info")) / "entry_points.txt"
    entries.write_text(entries.read_text("utf-8").replace("brief =", "other ="), "utf-8")
    done = place("shard", "--plan", "plan", "--index", "0", "--out", "results")
    assert done.returncode == 4, done
    assert "not installed: plug-in brief" in done.stderr


@pytest.mark.soak
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('Scored(float(count <= self.words), f"{count} words")', "0.5 / 0", "ZeroDivisionError"),
        ("return Judged(Scored(float(count <= self.words), f\"{count} words\"))", "return 1.0",
         "answered float where `Judged` is due"),
        ("return Judged(Scored(float(count <= self.words), f\"{count} words\"))", "raise SystemExit(3)",
         "raised SystemExit: 3"),
        ("float(count <= self.words)", "7.0", "the value 7.0, outside the scale 0 to 1"),
        ("float(count <= self.words)", "float('nan')", "raised ValueError: a score must be a finite"),
    ],
)  # fmt: skip
def test_plugins__what_is_no_answer_fails_its_own_score(
    site: Path, tmp_path: Path, old: str, new: str, said: str
) -> None:
    """A plug-in never takes the run down, and nothing it does wrong reads as 0 or as a pass."""
    module = site / "brief_checks.py"
    text = module.read_text("utf-8")
    assert old in text
    module.write_text(text.replace(old, new), "utf-8")
    place = Place(tmp_path / "suite", site)
    done = place("run", "releasecheck.yaml")
    assert done.returncode == 2, done
    counts = place.document("out/scorecard.json")["counts"]
    assert (counts["failed"], counts["scored"]) == (2, 0)
    row = json.loads((place.folder / "out/results.jsonl").read_text("utf-8").splitlines()[0])
    assert row["scores"]["brief"]["reason"].startswith("contract_violation: plug-in 'brief' ")
    assert said in row["scores"]["brief"]["reason"]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("return Answered(call.input.upper(), 0.0)", "return call.input", "contract_violation"),
        ("return Answered(call.input.upper(), 0.0)", "return 1 / 0", "contract_violation"),
        ("return Answered(call.input.upper(), 0.0)", "return Answered(None, 0.0)", "no_answer"),
        ("return Answered(call.input.upper(), 0.0)", "return Answered({1, 2}, 0.0)", "not_json"),
        ("if not isinstance(call.input, str):", "if True:", "no_text"),
    ],
)
def test_plugins__a_target_that_gives_no_answer_fails_its_own_call(
    site: Path, tmp_path: Path, old: str, new: str, code: str
) -> None:
    module = site / "brief_checks.py"
    text = module.read_text("utf-8")
    assert old in text
    module.write_text(text.replace(old, new), "utf-8")
    place = Place(tmp_path / "suite", site)
    done = place("run", "releasecheck.yaml")
    assert done.returncode == 2, done
    row = json.loads((place.folder / "out/results.jsonl").read_text("utf-8").splitlines()[0])
    assert row["failure"]["code"] == code


def test_plugins__options_that_are_refused_end_before_a_call(site: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "suite", site)
    place.write("{words: 3}", "{words: many}")
    done = place("run", "releasecheck.yaml")
    assert done.returncode == 3, done
    assert "plug-in 'brief' could not be opened: ValueError: invalid literal" in done.stderr


LATER = """
class Later(Brief):
    async def judge(self, ask):
        return Judged(Pending("ticket of " + ask.case.id))

    async def collect(self, tickets, within_s):
        scores = {one: Arrived(Scored(1.0, one)) for one in tickets if one.endswith("c1")}
        return Collected({**scores, "invented": Arrived(Scored(0.0))})

    async def purge(self, tickets, within_s):
        with open("purged.txt", "a") as file:
            file.write(",".join(tickets))
        return Purged("done", "gone")


def open_judge(options, context):
    return Later(3)


open_judge.contract = "evaluator@2"
"""


@pytest.mark.soak
def test_plugins__a_judge_may_answer_later(site: Path, tmp_path: Path) -> None:
    """S1-02, S1-05, G-14: settled, counted and purged like every judge that answers later."""
    module = site / "brief_checks.py"
    text = module.read_text("utf-8")
    text = text.replace("import JudgeFailed,", "import JudgeFailed, Pending,")
    text = text.replace("import Answered,", "import Answered, Arrived, Collected, Purged,")
    module.write_text(text + LATER, "utf-8")
    place = Place(tmp_path / "suite", site)
    done = place("run", "releasecheck.yaml", "--no-wait")
    assert done.returncode == 5, done
    assert "an answer to the ticket 'invented', never asked for" in done.stderr
    final = place("resume", "out", "--final")
    assert final.returncode == 2, final
    counts = place.document("out/scorecard.json")["counts"]
    assert (counts["scored"], counts["missing"]) == (1, 1)
    purged = place("purge", "out", "--yes")
    assert purged.returncode == 0, purged
    assert "judge brief: of 2 traces 2 deleted (gone)" in purged.stdout
    assert (place.folder / "purged.txt").read_text("utf-8") == "ticket of c1,ticket of c2"
