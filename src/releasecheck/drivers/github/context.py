"""What a job of GitHub Actions is told about itself: its environment and the event that started it.

Whoever opens a pull request chooses the names of branches, tags and people in here. Digests, numbers and
names of repositories are checked for their shape; everything else is an `ForeignText`, which shows
itself escaped and gives its exact characters only to those who ask for them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from typing_extensions import override

from releasecheck.canonical import Json, JsonProblem, parse_json
from releasecheck.errors import ConfigError, EnvironmentMissing, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_EVENT: Final = 32 * 2**20
"""Bytes of an event file that are read."""
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}")
_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9.:\[\]-]+(/[A-Za-z0-9._~/-]*)?")
_WORKFLOW_PATH: Final = re.compile(r"\.github/workflows/[^/\x00-\x1f\\]{1,200}\.ya?ml")
_NO_REF: Final = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$")
_PLAIN: Final = re.compile(r"[^A-Za-z0-9._/#@+=-]")
ON_BRANCH: Final = frozenset({"push", "schedule", "workflow_dispatch", "repository_dispatch"})
"""Events whose ref is the branch they are about. Others, such as pull_request_target and workflow_run,
name the default branch while they are about somebody else's commit."""


@dataclass(frozen=True, slots=True)
class ForeignText:
    """A text that somebody else chose."""

    raw: str
    """Exactly as it came: for requests (percent-encoded) and comparisons, never for showing."""

    @override
    def __str__(self) -> str:
        """Safe to show anywhere: other characters than those of plain names as %XX, bounded."""
        data = self.raw[:200].encode("utf-8", "surrogatepass")
        shown = _PLAIN.sub(lambda m: f"%{ord(m[0]):02X}", data.decode("latin-1"))
        return shown if len(self.raw) <= 200 else shown + "..."


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """`pull_request` and `pull_request_target`."""

    number: int
    action: str
    """As the event names it, such as `opened`; empty when it names none."""
    base_sha: str
    base_ref: ForeignText
    """The branch, without refs/heads/."""
    head_sha: str
    head_ref: ForeignText
    head_repository: str | None
    """None when the fork was deleted."""
    head_repository_id: int | None
    fork: bool
    """The head is in another repository, or in one that is gone."""
    draft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """`merge_group`: a merge queue's own commit."""

    base_sha: str
    base_ref: ForeignText
    head_sha: str
    head_ref: ForeignText


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterRun:
    """`workflow_run`: about another run, which may be a fork's."""

    id: int
    attempt: int
    event: str
    conclusion: str | None
    head_sha: str
    head_branch: ForeignText | None
    head_repository: str | None
    head_repository_id: int | None
    fork: bool
    pull_requests: tuple[int, ...]
    """Numbers; GitHub leaves them empty for forks."""
    workflow_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """`release`."""

    id: int
    tag: ForeignText
    action: str
    prerelease: bool
    draft: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """Every other event: about the commit of the job itself."""


