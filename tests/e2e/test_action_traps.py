"""The 30 traps that a gate on GitHub falls into: where each is tested, and the last of them (5, 8, 14, 20, 27)."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from tests.e2e.site import SHARD, card, names
from tests.staging import ACTION, JOBS, ROOT

if TYPE_CHECKING:
    from tests.e2e.site import Site

TESTS: Final = Path(__file__).resolve().parents[1]
ACTIONS: Final = "e2e/test_action_"
COVERED: Final[dict[int, tuple[str, ...]]] = {
    1: ("attempts.py::test_lost_machine__is_missing_by_name", "attempts.py::test_shard_that_never_uploads"),
    2: ("attempts.py::test_no_shard_uploads",),
    3: ("attempts.py::test_one_shard", "attempts.py::test_one_of_two_shards_left",
        "/integration/github/test_artifacts.py::test_fetch__trap_3_each_into_its_own_folder"),
    4: ("poisoned.py::test_second_upload__with_other_bytes",),
    5: ("traps.py::test_uploads__fail_when_there_is_nothing", "traps.py::test_folders__are_not_hidden"),
    6: ("attempts.py::test_rerun_of_all_jobs__the_old_files_are_still_listed",
        "poisoned.py::test_second_upload__with_other_bytes",
        "attack.py::test_shard_artifact__of_an_attempt_to_come"),
    7: ("attempts.py::test_names__are_the_producers",),
    8: ("traps.py::test_uploads__overwrite_nothing", "poisoned.py::test_names__that_are_not_quite_ours_count_for_nothing"),
    9: ("attempts.py::test_killed_shard__uploads_and_the_rerun_asks_the_rest",
        "attempts.py::test_time_budget__stops_between_batches_and_carries_on"),
    10: ("plan.py::test_plan__dies_before_its_upload", "plan.py::test_plan_result__is_told_by_the_workflow",
         "/unit/test_workflow_files.py::test_gate__runs_always_and_has_a_step_that_always_runs"),
    11: ("plan.py::test_plan_result__decides_before_any_artifact_does",),
    12: ("/unit/test_workflow_files.py::test_matrix__never_fails_fast", "attempts.py::test_shard_that_never_uploads"),
    13: ("plan.py::test_outputs__dropped_because_they_look_like_a_secret",
         "plan.py::test_verdict__dropped_because_it_looks_like_a_secret",
         "plan.py::test_shard__of_a_skipped_plan_cannot_run"),
    14: ("traps.py::test_shards__hand_on_nothing_through_outputs",),
    15: ("hostile.py::test_hostile_answers__change_nothing", "hostile.py::test_target_that_writes_to_the_runner",
         "hostile.py::test_hostile_case_ids_and_names__change_nothing"),
    16: ("hostile.py::test_hostile_answers__change_nothing", "/unit/github/test_commands.py::test_write_outputs__trap_16",
         "/unit/github/test_commands.py::test_annotation__trap_16"),
    17: ("hostile.py::test_summary__is_bounded_with_thousands_of_cases",
         "/unit/github/test_commands.py::test_write_summary__trap_17"),
    18: ("hostile.py::test_summary__is_bounded_with_thousands_of_cases", "/unit/github/test_commands.py::test_worst__trap_18"),
    19: ("/unit/test_workflow_files.py::test_run__holds_no_expression",
         "/unit/test_workflow_files.py::test_if__is_no_text_that_is_always_true",
         "/unit/test_workflow_files.py::test_action__takes_every_input_through_a_variable"),
    20: ("traps.py::test_action_path__is_a_quoted_variable",),
    21: ("hostile.py::test_environment__of_the_caller_stays", "hostile.py::test_secrets__of_the_runner_may_not_be_named"),
    22: ("/unit/test_workflow_files.py::test_uses__of_others_are_pinned",
         "hostile.py::test_working_tree__cannot_stand_in_for_our_modules"),
    23: ("baselines.py::test_baseline__is_the_last_passing_run",
         "/integration/github/test_baseline.py::test_find__run_that_does_not_count"),
    24: ("baselines.py::test_lost_baseline__is_refused", "baselines.py::test_baseline__interface_fails_is_no_answer"),
    25: ("baselines.py::test_baseline__is_the_last_passing_run",
         "/integration/github/test_publish.py::test_promotion__trap_25_a_blocked_run_stores_nothing"),
    26: ("baselines.py::test_removed_case__is_named", "baselines.py::test_outage__is_not_measured"),
    27: ("traps.py::test_gates__are_judged_after_the_merge",),
    28: ("/e2e/test_forks.py::test_pair__a_change_cannot_weaken_its_own_gate",
         "/e2e/test_forks.py::test_judge__runs_nothing_of_the_head"),
    29: ("/integration/github/test_beat.py::test_rerun_failed__two_beats_at_once_start_it_once",
         "/integration/github/test_client.py::test_rerun__trap_29"),
    30: ("baselines.py::test_badge__of_the_default_branch",
         "/integration/github/test_publish.py::test_badge__an_older_run_does_not_overwrite"),
}  # fmt: skip


@cache
def documented(path: Path) -> tuple[str, dict[str, str]]:
    """The docstring of a file of tests, and name and docstring of each test in it."""
    module = ast.parse(path.read_bytes())
    tests = {
        node.name: ast.get_docstring(node) or ""
        for node in module.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    return ast.get_docstring(module) or "", tests


def numbers(text: str) -> set[int]:
    """The traps that a docstring or name speaks of: `Traps 15 to 18, 30`, `trap_3`."""
    found: set[int] = set()
    for part in re.findall(r"[Tt]raps?[ _]((?:\d+(?:, | and | to |-)?)+)", text):
        for first, last in re.findall(r"(\d+)(?:(?: to |-)(\d+))?", part):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def test_numbers__reads_what_docstrings_say() -> None:
    assert numbers("Traps 2, 6 and 8: artifacts") == {2, 6, 8}
    assert numbers("(C-17; traps 15-18, 30).") == {15, 16, 17, 18, 30}
    assert numbers("Traps 15 to 18, G-25") == {15, 16, 17, 18}
    assert numbers("test_find__trap_3_each") == {3}


def test_traps__each_is_covered() -> None:
    """All of them, and none that does not exist."""
    assert set(COVERED) == set(range(1, 31))


@pytest.mark.parametrize("trap", COVERED)
def test_trap__has_tests_that_carry_its_number(trap: int) -> None:
    """A test that is renamed or lost shows here."""
    carried = False
    for one in COVERED[trap]:
        where, _, name = one.partition("::")
        path = TESTS / where[1:] if where.startswith("/") else TESTS / f"{ACTIONS}{where}"
        module, tests = documented(path)
        assert name in tests, f"{one} is gone"
        carried = carried or trap in numbers(f"{name} {tests[name]}") | numbers(module)
    assert carried, f"no test of trap {trap} carries its number"


def uploads() -> list[dict[str, Any]]:
    """Every upload step of the action, of our workflows and of the starters."""
    files = [ROOT / "action.yml", *(ROOT / ".github/workflows").glob("*.yml")]
    files += list((ROOT / "templates").rglob("*.yml"))
    found: list[dict[str, Any]] = []
    for path in files:
        whole = yaml.safe_load(path.read_bytes())
        jobs = whole.get("jobs", {}).values() if "jobs" in whole else [whole.get("runs", {})]
        for job in jobs:
            found += [
                one for one in job.get("steps", []) if "upload-artifact" in one.get("uses", "")
            ]
    return found


def test_uploads__fail_when_there_is_nothing() -> None:
    """Trap 5: an empty folder is an error, never a warning that nobody reads."""
    assert uploads()
    for step in uploads():
        assert step["with"]["if-no-files-found"] == "error", step


def test_uploads__overwrite_nothing() -> None:
    """Trap 8: overwriting deletes by name, whoever's it is."""
    for step in uploads():
        assert "overwrite" not in step["with"], step
    text = (ROOT / "action.yml").read_text("utf-8")
    assert "download-artifact" not in text
    assert "merge-multiple" not in text


