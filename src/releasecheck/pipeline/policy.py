"""Rules from another commit: which config they come from, and what the change would make of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from releasecheck.config import load_suite, load_suite_under, read_cases
from releasecheck.errors import ConfigError, Problem, ReleaseCheckError
from releasecheck.model.judge import CommandJudge, PythonJudge
from releasecheck.model.policy import PolicyChanges
from releasecheck.pipeline.baselines import FILES, PROMOTION
from releasecheck.pipeline.files import file_digest
from releasecheck.plan.changes import (
    MOST_SETTINGS,
    dataset_changes,
    file_changes,
    pin_change,
    setting_changes,
    target_changes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.config import LoadedSuite
    from releasecheck.model.case import Case
    from releasecheck.model.policy import SettingChange

MOST_NOTES: Final = 10
"""Problems of a config that does not count which are told; the others are counted."""


@dataclass(frozen=True, slots=True)
class PolicySource:
    """The config that the rules come from, instead of the one under check."""

    config: Path
    """The same suite's config as it was before the change; the change's own one where `introduced`."""
    commit: str | None = None
    """What it was read at."""
    introduced: bool = False
    """There is no config at the base: the change's own one is used and marked."""
    mode: Literal["base", "head"] = "base"
    """head: the change's own rules are used, because somebody asked for that; `config` is compared with."""

    @property
    def applies(self) -> bool:
        """Whether the rules come from `config`, and not from the config under check."""
        return self.mode == "base" and not self.introduced


def load_with(config: Path, profile: str | None, source: PolicySource | None) -> LoadedSuite:
    """The suite of `config`, under the rules of `source` where there is one.

    Raises:
        ConfigError: everything that is wrong with what counts.
    """
    if source is None or not source.applies:
        return load_suite(config, profile)
    return load_suite_under(config, source.config, profile)


def policy_changes(
    loaded: LoadedSuite,
    cases: Sequence[Case],
    source: PolicySource | None,
    *,
    partial: bool = False,
) -> PolicyChanges | None:
    """What differs between the config under check and that of `source`; None where there is none.

    `loaded` and `cases` are what the plan is made from; in `partial` cases none counts as removed. Of what cannot be read it is said why.
    """
    if source is None or source.introduced:
        return None
    notes: list[str] = []
    rules = _whole(source.config, loaded.profile, "the policy's config", notes)
    own = _whole(loaded.path, loaded.profile, "the config of this change", notes)
    if own is not None:
        notes += _told("the config of this change", loaded.elsewhere, loaded.root)
    settings: list[SettingChange] = []
    target: list[SettingChange] = []
    pin, dataset = None, None
    if rules is not None:
        pin = pin_change(rules.suite.expect_cases, loaded.suite.expect_cases)
        target = target_changes(_json(rules)["target"], _json(loaded)["target"])
        try:
            dataset = dataset_changes(read_cases(rules), cases, partial=partial)
        except ConfigError as error:
            what = "the cases of the policy's config cannot be compared"
            notes += _told(what, error.problems, rules.root)
    if rules is not None and own is not None:
        settings = [
            # Files first: no number of new settings can crowd them out.
            *_judge_files(rules, own),
            *_baseline_changes(rules, own),
            *setting_changes(_json(rules), _json(own)),
        ]
    return PolicyChanges(
        expect_cases=pin,
        settings=tuple(settings[:MOST_SETTINGS]),
        more_settings=len(settings[MOST_SETTINGS:]),
        target=tuple(target[:MOST_SETTINGS]),
        more_target=len(target[MOST_SETTINGS:]),
        dataset=dataset,
        notes=tuple(notes),
    )


def _whole(config: Path, profile: str | None, what: str, notes: list[str]) -> LoadedSuite | None:
    """A config in its own right; None after noting why it is none."""
    try:
        return load_suite(config, profile)
    except ConfigError as error:
        what = f"{what} cannot be used as it is, so settings are not compared"
        notes += _told(what, error.problems, config.parent)
        return None


def _told(what: str, problems: Sequence[Problem], root: Path) -> list[str]:
    told = [f"{what}: {_below(problem, root)}" for problem in problems[:MOST_NOTES]]
    more = len(problems) - len(told)
    return [*told, f"{what}: and {more} more problems"] if more else told


def _below(problem: Problem, root: Path) -> Problem:
    """With its path as it is below the config: where a checkout lies is nobody's business."""
    path = problem.path
    if path is not None and Path(path).is_relative_to(root):
        path = Path(path).relative_to(root).as_posix()
    return Problem(problem.message, path, problem.line, problem.column, problem.key)


def _json(loaded: LoadedSuite) -> dict[str, Json]:
    document: dict[str, Json] = loaded.suite.model_dump(mode="json", by_alias=True)
    return document


def _judge_files(before: LoadedSuite, after: LoadedSuite) -> list[SettingChange]:
    """Files of judges that both sides have; those of a judge that came or went are told with it."""
    from releasecheck.judges import judge_files

    old = {judge.id: judge for judge in before.suite.judges}
    found: list[SettingChange] = []
    for judge in after.suite.judges:
        if judge.id not in old or not isinstance(judge, PythonJudge | CommandJudge):
            continue
        there = judge_files(old[judge.id], before.policy_root)
        here = judge_files(judge, after.policy_root)
        found += file_changes(f"judge {judge.id}", there, here)
    return found


def _baseline_changes(before: LoadedSuite, after: LoadedSuite) -> list[SettingChange]:
    """Files of the baseline, and of the anchor where either side names one."""
    rules, own = before.suite.baseline, after.suite.baseline
    found = file_changes(
        "baseline", _baseline_files(before, rules.path), _baseline_files(after, own.path)
    )
    return found + file_changes(
        "anchor", _baseline_files(before, rules.anchor), _baseline_files(after, own.anchor)
    )


def _baseline_files(loaded: LoadedSuite, below: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    if below is None:
        return found
    folder = loaded.policy_root / below
    for name in (*FILES, PROMOTION):
        try:
            if (folder / name).is_file():
                found[name] = file_digest(folder / name)
        except (ReleaseCheckError, OSError) as error:
            found[name] = f"cannot be read ({type(error).__name__})"
    return found