Subject: TypeAlias = PullRequest | MergeGroup | AfterRun | Release | Commit


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubContext:
    """One job's place in the world; made by `read_context`."""

    server_url: str
    """Without slash at its end, as `api_url`."""
    api_url: str
    repository: str
    """`owner/name`."""
    repository_id: int | None
    """None where neither environment nor event names it."""
    run_id: int
    run_attempt: int
    run_number: int
    event: str
    workflow: ForeignText
    """The caller's name, in a reusable workflow too."""
    workflow_ref: ForeignText | None
    """`owner/name/.github/workflows/file.yml@ref`."""
    workflow_path: str | None
    """`.github/workflows/file.yml`."""
    sha: str
    ref: ForeignText
    ref_name: ForeignText
    default_branch: ForeignText | None
    """None where the event names none."""
    actor: ForeignText
    triggering_actor: ForeignText
    workspace: Path
    runner_temp: Path
    subject: Subject

    @property
    def pull_request(self) -> int | None:
        """The number of the pull request, where the event is certain about it."""
        match self.subject:
            case PullRequest(number=number):
                return number
            case AfterRun(pull_requests=(number,)):
                return number
            case _:
                return None

    @property
    def base_sha(self) -> str | None:
        """The commit that pull requests and merge groups are compared with; none for other events."""
        return self.subject.base_sha if isinstance(self.subject, PullRequest | MergeGroup) else None

    @property
    def base_ref(self) -> ForeignText | None:
        """The branch of `base_sha`, without refs/heads/."""
        return self.subject.base_ref if isinstance(self.subject, PullRequest | MergeGroup) else None

    @property
    def head_sha(self) -> str:
        """The commit a status belongs to: the head of the change, or the job's own commit."""
        match self.subject:
            case PullRequest(head_sha=sha) | MergeGroup(head_sha=sha) | AfterRun(head_sha=sha):
                return sha
            case Release() | Commit():
                return self.sha

    @property
    def head_repository(self) -> str | None:
        """Where the head comes from; None when that repository is gone."""
        if isinstance(self.subject, PullRequest | AfterRun):
            return self.subject.head_repository
        return self.repository

    @property
    def is_fork(self) -> bool:
        """Whether the head comes from another repository (trap 28)."""
        return isinstance(self.subject, PullRequest | AfterRun) and self.subject.fork

    @property
    def on_default_branch(self) -> bool:
        """Whether the job is about a commit of the default branch itself; False where it is not known."""
        return (
            self.event in ON_BRANCH
            and self.default_branch is not None
            and self.ref.raw == f"refs/heads/{self.default_branch.raw}"
        )

    @property
    def release_tag(self) -> ForeignText | None:
        """The tag of a release event."""
        return self.subject.tag if isinstance(self.subject, Release) else None

    @property
    def run_url(self) -> str:
        """The page of this attempt."""
        return (
            f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"
            f"/attempts/{self.run_attempt}"
        )


NEEDED: Final = (
    "GITHUB_REPOSITORY", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_EVENT_NAME",
    "GITHUB_EVENT_PATH", "GITHUB_SHA", "GITHUB_REF", "GITHUB_WORKSPACE", "RUNNER_TEMP",
)  # fmt: skip
"""Variables that every job has."""


def read_context(environment: Mapping[str, str]) -> GitHubContext:
    """Read the environment of a job, and the event file that it names.

    Raises:
        EnvironmentMissing: this is no job of GitHub Actions, or a variable was emptied.
        ConfigError: a variable or the event file holds something else than GitHub writes.
    """
    unset = [name for name in NEEDED if name not in environment]
    empty = [name for name in NEEDED if environment.get(name) == ""]
    if unset or empty:
        hint = "These are set in every job of GitHub Actions; this command works only there."
        raise EnvironmentMissing(unset, empty, hint)
    told = _Environment(environment)
    event = environment["GITHUB_EVENT_NAME"]
    path = Path(environment["GITHUB_EVENT_PATH"])
    fields = _Fields(path, _event(path))
    repository = told.matching("GITHUB_REPOSITORY", _REPOSITORY, "owner/name")
    repository_id = told.number("GITHUB_REPOSITORY_ID") or fields.number(
        "repository.id", needed=False
    )
    ref = told.ref("GITHUB_REF")
    ref_name = ForeignText(environment.get("GITHUB_REF_NAME") or _short(ref.raw))
    default = fields.ref("repository.default_branch", needed=False)
    # The event of a schedule says nothing, and its ref is the default branch by definition.
    if default is None and event == "schedule" and ref.raw.startswith("refs/heads/"):
        default = ForeignText(_short(ref.raw))
    workflow_ref = environment.get("GITHUB_WORKFLOW_REF", "")
    return GitHubContext(
        server_url=told.address("GITHUB_SERVER_URL", "https://github.com"),
        api_url=told.address("GITHUB_API_URL", "https://api.github.com"),
        repository=repository,
        repository_id=repository_id,
        run_id=told.needed_number("GITHUB_RUN_ID"),
        run_attempt=told.needed_number("GITHUB_RUN_ATTEMPT"),
        run_number=told.number("GITHUB_RUN_NUMBER") or 1,
        event=told.matching("GITHUB_EVENT_NAME", re.compile("[a-z_]{1,60}"), "an event"),
        workflow=ForeignText(environment.get("GITHUB_WORKFLOW", "")),
        workflow_ref=ForeignText(workflow_ref) if workflow_ref else None,
        workflow_path=_workflow_path(workflow_ref, repository),
        sha=told.matching("GITHUB_SHA", _SHA, "the 40 hex digits of a commit"),
        ref=ref,
        ref_name=ref_name,
        default_branch=default,
        actor=ForeignText(environment.get("GITHUB_ACTOR", "")),
        triggering_actor=ForeignText(
            environment.get("GITHUB_TRIGGERING_ACTOR") or environment.get("GITHUB_ACTOR", "")
        ),
        workspace=Path(environment["GITHUB_WORKSPACE"]),
        runner_temp=Path(environment["RUNNER_TEMP"]),
        subject=_subject(event, fields, repository, repository_id),
    )


