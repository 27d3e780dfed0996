"""The inputs of `action.yml`, which reach the program as variables and nowhere else (trap 19)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar, get_args

from releasecheck.drivers.github.errors import quoted
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.base import parse_duration

if TYPE_CHECKING:
    from collections.abc import Mapping

Stage: TypeAlias = Literal["plan", "shard", "finish", "publish", "beat"]
STAGES: Final = get_args(Stage)
Mode: TypeAlias = Literal["full", "preview", "delta"]
Rules: TypeAlias = Literal["base", "head"]
JudgesAsked: TypeAlias = Literal["all", "none", "only"]
_MODES: Final[tuple[Mode, ...]] = ("full", "preview", "delta")
_RULES: Final[tuple[Rules, ...]] = ("base", "head")
_JUDGES: Final[tuple[JudgesAsked, ...]] = ("all", "none", "only")
W = TypeVar("W", bound=str)
D = TypeVar("D")
PREFIX: Final = "RC_"
"""Of the variables that `action.yml` sets."""
_YES_NO: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a workflow asks of a stage; None and empty where it left an input out."""

    config: str
    profile: str | None
    working_directory: str
    """As the workflow names it: where it leads is for the checkout to say."""
    shards: int | Literal["auto"] | None
    index: int | None
    mode: Mode | None
    ids: tuple[str, ...] | None
    baseline: str
    """`auto`, `none`, or a path."""
    baseline_branch: str | None
    policy: Rules
    judges: JudgesAsked
    adopt_run: int | None
    """The workflow run whose plan and outputs are taken as data (fork-safe pair)."""
    wait: bool
    plan_artifact: str | None
    plan_result: str | None
    """What `needs.plan.result` said, where the workflow tells it."""
    scorecard_artifact: str | None
    comment: bool
    comment_author: str | None
    """Login whose comment is ours, for tokens of apps, which cannot be asked who they are."""
    badge_branch: str | None
    attest: bool
    status: bool
    pull_request: int | None
    time_budget_s: float | None
    approved_by: str | None
    python_extras: str | None
    plan_digest: str | None
    """As the plan job told it; None where the workflow does not pass it on."""
    workflows: tuple[str, ...]
    """For the beat: workflow files."""


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Every input, checked.

    Raises:
        ConfigError: naming each input that cannot be what it is.
    """
    reader = _Reader(environment)
    found = Inputs(
        config=reader.text("config") or "releasecheck.yaml",
        profile=reader.text("profile"),
        working_directory=reader.text("working-directory") or ".",
        shards=reader.shards(),
        index=reader.whole("index", 0, 255),
        mode=reader.one_of("mode", _MODES, None),
        ids=reader.items("ids"),
        baseline=reader.text("baseline") or "auto",
        baseline_branch=reader.text("baseline-branch"),
        policy=reader.one_of("policy", _RULES, _RULES[0]),
        judges=reader.one_of("judges", _JUDGES, _JUDGES[0]),
        adopt_run=reader.whole("adopt-run", 1, 2**53 - 1),
        wait=reader.yes_no("wait", default=True),
        plan_artifact=reader.text("plan-artifact"),
        plan_result=reader.text("plan-result"),
        scorecard_artifact=reader.text("scorecard-artifact"),
        comment=reader.yes_no("comment", default=True),
        comment_author=reader.text("comment-author"),
        badge_branch=reader.text("badge-branch"),
        attest=reader.yes_no("attest", default=False),
        status=reader.yes_no("status", default=False),
        pull_request=reader.whole("pull-request", 1, 2**53 - 1),
        time_budget_s=reader.seconds("time-budget"),
        approved_by=reader.text("approved-by"),
        python_extras=reader.text("python-extras"),
        plan_digest=reader.text("plan-digest"),
        workflows=reader.items("workflows") or (),
    )
    if reader.problems:
        raise ConfigError(reader.problems)
    return found


class _Reader:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.problems: list[Problem] = []

    def text(self, name: str) -> str | None:
        value = self._environment.get(PREFIX + name.upper().replace("-", "_"), "").strip()
        return value or None

    def items(self, name: str) -> tuple[str, ...] | None:
        value = self.text(name)
        if value is None:
            return None
        return tuple(part.strip() for part in re.split(r"[,\n]", value) if part.strip())

    def one_of(self, name: str, allowed: tuple[W, ...], default: D) -> W | D:
        value = self.text(name)
        if value is None:
            return default
        for word in allowed:
            if value == word:
                return word
        self._wrong(name, value, " or ".join(allowed))
        return default

    def yes_no(self, name: str, *, default: bool) -> bool:
        # Inputs are texts: 'false' would be true to everybody who forgets it.
        value = self.text(name)
        if value is None:
            return default
        if value not in _YES_NO:
            self._wrong(name, value, "true or false")
        return _YES_NO.get(value, default)

    def whole(self, name: str, least: int, most: int) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not re.fullmatch(r"[0-9]{1,16}", value) or not least <= int(value) <= most:
            self._wrong(name, value, f"a whole number from {least} to {most}")
            return None
        return int(value)

    def shards(self) -> int | Literal["auto"] | None:
        if self.text("shards") == "auto":
            return "auto"
        return self.whole("shards", 1, 256)

    def seconds(self, name: str) -> float | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return parse_duration(value)
        except ValueError as error:
            self.problems.append(Problem(str(error), key=name))
            return None

    def _wrong(self, name: str, value: str, expected: str) -> None:
        message = f"the input {name} is {quoted(value, 80)!r}; expected {expected}"
        self.problems.append(Problem(message, key=name))
