"""What the commands of a page stand on: `<!-- tested with: NAME, NAME -->`, each a function here.

What takes runs is made once in a test session, and copied.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from releasecheck.cli.starters import suite_files
from tests.e2e.shell import Shell
from tests.judgeserver import JudgeServer
from tests.openaistub import OpenAiStub, serving, verdict
from tests.processes import environment

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from tests.e2e.program import Program

ROOT: Final = Path(__file__).resolve().parents[2]
CONFIG: Final = "releasecheck.yaml"
UPPER: Final = """\
from pathlib import Path

WRONG = Path("wrong.txt")


def answer(case):
    wrong = WRONG.read_text().split() if WRONG.exists() else []
    return "?" if case["id"] in wrong else case["input"].upper()
"""
NEEDS_INDEX: Final = """

_answer = answer


def answer(case):
    open("index.txt").close()
    return _answer(case)
"""


@dataclass
class Stage:
    """A folder that is being made ready for the commands of a page."""

    shell: Shell
    program: Program
    stack: ExitStack
    """Closed after the last command."""
    made: dict[str, Path] = field(default_factory=dict)
    """What was made before in this session, by name."""

    @property
    def folder(self) -> Path:
        """Where the reader will be."""
        return self.shell.folder

    def call(self, *words: str, code: int = 0) -> None:
        """Run `releasecheck WORDS`, which must end as expected."""
        done = self.program(*words, cwd=self.folder, env=self.shell.env)
        assert done.code == code, (words, done)

    def write(self, **files: str) -> None:
        """Write files; `cases_jsonl` is `cases.jsonl`."""
        for name, text in files.items():
            (self.folder / name.replace("_", ".")).write_text(text, encoding="utf-8")

    def git(self, *words: str, cwd: Path | None = None) -> None:
        """Run git as somebody with a name."""
        who = {f"GIT_{one}_{what}": "a@example.org" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}  # fmt: skip
        subprocess.run(
            ["git", "-c", "init.defaultBranch=main", *words],
            cwd=cwd or self.folder,
            env=environment(**who),
            check=True,
            capture_output=True,
        )

    def once(self, name: str, make: Callable[[Stage], None]) -> None:
        """Put what `make` makes into the folder, and remember it."""
        if name not in self.made:
            folder = self.program.scratch / f"stage-{name}"
            folder.mkdir()
            shell = Shell(folder, self.program)
            make(Stage(shell, self.program, self.stack, self.made))
            self.made[name] = folder
        shutil.copytree(self.made[name], self.folder, dirs_exist_ok=True)


def starter(stage: Stage) -> None:
    """What `init` writes."""
    for file in suite_files(stage.folder):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_bytes(file.content)


def _run(stage: Stage) -> None:
    starter(stage)
    stage.call("run", CONFIG)


def run(stage: Stage) -> None:
    """The starter, with its first run in `out/`."""
    stage.once("run", _run)


def _baseline(stage: Stage) -> None:
    run(stage)
    stage.call("baseline", "promote", "out")
    stage.call("run", CONFIG)


def baseline(stage: Stage) -> None:
    """The starter, with its first run as the baseline and a passing one in `out/`."""
    stage.once("baseline", _baseline)


def _break(stage: Stage) -> None:
    program = stage.folder / "helpdesk.py"
    program.write_text(program.read_text("utf-8").replace('"password"', '"passphrase"'), "utf-8")


def _blocked(stage: Stage) -> None:
    baseline(stage)
    _break(stage)
    stage.call("run", CONFIG, code=1)


def blocked(stage: Stage) -> None:
    """The starter with a baseline, one word forgotten, and the run that this blocked in `out/`."""
    stage.once("blocked", _blocked)


def _two_runs(stage: Stage) -> None:
    baseline(stage)
    (stage.folder / "out").rename(stage.folder / "before")
    _break(stage)
    stage.call("run", CONFIG, "--out", "after", code=1)


def two_runs(stage: Stage) -> None:
    """The starter with a baseline, a passing run in `before/` and a blocked one in `after/`."""
    stage.once("two-runs", _two_runs)


def _planned(stage: Stage) -> None:
    starter(stage)
    stage.call("plan", CONFIG, "--out", "plan")
    stage.call("shard", "--plan", "plan", "--index", "0", "--out", "results")


def planned(stage: Stage) -> None:
    """The starter with `plan/`, and `results/` of its only shard."""
    stage.once("planned", _planned)


def _failed(stage: Stage) -> None:
    starter(stage)
    with (stage.folder / "helpdesk.py").open("a", encoding="utf-8") as program:
        program.write(NEEDS_INDEX)
    stage.call("run", CONFIG, code=2)
    stage.write(index_txt="")


def failed(stage: Stage) -> None:
    """The starter, with a run in `out/` in which every call failed for want of a file that is there since."""
    stage.once("failed", _failed)


def repository(stage: Stage) -> None:
    """All that is there so far as the only commit of a repository whose branch `main` is at `origin` too."""
    origin = stage.folder.parent / "origin.git"
    stage.git("init", "--quiet", "--bare", str(origin), cwd=stage.folder.parent)
    stage.git("init", "--quiet")
    stage.git("add", "--all")
    stage.git("commit", "--quiet", "--message", "A release check")
    stage.git("remote", "add", "origin", str(origin))
    stage.git("push", "--quiet", "origin", "main")
    stage.git("fetch", "--quiet")


def checkout(stage: Stage) -> None:
    """A checkout of this repository, as far as its examples need one."""
    skipped = shutil.ignore_patterns("out", "__pycache__")
    shutil.copytree(ROOT / "examples", stage.folder / "examples", ignore=skipped)
    (stage.folder / "docs").mkdir()
    for page in (ROOT / "docs").glob("*.md"):
        shutil.copy(page, stage.folder / "docs")


def _small_suite(
    stage: Stage, judges: str, metric: str, cases: int = 3, rule: str = "min: 0.8"
) -> None:
    rows = [
        {"id": f"q{n}", "input": f"word {n}", "expected": f"WORD {n}"} for n in range(1, cases + 1)
    ]
    stage.write(
        cases_jsonl="".join(json.dumps(row) + "\n" for row in rows),
        app_py=UPPER,
        releasecheck_yaml=(
            "version: 1\nsuite: search\ncases: [{path: cases.jsonl}]\n"
            "target: {type: python, function: 'app:answer'}\n"
            f"judges: [{judges}]\ngates: [{{id: no-worse, metric: {metric}, {rule}}}]\n"
            "baseline: {on_missing: bootstrap}\n"
        ),
    )


def judge(stage: Stage) -> None:
    """A judge at http://127.0.0.1:8090/score, and a suite that calls it `grounded`."""
    server = stage.stack.enter_context(JudgeServer())
    stage.shell.swapped["http://127.0.0.1:8090/score"] = server.url
    _small_suite(
        stage, f"{{id: grounded, type: http, url: '{server.url}', scale: [0, 1]}}", "grounded"
    )