def test_folders__are_not_hidden(site: Site) -> None:
    """Trap 5: hidden folders are left out of uploads without a word."""
    play = site.push()
    ran = play.attempt()
    for name in ("plan", "shard (0)", "finish", "publish"):
        outputs = ran[name].steps["stage"].outputs
        for key, value in outputs.items():
            if key.endswith("-path"):
                below = Path(value).relative_to(play.folder)
                assert not any(part.startswith(".") for part in below.parts), (key, value)
    assert len(names(play, SHARD)) == 2


def test_shards__hand_on_nothing_through_outputs() -> None:
    """Trap 14, P-13: all legs share one map of outputs, and the last one wins; results travel in files."""
    assert "outputs" not in JOBS["shard"]
    text = (ROOT / ".github/workflows/release-check.yml").read_text("utf-8")
    assert "needs.shard.outputs" not in text


def test_action_path__is_a_quoted_variable() -> None:
    """Trap 20: the expression is another path in a container, and a space ends an unquoted one."""
    text = (ROOT / "action.yml").read_text("utf-8")
    assert "github.action_path" not in text
    for step in ACTION["runs"]["steps"]:
        for found in re.findall(r".?\$\{?GITHUB_ACTION_PATH.*", step.get("run", "")):
            assert re.fullmatch(r'"\$GITHUB_ACTION_PATH/[a-z/.]+"', found), found
    for script in (ROOT / "action").glob("*.sh"):
        assert "GITHUB_ACTION_PATH" not in script.read_text("utf-8")


def test_gates__are_judged_after_the_merge(site: Site) -> None:
    """Trap 27: a shard in which everything is wrong is no red shard; what is frozen is who runs what."""
    site.answers.wrong = {"q0", "q2"}  # all of shard 0
    play = site.push()
    ran = play.attempt()
    assert ran["shard (0)"].result == ran["shard (1)"].result == "success"
    assert ran["finish"].outputs["verdict"] == "pass"
    assert next(one for one in card(play)["gates"])["value"] == 0.5
    site.answers.wrong = {"q0", "q1", "q2"}
    other = site.push()
    ran = other.attempt()
    assert ran["shard (0)"].result == ran["shard (1)"].result == "success"
    assert ran["finish"].outputs["verdict"] == "block"