def _short(ref: str) -> str:
    for start in ("refs/heads/", "refs/tags/", "refs/pull/", "refs/"):
        if ref.startswith(start):
            return ref.removeprefix(start)
    return ref


def _workflow_path(workflow_ref: str, repository: str) -> str | None:
    path, _, _ = workflow_ref.removeprefix(repository + "/").partition("@")
    return path if _WORKFLOW_PATH.fullmatch(path) else None


def _event(path: Path) -> Json:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_EVENT + 1)
    except OSError as error:
        message = f"the event file cannot be read: {error.strerror}; GitHub writes it for every job"
        raise ConfigError([Problem(message, path=str(path))]) from None
    if len(data) > LARGEST_EVENT:
        message = f"the event file has more than {LARGEST_EVENT} bytes"
        raise ConfigError([Problem(message, path=str(path))])
    try:
        event = parse_json(data)
    except JsonProblem as error:
        message = f"the event file is no JSON: {error.message}"
        raise ConfigError(
            [Problem(message, path=str(path), line=error.line, column=error.column)]
        ) from None
    if not isinstance(event, dict):
        message = f"the event file holds {_kind(event)}; expected an object"
        raise ConfigError([Problem(message, path=str(path))])
    return event


def _kind(value: Json) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    names = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return names.get(type(value), "something else")


@dataclass(frozen=True, slots=True)
class _Environment:
    """Reads variables by the shape they must have."""

    values: Mapping[str, str]

    def matching(
        self, name: str, pattern: re.Pattern[str], expected: str, default: str = ""
    ) -> str:
        value = self.values.get(name) or default
        if not pattern.fullmatch(value):
            message = f"{name} is {value[:100]!r}; expected {expected}"
            raise ConfigError([Problem(message)])
        return value

    def address(self, name: str, default: str) -> str:
        return self.matching(name, _ADDRESS, "an address, https://host", default).rstrip("/")

    def ref(self, name: str) -> ForeignText:
        value = self.values.get(name, "")
        if _NO_REF.search(value) or len(value) > 1000:
            message = f"{name} is {value[:100]!r}; expected a git reference"
            raise ConfigError([Problem(message)])
        return ForeignText(value)

    def number(self, name: str) -> int | None:
        return self.needed_number(name) if self.values.get(name) else None

    def needed_number(self, name: str) -> int:
        return int(self.matching(name, re.compile("[1-9][0-9]{0,17}"), "a positive number"))


@dataclass(frozen=True, slots=True)
class _Fields:
    """Reads places of the event by the shape they must have."""

    path: Path
    event: Json

    def find(self, place: str) -> Json:
        value = self.event
        for key in place.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def wrong(self, place: str, expected: str) -> ConfigError:
        value = self.find(place)
        found = "nothing" if value is None else _kind(value)
        if isinstance(value, str):
            found = repr(value[:80])
        message = f"the event holds {found} here; expected {expected}"
        return ConfigError([Problem(message, path=str(self.path), key=place)])

    def number(self, place: str, *, needed: bool = True) -> int | None:
        value = self.find(place)
        if value is None and not needed:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.wrong(place, "a positive number")
        return value

    def needed_number(self, place: str) -> int:
        value = self.number(place)
        assert value is not None  # noqa: S101 - for the type checker: `needed` is the default
        return value

    def sha(self, place: str) -> str:
        value = self.find(place)
        if not isinstance(value, str) or not _SHA.fullmatch(value):
            raise self.wrong(place, "the 40 hex digits of a commit")
        return value

    def ref(self, place: str, *, needed: bool = True) -> ForeignText | None:
        value = self.find(place)
        if value is None and not needed:
            return None
        if not isinstance(value, str) or not value or _NO_REF.search(value) or len(value) > 1000:
            raise self.wrong(place, "the name of a branch or tag")
        return ForeignText(value)

    def needed_ref(self, place: str) -> ForeignText:
        return self.ref(place) or ForeignText("")

    def repository(self, place: str) -> str | None:
        value = self.find(place)
        if value is None:
            return None
        if not isinstance(value, str) or not _REPOSITORY.fullmatch(value):
            raise self.wrong(place, "owner/name")
        return value

    def word(self, place: str) -> str:
        value = self.find(place)
        if value is None:
            return ""
        if not isinstance(value, str) or not re.fullmatch("[a-z_]{0,60}", value):
            raise self.wrong(place, "a word in lower case")
        return value

    def flag(self, place: str) -> bool:
        return self.find(place) is True