def waiting(stage: Stage) -> None:
    """A suite whose judge answers later: `plan/`, and `results/` with its tickets."""
    server = stage.stack.enter_context(JudgeServer(after=3))
    spec = f"{{id: grounded, type: http, url: '{server.url}', scale: [0, 1], interval: 1s}}"
    _small_suite(stage, spec, "grounded")
    stage.call("plan", CONFIG, "--out", "plan")
    stage.call("shard", "--plan", "plan", "--index", "0", "--out", "results")


def people(stage: Stage) -> None:
    """A suite whose judge `human` reads `scores.jsonl`, which is not there yet."""
    spec = "{id: human, type: precomputed, path: scores.jsonl, wait: true, deadline: 1h}"
    _small_suite(stage, spec, "human")


def model(stage: Stage) -> None:
    """A suite whose judge `helpful` is a model, and labels of people."""
    stub = stage.stack.enter_context(serving(OpenAiStub(say=lambda _: verdict(1))))
    spec = (
        f"{{id: helpful, type: llm, base_url: '{stub.url}', model: judge-1, rubric: relevance, "
        "sentinels: [], pass_at: 0.5}"
    )
    _small_suite(stage, spec, "helpful")
    labels = [
        {"id": f"a{n}", "input": "Is it free?", "output": "Yes.", "label": True} for n in range(4)
    ]
    stage.write(labels_jsonl="".join(json.dumps(label) + "\n" for label in labels))


def api(stage: Stage) -> None:
    """A chat API at OPENAI_BASE_URL that says HELLO."""
    stub = stage.stack.enter_context(serving(OpenAiStub(say=lambda _: "HELLO")))
    stage.shell.env |= {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "none"}


def _noisy(stage: Stage) -> None:
    rule = "no_regression: {max_drop: 0.02}"
    _small_suite(stage, "{id: exact, type: exact}", "exact", 60, rule)
    stage.write(wrong_txt=" ".join(f"q{n}" for n in range(1, 10)))
    stage.call("run", CONFIG)
    stage.call("baseline", "promote", "out")


def noisy(stage: Stage) -> None:
    """A suite of 60 cases whose baseline was wrong in 9, with a gate that blocks on noise."""
    stage.once("noisy", _noisy)


def _runs(stage: Stage) -> None:
    _small_suite(stage, "{id: exact, type: exact}", "exact", 20, "min: 0.5")
    (stage.folder / ".gitignore").write_text("runs/\nwrong.txt\n__pycache__/\n", "utf-8")
    stage.git("init", "--quiet")
    for number, wrong in enumerate(("q4", "q17", "", "q17", "", "q17")):
        if number in {0, 1}:
            stage.git("add", "--all")
            stage.git("commit", "--quiet", "--allow-empty", "--message", "A change")
        stage.write(wrong_txt=wrong)
        stage.call("run", CONFIG, "--out", f"runs/{number}")


def runs(stage: Stage) -> None:
    """A suite with six runs in `runs/`, of which one is at another commit; `q17` comes and goes."""
    stage.once("runs", _runs)


STAGES: Final[dict[str, Callable[[Stage], None]]] = {
    "starter": starter,
    "run": run,
    "baseline": baseline,
    "blocked": blocked,
    "two-runs": two_runs,
    "planned": planned,
    "failed": failed,
    "repository": repository,
    "checkout": checkout,
    "judge": judge,
    "waiting": waiting,
    "people": people,
    "model": model,
    "api": api,
    "noisy": noisy,
    "runs": runs,
}
"""By the name that a page uses."""
