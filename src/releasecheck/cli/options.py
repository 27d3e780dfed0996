"""Options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from typing_extensions import override

from releasecheck.errors import UsageError
from releasecheck.model.base import parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.drivers.local.run import RunOptions
    from releasecheck.model.plan import Mode
    from releasecheck.pipeline.freezing import PlanRequest
    from releasecheck.pipeline.policy import PolicySource

F = TypeVar("F", bound="Callable[..., Any]")


class Duration(click.ParamType[float]):
    """`60s`, `5m`, `1h30m`, or a number of seconds."""

    name = "duration"

    @override
    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Seconds."""
        try:
            return parse_duration(float(value) if _is_number(value) else value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _is_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


class Shards(click.ParamType[int | Literal["auto"]]):
    """A number of shards, or `auto`."""

    name = "N|auto"

    @override
    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int | Literal["auto"]:
        """A whole number from 1 to 256, or `auto`."""
        if value == "auto":
            return "auto"
        if isinstance(value, int):
            return value
        text = str(value)
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 256:
            self.fail(f"expected auto or a whole number from 1 to 256, found {text!r}", param, ctx)
        return int(text)


FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """Options of `plan` and `run`, as given."""

    config: Path
    profile: str | None
    shards: int | Literal["auto"] | None
    mode: Mode | None
    preview: int | None
    ids: str | None
    ids_file: Path | None
    changed_since: str | None
    baseline: str | None
    policy: Path | None
    adopt: Path | None
    history: Path | None
    seed: int

    def request(self) -> PlanRequest:
        """What the pipeline is asked for, with what git and the environment add.

        Raises:
            UsageError: options contradict each other or name what is not there.
        """
        from releasecheck.cli.output import note
        from releasecheck.drivers.local.git import changed_since, git_state
        from releasecheck.drivers.local.world import ci_context, unique_run
        from releasecheck.pipeline.freezing import PlanRequest

        mode = self.mode
        if self.preview is not None and mode is None and self.changed_since is None:
            mode = "preview"
        changed = None
        if self.changed_since is not None:
            changed = changed_since(self.config, self.profile, self.changed_since, note)
        return PlanRequest(
            config=self.config,
            profile=self.profile,
            shards=self.shards,
            mode=mode,
            preview=10 if self.preview is None else self.preview,
            ids=self._ids(),
            changed=changed,
            baseline=self._baseline(),
            seed=self.seed,
            unique=unique_run(),
            git=git_state(self.config.resolve().parent),
            context=ci_context(),
            policy=policy_source(self.policy),
            history=self.history,
            adopt=self.adopt,
        )

    def _ids(self) -> tuple[str, ...] | None:
        if self.ids is not None and self.ids_file is not None:
            message = "give the ids with --ids or with --ids-file, not with both"
            raise UsageError(message)
        if self.ids is not None:
            return tuple(self.ids.split(","))
        if self.ids_file is not None:
            from releasecheck.config.text import read_text

            lines = read_text(self.ids_file).splitlines()
            return tuple(line for line in lines if line.strip())
        return None

    def _baseline(self) -> Path | Literal["none"] | None:
        if self.baseline is None or self.baseline == "none":
            return "none" if self.baseline else None
        return Path(self.baseline)


def policy_source(policy: Path | None) -> PolicySource | None:
    """The config that the rules come from, with the commit that its folder is at."""
    if policy is None:
        return None
    from releasecheck.drivers.local.git import commit_of
    from releasecheck.pipeline.policy import PolicySource

    return PolicySource(policy, commit_of(policy.resolve().parent))


def plan_options(command: F) -> F:
    """The options of `plan`, which `run` takes too."""
    return _with(
        command,
        click.argument("config", type=EXISTING),
        click.option("--profile", help="Overlay of the config to use."),
        click.option("--shards", type=Shards(), help="Number of shards, 1 to 256, or auto."),
        click.option(
            "--mode",
            type=click.Choice(["full", "preview", "delta"]),
            help="All cases, a sample, or those chosen by id or change; by default as they are chosen.",
        ),
        click.option("--preview", type=int, help="Size of the sample of a preview (10)."),
        click.option("--ids", help="Only these cases, comma-separated."),
        click.option(
            "--ids-file", type=EXISTING, help="Only the cases of this file, one id a line."
        ),
        click.option("--changed-since", metavar="REF", help="Only cases changed since a git ref."),
        click.option("--baseline", metavar="DIR|none", help="Compare with this baseline."),
        policy_option,
        click.option(
            "--adopt",
            type=FOLDER,
            metavar="DIR",
            help="Take cases, shards and run id from this untrusted plan, as data.",
        ),
        click.option(
            "--history",
            type=FOLDER,
            metavar="DIR",
            help="Draw the trend over the latest runs in this folder; it decides nothing.",
        ),
        click.option("--seed", type=int, default=0, show_default=True, help="Of samples."),
    )


policy_option = click.option(
    "--policy",
    type=EXISTING,
    metavar="CONFIG",
    help="Take all but cases, expect_cases and target from this config.",
)
policy_root_option = click.option(
    "--policy-root",
    type=FOLDER,
    metavar="DIR",
    help="Folder of the config that judges and gates came from; by default where `plan` found it.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@dataclass(frozen=True, slots=True)
class CarryOptions:
    """Options of `run` and `resume`, as given."""

    repair: int
    close: bool
    time_budget: float | None
    no_wait: bool
    approved_by: str | None

    def options(self) -> RunOptions:
        """What the driver is told."""
        from releasecheck.drivers.local.run import RunOptions

        return RunOptions(
            self.close, self.repair, self.approved_by, self.time_budget, wait=not self.no_wait
        )


def carry_options(command: F) -> F:
    """The options of `run` that `resume` takes too."""
    return _with(
        command,
        click.option(
            "--repair",
            type=click.IntRange(0),
            default=0,
            help="Ask missing trials again, at most N.",
        ),
        click.option("--final", "close", is_flag=True, help="Decide for good on what is there."),
        click.option(
            "--time-budget",
            type=Duration(),
            help="Stop between batches, or waiting, after this long.",
        ),
        click.option(
            "--no-wait",
            is_flag=True,
            help="Ask judges that answer later once, and do not wait for them.",
        ),
        approval_option,
    )


approval_option = click.option(
    "--approved-by", help="Who approved calling a target with irreversible effects."
)


def _with(command: F, *decorators: Callable[[F], F]) -> F:
    for decorator in reversed(decorators):
        command = decorator(command)
    return command