def _subject(event: str, fields: _Fields, repository: str, repository_id: int | None) -> Subject:
    match event:
        case "pull_request" | "pull_request_target":
            return _pull_request(fields, repository, repository_id)
        case "merge_group":
            return MergeGroup(
                base_sha=fields.sha("merge_group.base_sha"),
                base_ref=_branch(fields.needed_ref("merge_group.base_ref")),
                head_sha=fields.sha("merge_group.head_sha"),
                head_ref=_branch(fields.needed_ref("merge_group.head_ref")),
            )
        case "workflow_run":
            return _after_run(fields, repository, repository_id)
        case "release":
            return Release(
                id=fields.needed_number("release.id"),
                tag=fields.needed_ref("release.tag_name"),
                action=fields.word("action"),
                prerelease=fields.flag("release.prerelease"),
                draft=fields.flag("release.draft"),
            )
        case _:
            return Commit()


def _branch(ref: ForeignText) -> ForeignText:
    return ForeignText(ref.raw.removeprefix("refs/heads/"))


def _is_fork(
    name: str | None, number: int | None, repository: str, repository_id: int | None
) -> bool:
    # A repository can be renamed while a run waits; its id stays.
    if number is not None and repository_id is not None:
        return number != repository_id
    return name is None or name.lower() != repository.lower()


def _pull_request(fields: _Fields, repository: str, repository_id: int | None) -> PullRequest:
    name = fields.repository("pull_request.head.repo.full_name")
    number = fields.number("pull_request.head.repo.id", needed=False)
    return PullRequest(
        number=fields.needed_number("pull_request.number"),
        action=fields.word("action"),
        base_sha=fields.sha("pull_request.base.sha"),
        base_ref=fields.needed_ref("pull_request.base.ref"),
        head_sha=fields.sha("pull_request.head.sha"),
        head_ref=fields.needed_ref("pull_request.head.ref"),
        head_repository=name,
        head_repository_id=number,
        fork=_is_fork(name, number, repository, repository_id),
        draft=fields.flag("pull_request.draft"),
    )


def _after_run(fields: _Fields, repository: str, repository_id: int | None) -> AfterRun:
    name = fields.repository("workflow_run.head_repository.full_name")
    number = fields.number("workflow_run.head_repository.id", needed=False)
    listed = fields.find("workflow_run.pull_requests")
    numbers = [
        one["number"]
        for one in (listed if isinstance(listed, list) else [])
        if isinstance(one, dict) and type(one.get("number")) is int
    ]
    path = fields.find("workflow_run.path")
    file = path.partition("@")[0] if isinstance(path, str) else ""
    return AfterRun(
        id=fields.needed_number("workflow_run.id"),
        attempt=fields.number("workflow_run.run_attempt", needed=False) or 1,
        event=fields.word("workflow_run.event"),
        conclusion=fields.word("workflow_run.conclusion") or None,
        head_sha=fields.sha("workflow_run.head_sha"),
        head_branch=fields.ref("workflow_run.head_branch", needed=False),
        head_repository=name,
        head_repository_id=number,
        fork=_is_fork(name, number, repository, repository_id),
        pull_requests=tuple(numbers),
        workflow_path=file if _WORKFLOW_PATH.fullmatch(file) else None,
    )
