"""Workflow files, starters and the action: linted, and held to the rules that make a gate sound.

Traps 10, 11, 12, 19, 22 and 28.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from releasecheck.drivers.github.inputs import STAGES
from releasecheck.model.base import parse_duration
from tests.acting import program

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
STARTERS = sorted((ROOT / "templates/github").glob("*.yml"))
FILES = [*WORKFLOWS, *STARTERS]
ACTION = ROOT / "action.yml"
PRODUCT = [path for path in FILES if path.name != "ci.yml"]
"""Not the build of this repository itself, which has permissions for the whole file."""
SCRIPTS = [*sorted((ROOT / "action").glob("*.sh")), ROOT / ".ci/docs-search-setup"]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OURS = (
    "releasecheck/releasecheck@v1",
    "releasecheck/releasecheck/.github/workflows/release-check.yml@v1",
)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_bytes())
    return found


def jobs_of(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = read(path)["jobs"]
    return found


def steps_of(path: Path) -> list[dict[str, Any]]:
    if path == ACTION:
        return list(read(path)["runs"]["steps"])
    return [step for job in jobs_of(path).values() for step in job.get("steps", [])]


every = pytest.mark.parametrize("path", FILES, ids=name_of)
product = pytest.mark.parametrize("path", PRODUCT, ids=name_of)
with_action = pytest.mark.parametrize("path", [*FILES, ACTION], ids=name_of)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@with_action
def test_zizmor__pedantic(path: Path) -> None:
    done = run(
        program("zizmor"), "--persona", "pedantic", "--offline", "--no-progress", name_of(path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No findings to report" in done.stdout + done.stderr


PIPED = re.compile(r"releasecheck\b[^|\n#]*[^|]\|(?!\|)")
"""A command of ours whose exit code the shell would forget."""


@with_action
def test_run__pipes_no_command_of_ours(path: Path) -> None:
    """B77: the exit code of a pipe is that of its last part."""
    scripts = [step["run"] for step in steps_of(path) if "run" in step]
    assert not [line for script in scripts for line in script.splitlines() if PIPED.search(line)]


@pytest.mark.parametrize("path", [*SCRIPTS, *DOCS], ids=name_of)
def test_scripts_and_docs__pipe_no_command_of_ours(path: Path) -> None:
    """B77: nor where people copy from; one sentence says why."""
    text = path.read_text("utf-8")
    shown = re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if path.suffix == ".md" else [text]
    assert not [line for part in shown for line in part.splitlines() if PIPED.search(line)]


def test_piped__is_told_from_what_is_none() -> None:
    """B77."""
    for line in ("releasecheck run a.yaml | tee log", "  releasecheck verify out 2>&1|cat"):
        assert PIPED.search(line), line
    for line in ("releasecheck run a.yaml || exit 1", "releasecheck --help # a | b", "ls | sort"):
        assert not PIPED.search(line), line


@with_action
def test_zizmor__exceptions_are_recorded(path: Path) -> None:
    """Our own reference cannot be pinned to itself (decision 7); a `workflow_run` has to give a reason."""
    local = ("uses: ./ ", "uses: ./.github/workflows/release-check.yml ")
    for line in path.read_text("utf-8").splitlines():
        rules = re.findall(r"zizmor: ignore\[([^\]]*)\](.*)", line)
        for rule, reason in rules:
            if rule == "unpinned-uses":
                assert any(f"uses: {one} " in line for one in OURS), line
            elif rule == "self-repository":
                assert path.parent.name == "workflows", "a starter is no file of this repository"
                assert any(one in line for one in local), line
            else:
                assert (rule, path.name) in (
                    ("dangerous-triggers", "forks-judge.yml"),
                    ("excessive-permissions", "release-check.yml"),
                ), line
                assert len(reason.split()) > 5, line


@every
def test_actionlint(path: Path) -> None:
    """Without shellcheck and pyflakes, which are no part of it."""
    done = run(program("actionlint"), "-shellcheck=", "-pyflakes=", name_of(path))
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("path", SCRIPTS, ids=name_of)
def test_scripts__can_be_read_by_bash(path: Path) -> None:
    done = run("bash", "-n", name_of(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "set -" in path.read_text("utf-8")


@with_action
def test_uses__of_others_are_pinned(path: Path) -> None:
    """Trap 22; the comment beside a pin names the release."""
    used = re.findall(r"^\s*(?:- )?uses: (\S+)(.*)$", path.read_text("utf-8"), re.MULTILINE)
    assert used
    for reference, rest in used:
        if reference in OURS or reference.startswith("./"):
            continue
        assert PINNED.fullmatch(reference), reference
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), (reference, rest)


@with_action
def test_run__holds_no_expression(path: Path) -> None:
    """Trap 19: whoever names a branch must not write our script."""
    for step in steps_of(path):
        assert "${{" not in step.get("run", "")
        if "run" in step and path == ACTION:
            assert step["shell"] == "bash"


@with_action
def test_if__is_no_text_that_is_always_true(path: Path) -> None:
    """Trap 19: `if: |` with an expression ends in a line break, and every text is true."""
    text = path.read_text("utf-8")
    assert re.search(r"^\s*(?:- )?if: [|>]", text, re.MULTILINE) is None
    found = [] if path == ACTION else list(jobs_of(path).values())
    for one in [*found, *steps_of(path)]:
        condition = str(one.get("if", ""))
        assert "\n" not in condition
        if "${{" in condition:
            assert re.fullmatch(r"\$\{\{[^{}]*\}\}", condition), condition


@product
def test_permissions__none_but_what_a_job_names(path: Path) -> None:
    """`publish` of the reusable workflow has what its caller grants, so nothing may stand for the whole file there.

    GitHub gives the permissions of a called file to each of its jobs that names none.
    """
    reusable = path.name == "release-check.yml"
    assert read(path).get("permissions") == (None if reusable else {})
    for name, job in jobs_of(path).items():
        inherits = reusable and name == "publish"
        assert ("permissions" in job) is not inherits, name


@product
def test_matrix__never_fails_fast(path: Path) -> None:
    """Trap 12: one red shard must not cancel the evidence of the others."""
    for job in jobs_of(path).values():
        if "strategy" in job:
            assert job["strategy"]["fail-fast"] is False
            # An empty matrix is an error that hides the gate: it is skipped by name (trap 13).
            assert "needs.plan.outputs.matrix != ''" in job["if"]


@product
def test_jobs__have_a_time_limit(path: Path) -> None:
    for name, job in jobs_of(path).items():
        assert "uses" in job or "timeout-minutes" in job, name


@product
def test_checkout__keeps_no_token(path: Path) -> None:
    for step in steps_of(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"] == {"persist-credentials": False}


def gates() -> list[Any]:
    """Jobs whose colour decides."""
    found = []
    for path in PRODUCT:
        for name, job in jobs_of(path).items():
            if name in ("finish", "all-suites"):
                found.append(pytest.param(path, job, id=f"{name_of(path)}:{name}"))
    return found


@pytest.mark.parametrize(("path", "job"), gates())
def test_gate__runs_always_and_has_a_step_that_always_runs(path: Path, job: dict[str, Any]) -> None:
    """B79, traps 10 and 11: what is skipped counts as passed."""
    expected = {
        "release-check.yml": "always()",
        "suites.yml": "always()",
        # Of an event that this workflow does not judge, the status says nothing: it is what is required.
        "forks-judge.yml": "always() && needs.plan.result != 'skipped'",
    }
    assert job["if"] == expected[path.name]
    assert all("if" not in step for step in job["steps"])
    assert all("continue-on-error" not in step for step in job["steps"])
    assert "continue-on-error" not in job


def test_gates__are_found() -> None:
    assert len(gates()) == 3


def test_action__takes_every_input_through_a_variable() -> None:
    """Trap 19, and none is forgotten: an input that reaches nobody is a promise that is not kept."""
    action = read(ACTION)
    text = ACTION.read_text("utf-8").partition("\nruns:")[2]
    for name in action["inputs"]:
        assert f"inputs.{name}" in text, name
    named = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert named == set(action["inputs"])
    assert all(stage in action["inputs"]["stage"]["description"] for stage in STAGES)


def test_reusable__passes_on_inputs_that_the_action_has() -> None:
    inputs = read(ACTION)["inputs"]
    for path in PRODUCT:
        for step in steps_of(path):
            if step.get("uses") == OURS[0]:
                assert set(step["with"]) <= set(inputs), path
        for job in jobs_of(path).values():
            if job.get("uses") == OURS[1]:
                called = read(ROOT / ".github/workflows/release-check.yml")[True]["workflow_call"]
                assert set(job.get("with", {})) <= set(called["inputs"]), path
                assert set(job.get("secrets", {})) <= set(called["secrets"]), path


AGGREGATE = jobs_of(ROOT / "templates/github/suites.yml")["all-suites"]


def aggregate(results: str) -> int:
    (step,) = AGGREGATE["steps"]
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={"RESULTS": results, "PATH": "/usr/bin:/bin"},
        capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode


@pytest.mark.parametrize(
    ("results", "green"),
    [
        ("success", True),
        ("success success", True),
        ("", False),
        (" ", False),
        ("skipped", False),
        ("cancelled", False),
        ("success skipped", False),
        ("success cancelled success", False),
        ("failure", False),
        ("success failure", False),
        ("success Success-ish", False),
    ],
)
def test_aggregate__is_green_only_when_all_succeeded(results: str, green: bool) -> None:
    """B79, traps 10 and 11; btclib and timothy: an empty set, and everything cancelled."""
    assert (aggregate(results) == 0) is green


def test_aggregate__needs_every_suite() -> None:
    jobs = jobs_of(ROOT / "templates/github/suites.yml")
    suites = {name for name, job in jobs.items() if "uses" in job}
    assert set(AGGREGATE["needs"]) == suites
    assert AGGREGATE["steps"][0]["env"] == {"RESULTS": "${{ join(needs.*.result, ' ') }}"}


def test_fork_pair__names_the_workflow_it_waits_for() -> None:
    judge, record = (
        read(ROOT / f"templates/github/forks-{name}.yml") for name in ("judge", "record")
    )
    assert judge[True] == {"workflow_run": {"workflows": [record["name"]], "types": ["completed"]}}
    assert set(record[True]) == {"pull_request", "merge_group"}


FINISHES = [
    (path, job, step)
    for path in FILES
    for job in jobs_of(path).values()
    for step in job.get("steps", [])
    if step.get("with", {}).get("stage") == "finish"
]


@pytest.mark.parametrize(
    ("path", "job", "step"), FINISHES, ids=[name_of(path) for path, _, _ in FINISHES]
)
def test_finish__can_wait_for_judges(path: Path, job: dict[str, Any], step: dict[str, Any]) -> None:
    """C-10, C-13: it has what judges that answer later need, and stops waiting before GitHub ends its job."""
    given = step["with"]
    inputs = read(path)[True].get("workflow_call", {}).get("inputs", {})
    assert re.fullmatch(r"\$\{\{ secrets\.\w+ \}\}", given["env"])
    budget, limit = given["time-budget"], job["timeout-minutes"]
    if inputs:
        assert (budget, limit) == ("${{ inputs.time-budget }}", "${{ inputs.timeout-minutes }}")
        assert given["wait"] == "${{ inputs.wait }}"
        assert job["environment"] == "${{ inputs.environment }}"
        budget, limit = (inputs[name]["default"] for name in ("time-budget", "timeout-minutes"))
    assert parse_duration(budget) <= (limit - 5) * 60
    assert job["if"].startswith("always()")


def test_finish__is_in_the_workflow_and_in_the_pair() -> None:
    assert [path.name for path, _, _ in FINISHES] == ["release-check.yml", "forks-judge.yml"]
