"""One GitHub in memory, served on loopback: REST interface, uploads, artifact service and its storage.

It imitates what hurts: names of artifacts unique per attempt, ids that do not grow with time, names
reserved by a failed upload, storage on another host that must not see the token, pages, limits, answers
lost on the way. Tests feed it through `Repository` and `Run` and read its `journal`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import secrets
import socket
import ssl
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, Self, TypeAlias
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from typing_extensions import override

Json: TypeAlias = Any
TOKEN: Final = "ghs_" + "fake" * 9
BOT: Final = {"login": "github-actions[bot]", "id": 41898282, "type": "Bot"}
TWIRP: Final = "/twirp/github.actions.results.api.v1.ArtifactService/"
LONGEST_COMMENT: Final = 65_536
RERUN_DAYS: Final = 30
MOST_RERUNS: Final = 50
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def utc_now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)  # noqa: TID251 - the fake stands outside of the program


def stamp(moment: datetime) -> str:
    """As GitHub writes a moment."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """A zip archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def sha1(*parts: object) -> str:
    """40 hex digits that stand for these parts."""
    return hashlib.sha1("\0".join(map(str, parts)).encode()).hexdigest()  # noqa: S324


class Refuse(Exception):
    """GitHub says no."""

    def __init__(self, status: int, message: str, errors: list[Json] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.errors = status, message, errors


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    method: str
    path: str
    """Without query, not decoded."""
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    place: str
    """`api` or `blob`."""
    status: int
    """What was answered; 0 for a dropped connection."""

    @property
    def authorized(self) -> bool:
        """Whether it carried a token."""
        return "authorization" in self.headers

    def json(self) -> Json:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Answer:
    """What is sent back."""

    status: int = 200
    body: Json = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """A request on its way to its route."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    data: bytes

    @property
    def body(self) -> dict[str, Json]:
        """The body as a JSON object."""
        value = json.loads(self.data or b"{}")
        if not isinstance(value, dict):
            raise Refuse(400, "Body should be a JSON object")
        return value


@dataclass
class Failure:
    """A scripted failure."""

    method: str
    path: re.Pattern[str]
    status: int
    headers: dict[str, str]
    body: Json
    times: int
    after: bool
    """Do what was asked first, and lose the answer."""


@dataclass
class Job:
    """One job of one attempt."""

    id: int
    name: str
    attempt: int
    status: str = "completed"
    conclusion: str | None = "success"
    started_at: str | None = None
    completed_at: str | None = None


@dataclass
class Stored:
    """One artifact."""

    id: int
    name: str
    attempt: int
    created_at: str
    data: bytes = b""
    expired: bool = False
    digest: str | None = None
    finalized: bool = True
    hidden: bool = False
    """Of an attempt before all jobs were run again."""
    zipped: bool = True
    blocks: dict[str, bytes] = field(default_factory=dict)
    uploaded: bool = True


@dataclass
class Commit:
    """One commit."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    message: str
    date: str


@dataclass
class Comment:
    """A comment of an issue or pull request."""

    id: int
    issue: int
    body: str
    user: dict[str, Json]
    created_at: str
    updated_at: str


@dataclass
class Pull:
    """A pull request."""

    number: int
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str = "main"
    head_repository: str | None = None
    state: str = "open"
    merged: bool = False
    locked: bool = False
    draft: bool = False
    files: tuple[str, ...] = ()


@dataclass
class Asset:
    """A file of a release."""

    id: int
    name: str
    data: bytes
    content_type: str
    state: str = "uploaded"


@dataclass
class Release:
    """A release."""

    id: int
    tag: str
    draft: bool
    prerelease: bool
    created_at: str
    target: str
    assets: list[Asset] = field(default_factory=list)


@dataclass
class Workflow:
    """A workflow file."""

    id: int
    path: str
    name: str
    state: str = "active"
    """Or `disabled_inactivity`, `disabled_manually`."""
    created_at: str | None = None
    """Also when it was last changed; None: GitHub tells neither."""
    dispatched: list[dict[str, Json]] = field(default_factory=list)


class Run:
    """One run of a workflow."""

    def __init__(self, repository: Repository, **given: Any) -> None:
        self.repository = repository
        self.id: int = given["id"]
        self.path: str = given["path"]
        self.event: str = given["event"]
        self.head_sha: str = given["head_sha"]
        self.head_branch: str | None = given["head_branch"]
        self.head_repository: str = given["head_repository"]
        self.attempt: int = given["attempt"]
        self.status: str = given["status"]
        self.conclusion: str | None = given["conclusion"]
        self.created_at: datetime = given["created_at"]
        self.pull_requests: tuple[int, ...] = given["pull_requests"]
        self.number = self.id % 10_000
        self.jobs: list[Job] = []
        self.artifacts: list[Stored] = []
        self.reruns: list[str] = []
        """`failed` or `all`, in order."""
        self.actors: dict[int, str] = {}
        """Who started an attempt, where it was not octocat."""
        self.started: dict[int, datetime] = {}
        """When a later attempt started."""
        self.on_rerun: Callable[[Run], None] | None = None

    def add_job(
        self,
        name: str,
        conclusion: str | None = "success",
        *,
        status: str = "completed",
        attempt: int | None = None,
        started_at: datetime | None = None,
    ) -> Job:
        """A job of one attempt; the current one unless it is named."""
        begun = stamp(started_at or self.created_at)
        number = attempt or self.attempt
        job = Job(self.repository.fake.next_id(), name, number, status, conclusion, begun)
        job.completed_at = begun if status == "completed" else None
        self.jobs.append(job)
        return job

    def add_artifact(
        self,
        name: str,
        files: Mapping[str, bytes | str] | bytes,
        *,
        attempt: int | None = None,
        expired: bool = False,
        id: int | None = None,
        digest: str | None = "",
        created_at: datetime | None = None,
    ) -> Stored:
        """An artifact of one attempt; bytes are taken as they are.

        Without `digest` it is that of the bytes; None stands for a server that tells none.
        """
        data = files if isinstance(files, bytes) else zipped(files)
        one = Stored(
            id=id or self.repository.fake.next_id(),
            name=name,
            attempt=attempt or self.attempt,
            created_at=stamp(created_at or self.repository.fake.now()),
            data=data,
            expired=expired,
            digest="sha256:" + hashlib.sha256(data).hexdigest() if digest == "" else digest,
            zipped=not isinstance(files, bytes) or data.startswith(b"PK"),
        )
        self.artifacts.append(one)
        return one

    def finish(self, conclusion: str) -> None:
        """The current attempt is over."""
        self.status, self.conclusion = "completed", conclusion

    def rerun(self, which: str) -> None:
        """Start the next attempt, as the re-run endpoints do."""
        if self.status != "completed":
            raise Refuse(403, f"The workflow run {self.id} is already running")
        if self.repository.fake.now() - self.created_at > timedelta(days=RERUN_DAYS):
            raise Refuse(
                403, "Unable to retry this workflow run because it was created over a month ago"
            )
        if self.attempt > MOST_RERUNS:
            raise Refuse(
                403, "This workflow run has been retried 50 times and cannot be retried again"
            )
        before = [job for job in self.jobs if job.attempt == self.attempt]
        if which == "failed" and all(job.conclusion in ("success", "skipped") for job in before):
            raise Refuse(403, "This workflow run has no failed jobs to retry")
        if which == "all":
            for one in self.artifacts:
                one.hidden = True
        self.attempt += 1
        self.started[self.attempt] = self.repository.fake.now()
        self.status, self.conclusion = "queued", None
        for job in before:
            kept = which == "failed" and job.conclusion == "success"
            self.add_job(
                job.name, job.conclusion if kept else None, status="completed" if kept else "queued"
            )
        self.reruns.append(which)
        if self.on_rerun is not None:
            self.on_rerun(self)

    def show(self, attempt: int | None = None) -> Json:
        """As GitHub tells of it."""
        fake, home = self.repository.fake, self.repository
        head = fake.repositories.get(self.head_repository)
        current = attempt in (None, self.attempt)
        url = f"{home.api}/actions/runs/{self.id}"
        workflow = home.workflow(self.path)
        jobs = [job for job in self.jobs if job.attempt == attempt]
        failed = any(job.conclusion not in ("success", "skipped") for job in jobs)
        past = "failure" if failed else "success"
        return {
            "id": self.id,
            "name": workflow.name,
            "path": self.path,
            "workflow_id": workflow.id,
            "head_sha": self.head_sha,
            "head_branch": self.head_branch,
            "event": self.event,
            "status": self.status if current else "completed",
            "conclusion": self.conclusion if current else past,
            "run_number": self.number,
            "run_attempt": attempt or self.attempt,
            "created_at": stamp(self.created_at),
            "run_started_at": stamp(self.started.get(attempt or self.attempt, self.created_at)),
            "updated_at": stamp(self.created_at),
            "actor": {"login": "octocat"},
            "triggering_actor": {"login": self.actors.get(attempt or self.attempt, "octocat")},
            "pull_requests": [{"number": number} for number in self.pull_requests],
            "repository": home.small(),
            "head_repository": head.small() if head else None,
            "url": url,
            "html_url": f"{fake.server_url}/{home.name}/actions/runs/{self.id}",
            "jobs_url": f"{url}/jobs",
            "artifacts_url": f"{url}/artifacts",
            "rerun_url": f"{url}/rerun",
        }


class Repository:
    """One repository."""

    def __init__(self, fake: FakeGitHub, name: str, number: int) -> None:
        self.fake, self.name, self.id = fake, name, number
        self.default_branch = "main"
        self.private = False
        self.runs: dict[int, Run] = {}
        self.workflows: list[Workflow] = []
        self.commits: dict[str, Commit] = {}
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, tuple[str, str]]] = {EMPTY_TREE: {}}
        """By digest: mode and blob by path, over all folders."""
        self.refs: dict[str, str] = {}
        """Commits by name, such as `heads/main`."""
        self.pulls: dict[int, Pull] = {}
        self.comments: list[Comment] = []
        self.releases: list[Release] = []
        self.statuses: list[dict[str, Json]] = []
        """Oldest first."""

    @property
    def api(self) -> str:
        """Where it is in the interface."""
        return f"{self.fake.api_url}/repos/{self.name}"

    def small(self) -> Json:
        """As GitHub tells of it inside other things."""
        return {"id": self.id, "full_name": self.name, "private": self.private, "fork": False}

    def workflow(self, path: str) -> Workflow:
        """The workflow of this path; made when it is not there."""
        for one in self.workflows:
            if one.path == path:
                return one
        made = Workflow(self.fake.next_id(), path, Path(path).stem)
        self.workflows.append(made)
        return made

    def commit(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        parents: Iterable[str] = (),
        branch: str | None = None,
        message: str = "change",
    ) -> str:
        """A commit with exactly these files (or its first parent's), at the end of a branch."""
        above = tuple(parents)
        if branch is not None and not above and f"heads/{branch}" in self.refs:
            above = (self.refs[f"heads/{branch}"],)
        if files is None:
            tree = self.commits[above[0]].tree if above else EMPTY_TREE
        else:
            entries = {path: ("100644", self.blob(_bytes(data))) for path, data in files.items()}
            tree = self.tree(entries)
        sha = self.add_commit(tree, above, message)
        if branch is not None:
            self.refs[f"heads/{branch}"] = sha
        return sha

    def blob(self, data: bytes) -> str:
        """Store a blob, named as git names it."""
        name = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()  # noqa: S324
        self.blobs[name] = data
        return name

    def tree(self, entries: dict[str, tuple[str, str]]) -> str:
        """Store a tree."""
        name = sha1("tree", sorted(entries.items())) if entries else EMPTY_TREE
        self.trees[name] = entries
        return name

    def add_commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        """Store a commit; never the same one twice."""
        date = stamp(self.fake.now())
        name = sha1("commit", self.name, tree, parents, message, date, len(self.commits))
        self.commits[name] = Commit(name, tree, parents, message, date)
        return name

    def files(self, ref: str) -> dict[str, bytes]:
        """All files at a commit, branch or tag."""
        tree = self.trees[self.commits[self.resolve(ref)].tree]
        return {path: self.blobs[blob] for path, (_, blob) in tree.items()}

    def resolve(self, ref: str) -> str:
        """The commit that a name stands for."""
        for name in (ref, ref.removeprefix("refs/"), f"heads/{ref}", f"tags/{ref}"):
            if name in self.refs:
                return self.refs[name]
        known = [sha for sha in self.commits if len(ref) >= 7 and sha.startswith(ref)]
        if len(known) != 1:
            raise Refuse(404, "Not Found")
        return known[0]

    def ancestors(self, sha: str) -> dict[str, None]:
        """The commit itself and all before it, nearest first."""
        found: dict[str, None] = {}
        waiting = [sha]
        while waiting:
            one = waiting.pop(0)
            if one not in found and one in self.commits:
                found[one] = None
                waiting.extend(self.commits[one].parents)
        return found

    def add_run(
        self,
        *,
        id: int | None = None,
        path: str = ".github/workflows/check.yml",
        event: str = "push",
        head_sha: str | None = None,
        head_branch: str | None = "main",
        head_repository: str | None = None,
        attempt: int = 1,
        status: str = "completed",
        conclusion: str | None = "success",
        created_at: datetime | None = None,
        pull_requests: tuple[int, ...] = (),
    ) -> Run:
        """A run of a workflow."""
        number = id or self.fake.next_id()
        run = Run(
            self,
            id=number,
            path=path,
            event=event,
            head_sha=head_sha or self.refs.get(f"heads/{head_branch}") or sha1("head", number),
            head_branch=head_branch,
            head_repository=head_repository or self.name,
            attempt=attempt,
            status=status,
            conclusion=conclusion if status == "completed" else None,
            created_at=created_at or self.fake.now(),
            pull_requests=pull_requests,
        )
        self.workflow(path)
        self.runs[number] = run
        return run

    def add_pull(self, number: int, head_sha: str, base_sha: str, **given: Any) -> Pull:
        """A pull request."""
        pull = Pull(number, head_sha, given.pop("head_ref", f"topic-{number}"), base_sha, **given)
        self.pulls[number] = pull
        return pull

    def add_comment(self, issue: int, body: str, login: str = "octocat") -> Comment:
        """A comment that somebody else wrote."""
        now = stamp(self.fake.now())
        user = BOT if login == BOT["login"] else {"login": login, "type": "User", "id": 1}
        comment = Comment(self.fake.next_id(), issue, body, user, now, now)
        self.comments.append(comment)
        return comment

    def add_release(
        self, tag: str, *, target: str = "main", draft: bool = False, prerelease: bool = False
    ) -> Release:
        """A release."""
        number, now = self.fake.next_id(), stamp(self.fake.now())
        release = Release(number, tag, draft, prerelease, now, target)
        self.releases.append(release)
        return release


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


Handler: TypeAlias = Callable[..., Answer]
ROUTES: Final[list[tuple[str, re.Pattern[str], Handler]]] = []


def route(method: str, template: str) -> Callable[[Handler], Handler]:
    """Answer requests like this; `{repo}` is owner/name, `{x:int}` a number, `{x:path}` the rest."""

    def part(match: re.Match[str]) -> str:
        name, _, kind = match[1].partition(":")
        shapes = {"int": r"[0-9]+", "path": r".+"}
        shape = r"[^/]+/[^/]+" if name == "repo" else shapes.get(kind, r"[^/]+")
        return f"(?P<{name}>{shape})"

    def take(handler: Handler) -> Handler:
        ROUTES.append((method, re.compile(re.sub(r"\{([^}]+)\}", part, template)), handler))
        return handler

    return take


class FakeGitHub:
    """The fake; start it with `with`.

    Attributes:
        api_url: For GITHUB_API_URL.
        server_url: For GITHUB_SERVER_URL.
        results_url: For ACTIONS_RESULTS_URL.
        blob_url: The storage, on a port of its own.
    """

    def __init__(
        self,
        repository: str = "octo/app",
        *,
        now: Callable[[], datetime] = utc_now,
        token: str = TOKEN,
        act_folder: Path | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Take the first repository, the time, where act keeps artifacts, and how to speak TLS."""
        self.now = now
        self.token = token
        self.read_only = False
        """As with the token of a pull request from a fork: writing answers 403."""
        self.strange_artifacts: dict[str, Json] = {}
        """What every artifact tells of its run, instead of the truth."""
        self.act_folder = act_folder
        self._tls = tls
        self.repositories: dict[str, Repository] = {}
        self.journal: list[Seen] = []
        self.signed: dict[str, tuple[bytes, str] | Stored] = {}
        """What a signed address of the storage leads to."""
        self._failures: list[Failure] = []
        self._ids = 0
        self._lock = threading.RLock()
        self._servers: list[ThreadingHTTPServer] = []
        self.api_url = self.server_url = self.results_url = self.blob_url = ""
        self.repository = self.add_repository(repository)

    def __enter__(self) -> Self:
        api, blob = self._serve("api"), self._serve("blob")
        self.api_url = self.server_url = api
        self.results_url = api + "/"
        self.blob_url = blob
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        self._servers.clear()

    def _serve(self, place: str) -> str:
        fake = self

        class Serving(_Serving):
            def_fake, def_place = fake, place

        server = _Server(("127.0.0.1", 0), Serving)
        if self._tls is not None:
            server.socket = self._tls.wrap_socket(server.socket, server_side=True)
        self._servers.append(server)
        threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{server.server_address[1]}"

    def next_id(self) -> int:
        """An id nobody has; ids do not grow with time, as on GitHub."""
        self._ids += 1
        # Multiplying by an odd number permutes the numbers below a power of two.
        return 10_000_000_000 + self._ids * 0x9E3779B1 % 2**32

    def add_repository(self, name: str, *, private: bool = False) -> Repository:
        """One more repository, such as a fork."""
        made = Repository(self, name, self.next_id())
        made.private = private
        self.repositories[name] = made
        return made

    def fail_next(
        self,
        method: str,
        path: str,
        status: int,
        *,
        headers: Mapping[str, str] | None = None,
        body: Json = None,
        times: int = 1,
        after: bool = False,
    ) -> None:
        """Answer the next requests like this with a failure; status 0 drops the connection.

        Args:
            method: In capitals.
            path: A regular expression that is searched in the path.
            status: Of the answer.
            headers: Sent with it, such as Retry-After.
            body: JSON; GitHub's kind of message when none is given.
            times: How many requests.
            after: Do what was asked first, so that only the answer is lost.
        """
        said = {"message": f"scripted failure {status}"} if body is None else body
        with self._lock:
            self._failures.append(
                Failure(method, re.compile(path), status, dict(headers or {}), said, times, after)
            )

    def forgive(self) -> None:
        """Forget every failure that is still to come."""
        with self._lock:
            self._failures.clear()

    def seen(self, method: str, path: str) -> list[Seen]:
        """Requests of this method whose path holds the regular expression."""
        return [
            one for one in list(self.journal) if one.method == method and re.search(path, one.path)
        ]

    def runtime_token(self, run: Run, job: str = "job") -> str:
        """For ACTIONS_RUNTIME_TOKEN in the current attempt of a run."""
        claims = {"scp": f"Actions.Results:{run.id}.{run.attempt}:{job}", "exp": 4_000_000_000}
        parts = ({"alg": "none", "typ": "JWT"}, claims)
        coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=") for p in parts]
        return b".".join([*coded, b"sig"]).decode()

    def environment(self, run: Run, event: Json, folder: Path, **more: str) -> dict[str, str]:
        """Variables of a job of this run; the event, workspace and temporary folder go into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "event.json").write_text(json.dumps(event), "utf-8")
        for name in ("workspace", "temp"):
            (folder / name).mkdir(exist_ok=True)
        home = run.repository
        branch = f"refs/heads/{run.head_branch}"
        pulls = run.event == "pull_request" and run.pull_requests
        ref = f"refs/pull/{run.pull_requests[0]}/merge" if pulls else branch
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_SERVER_URL": self.server_url,
            "GITHUB_API_URL": self.api_url,
            "GITHUB_REPOSITORY": home.name,
            "GITHUB_REPOSITORY_ID": str(home.id),
            "GITHUB_RUN_ID": str(run.id),
            "GITHUB_RUN_ATTEMPT": str(run.attempt),
            "GITHUB_RUN_NUMBER": str(max(1, run.number)),
            "GITHUB_EVENT_NAME": run.event,
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_WORKFLOW": home.workflow(run.path).name,
            "GITHUB_WORKFLOW_REF": f"{home.name}/{run.path}@{ref}",
            "GITHUB_SHA": run.head_sha,
            "GITHUB_REF": ref,
            "GITHUB_REF_NAME": ref.split("/", 2)[2],
            "GITHUB_ACTOR": "octocat",
            "GITHUB_TRIGGERING_ACTOR": "octocat",
            "GITHUB_WORKSPACE": str(folder / "workspace"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RUNNER_TEMP": str(folder / "temp"),
            "ACTIONS_RESULTS_URL": self.results_url,
            "ACTIONS_RUNTIME_TOKEN": self.runtime_token(run),
            **more,
        }

    # What the servers call.

    def answer(self, call: Call, place: str) -> tuple[Answer | None, Seen]:
        """The answer to a request; None drops the connection."""
        with self._lock:
            failure = self._scripted(call)
            answer: Answer | None
            if failure is None or failure.after:
                answer = self._routed(call, place)
            if failure is not None:
                answer = (
                    Answer(failure.status, failure.body, failure.headers)
                    if failure.status
                    else None
                )
            seen = Seen(
                call.method, call.path, call.query, call.headers, call.data, place,
                answer.status if answer else 0,
            )  # fmt: skip
            self.journal.append(seen)
            return answer, seen

    def _scripted(self, call: Call) -> Failure | None:
        for one in self._failures:
            if one.times > 0 and one.method == call.method and one.path.search(call.path):
                one.times -= 1
                return one
        return None

    def _routed(self, call: Call, place: str) -> Answer:
        try:
            if place == "blob":
                return self._storage(call)
            if call.path.startswith(TWIRP):
                return self._twirp(call)
            self._authorize(call)
            return self._interface(call)
        except Refuse as no:
            body: dict[str, Json] = {"message": no.message, "documentation_url": "https://docs"}
            if no.errors is not None:
                body["errors"] = no.errors
            return Answer(no.status, body)

    def _interface(self, call: Call) -> Answer:
        for method, pattern, handler in ROUTES:
            match = pattern.fullmatch(call.path)
            if match and method == call.method:
                return self._dispatch(handler, call, match.groupdict())
        raise Refuse(404, "Not Found")

    def _authorize(self, call: Call) -> None:
        given = call.headers.get("authorization")
        if given is not None and given not in (f"Bearer {self.token}", f"token {self.token}"):
            raise Refuse(401, "Bad credentials")
        if "user-agent" not in call.headers:
            raise Refuse(403, "Request forbidden by administrative rules: no User-Agent")
        if call.method != "GET":
            if given is None:
                raise Refuse(401, "Requires authentication")
            if self.read_only:
                raise Refuse(403, "Resource not accessible by integration")

    def _dispatch(self, handler: Handler, call: Call, found: dict[str, str]) -> Answer:
        given: dict[str, Any] = {}
        for name, text in found.items():
            value = unquote(text)
            given[name] = int(value) if value.isdigit() and name in _NUMBERS else value
        if "repo" in given:
            repository = self.repositories.get(given["repo"])
            hidden = repository is not None and repository.private
            if repository is None or (hidden and "authorization" not in call.headers):
                raise Refuse(404, "Not Found")
            given["repo"] = repository
        return handler(self, call, **given)

    def page(self, call: Call, items: list[Json], key: str | None = None) -> Answer:
        """One page of a list, with links to the others."""
        size = min(100, max(1, int(call.query.get("per_page", "30"))))
        number = max(1, int(call.query.get("page", "1")))
        last = max(1, -(-len(items) // size))
        links = {"next": number + 1, "last": last} if number < last else {}
        links |= {"first": 1, "prev": number - 1} if number > 1 else {}
        at = {
            name: f"{self.api_url}{call.path}?{urlencode({**call.query, 'page': str(where)})}"
            for name, where in links.items()
        }
        link = ", ".join(f'<{url}>; rel="{name}"' for name, url in at.items())
        shown = items[(number - 1) * size : number * size]
        body = shown if key is None else {"total_count": len(items), key: shown}
        return Answer(200, body, {"link": link} if link else {})

    def sign(self, target: tuple[bytes, str] | Stored) -> str:
        """An address of the storage that needs no token."""
        key = secrets.token_hex(8)
        self.signed[key] = target
        return f"{self.blob_url}/container/{key}?sig={secrets.token_hex(16)}&se=2099"

    def _storage(self, call: Call) -> Answer:
        target = self.signed.get(call.path.removeprefix("/container/"))
        if target is None or "sig" not in call.query or "authorization" in call.headers:
            return Answer(403, b"<Error><Code>AuthenticationFailed</Code></Error>")
        if call.method == "GET":
            data, kind = (target.data, "zip") if isinstance(target, Stored) else target
            return Answer(200, data, {"content-type": kind if "/" in kind else "application/zip"})
        if call.method != "PUT" or not isinstance(target, Stored):
            return Answer(405, b"")
        match call.query.get("comp"):
            case "block":
                target.blocks[call.query["blockid"]] = call.data
            case "blocklist":
                names = re.findall(rb"<(?:Latest|Uncommitted)>([^<]+)<", call.data)
                target.data = b"".join(target.blocks[name.decode()] for name in names)
                target.uploaded = True
            case _:
                target.data, target.uploaded = call.data, True
        return Answer(201, b"", {"etag": '"1"'})

    def _twirp(self, call: Call) -> Answer:
        """The artifact service that upload and download steps talk to."""
        claimed = _claims(call.headers.get("authorization", ""))
        run, attempt = self._claimed(claimed)
        if run is None:
            return Answer(401, {"code": "unauthenticated", "msg": "invalid token"})
        body = {re.sub("([A-Z])", r"_\1", key).lower(): value for key, value in call.body.items()}
        if (
            body.get("workflow_run_backend_id"),
            body.get("workflow_job_run_backend_id"),
        ) != claimed:
            return Answer(403, {"code": "permission_denied", "msg": "ids do not fit the token"})
        name = body.get("name", "")
        match call.path.removeprefix(TWIRP):
            case "CreateArtifact":
                return self._create(run, attempt, body)
            case "FinalizeArtifact":
                return self._finalize(run, attempt, body)
            case "ListArtifacts":
                return self._listed(run, claimed, body)
            case "GetSignedArtifactURL":
                found = _for_download(run, attempt, name)
                if found is None:
                    return Answer(404, {"code": "not_found", "msg": "artifact not found"})
                return Answer(200, {"signed_url": self.sign(found)})
            case "DeleteArtifact":
                found = next((a for a in _of(run, attempt, name) if a.finalized), None)
                if found is None:
                    return Answer(404, {"code": "not_found", "msg": "artifact not found"})
                run.artifacts.remove(found)
                return Answer(200, {"ok": True, "artifact_id": str(found.id)})
            case _:
                return Answer(404, {"code": "bad_route", "msg": "no handler"})

    def _claimed(self, claimed: tuple[str, str]) -> tuple[Run | None, int]:
        number, _, attempt = claimed[0].partition(".")
        for repository in self.repositories.values():
            if number.isdigit() and attempt.isdigit() and int(number) in repository.runs:
                return repository.runs[int(number)], int(attempt)
        return None, 0

    def _create(self, run: Run, attempt: int, body: dict[str, Json]) -> Answer:
        name = body.get("name", "")
        if not name or re.search(r'[":<>|*?\r\n\\/]', name):
            return Answer(400, {"code": "invalid_argument", "msg": "name holds what none may"})
        # A name is taken from the moment it is asked for, finalized or not (P-06).
        if _of(run, attempt, name):
            message = "Conflict: an artifact with this name already exists on the workflow run"
            return Answer(409, {"code": "already_exists", "msg": message})
        made = Stored(self.next_id(), name, attempt, stamp(self.now()), finalized=False)
        made.uploaded = False
        made.zipped = _value(body.get("mime_type")) in (None, "", "application/zip")
        run.artifacts.append(made)
        return Answer(200, {"ok": True, "signed_upload_url": self.sign(made)})

    def _finalize(self, run: Run, attempt: int, body: dict[str, Json]) -> Answer:
        found = next((a for a in _of(run, attempt, body.get("name", "")) if not a.finalized), None)
        if found is None or not found.uploaded:
            return Answer(404, {"code": "not_found", "msg": "nothing was uploaded under this name"})
        digest = "sha256:" + hashlib.sha256(found.data).hexdigest()
        told = _value(body.get("hash"))
        if str(len(found.data)) != str(body.get("size")) or (told and told != digest):
            return Answer(400, {"code": "invalid_argument", "msg": "size or hash do not fit"})
        found.finalized, found.digest = True, digest
        return Answer(200, {"ok": True, "artifact_id": str(found.id)})

    def _listed(self, run: Run, claimed: tuple[str, str], body: dict[str, Json]) -> Answer:
        name, number = _value(body.get("name_filter")), _value(body.get("id_filter"))
        shown = [
            {
                "workflow_run_backend_id": claimed[0],
                "workflow_job_run_backend_id": claimed[1],
                "database_id": str(one.id),
                "name": one.name,
                "size": str(len(one.data)),
                "created_at": one.created_at,
                "digest": one.digest,
            }
            for one in run.artifacts
            if one.finalized and not one.hidden
            and name in (None, one.name) and number in (None, str(one.id))
        ]  # fmt: skip
        return Answer(200, {"artifacts": shown})

    def artifacts_of(self, repository: Repository, run_id: int) -> list[tuple[int, Stored]]:
        """All artifacts of a run that the interface shows, fed ones and act's."""
        run = repository.runs.get(run_id)
        rows = [one for one in run.artifacts if one.finalized and not one.hidden] if run else []
        return [(run_id, one) for one in [*rows, *self._from_act(run_id)]]

    def all_artifacts(self, repository: Repository) -> list[tuple[int, Stored]]:
        """All artifacts of a repository."""
        numbers = dict.fromkeys(repository.runs)
        if self.act_folder is not None and self.act_folder.is_dir():
            names = [one.name for one in self.act_folder.iterdir() if one.name.isdigit()]
            numbers.update(dict.fromkeys(map(int, names)))
        return [row for number in numbers for row in self.artifacts_of(repository, number)]

    def _from_act(self, run_id: int) -> list[Stored]:
        """What act's artifact server has stored: `<run>/<name>/<name>.zip`, empty until it is uploaded."""
        if self.act_folder is None:
            return []
        rows = []
        for path in sorted(self.act_folder.glob(f"{run_id}/*/*.zip")):
            name, data = path.parent.name, path.read_bytes()
            is_zip = zipfile.is_zipfile(io.BytesIO(data))
            if path.stem != name or not data or not (is_zip or name.endswith(".html")):
                continue
            moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            digest = "sha256:" + hashlib.sha256(data).hexdigest()
            number = zlib.crc32(f"{run_id}/{name}".encode()) + 1
            one = Stored(number, name, 1, stamp(moment), data, digest=digest, zipped=is_zip)
            rows.append(one)
        return rows

    def show_artifact(self, repository: Repository, run_id: int, one: Stored) -> Json:
        """As GitHub tells of it."""
        run = repository.runs.get(run_id)
        head = self.repositories.get(run.head_repository) if run else repository
        url = f"{repository.api}/actions/artifacts/{one.id}"
        return {
            "id": one.id,
            "name": one.name,
            "size_in_bytes": len(one.data),
            "url": url,
            "archive_download_url": f"{url}/zip",
            "expired": one.expired,
            "created_at": one.created_at,
            "updated_at": one.created_at,
            "expires_at": one.created_at,
            "digest": one.digest,
            "workflow_run": {
                "id": run_id,
                "repository_id": repository.id,
                "head_repository_id": head.id if head else None,
                "head_branch": run.head_branch if run else repository.default_branch,
                "head_sha": run.head_sha if run else None,
                **self.strange_artifacts,
            },
        }


_NUMBERS: Final = {"run", "attempt", "artifact", "issue", "comment", "release", "asset", "pull"}


def _claims(authorization: str) -> tuple[str, str]:
    try:
        part = authorization.removeprefix("Bearer ").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        scope = next(s for s in claims["scp"].split() if s.startswith("Actions.Results:"))
        _, run, job = scope.split(":")
    except (ValueError, LookupError, StopIteration):
        return "", ""
    return run, job


def _of(run: Run, attempt: int, name: str) -> list[Stored]:
    return [one for one in run.artifacts if one.attempt == attempt and one.name == name]


def _for_download(run: Run, attempt: int, name: str) -> Stored | None:
    """This attempt's, else the highest id of earlier ones: what download steps take."""
    ready = [a for a in run.artifacts if a.name == name and a.finalized and not a.hidden]
    own = [one for one in ready if one.attempt == attempt]
    return max(own or ready, key=lambda one: one.id, default=None)


def _value(value: Json) -> Json:
    """A wrapped value of the service's interface, which may come as `{"value": ...}` or as itself."""
    return value.get("value") if isinstance(value, dict) else value


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up as they like."""


class _Serving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet for each answer: two would wait for each other.
    wbufsize = -1
    disable_nagle_algorithm = True
    def_fake: FakeGitHub
    def_place: str

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        query = {k: v[-1] for k, v in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        data = self.rfile.read(int(headers.get("content-length", "0")))
        call = Call(self.command, parts.path, query, headers, data)
        try:
            answer, _ = self.def_fake.answer(call, self.def_place)
        except Exception as error:  # noqa: BLE001 - a defect of the fake shows in the test's answer
            answer = Answer(599, {"message": f"the fake failed: {error!r}"})
        if answer is None:
            self.close_connection = True
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        none = answer.body is None
        raw = isinstance(answer.body, bytes)
        body: bytes = b"" if none else answer.body if raw else json.dumps(answer.body).encode()
        headers = {"date": format_datetime(self.def_fake.now(), usegmt=True)}
        if not none and not raw:
            headers["content-type"] = "application/json; charset=utf-8"
        headers |= answer.headers
        self.send_response_only(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        if answer.status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if answer.status != 204 else b"")

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve  # noqa: N815


# The interface.


@route("GET", "/repos/{repo}")
def _repository(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    return Answer(200, {**repo.small(), "default_branch": repo.default_branch})


@route("GET", "/rate_limit")
def _rate_limit(fake: FakeGitHub, call: Call) -> Answer:
    core = {"limit": 1000, "remaining": 999, "reset": int(fake.now().timestamp()) + 3600}
    return Answer(200, {"resources": {"core": core}})


def _runs(fake: FakeGitHub, call: Call, runs: Iterable[Run]) -> Answer:
    asked = call.query
    shown = []
    for run in sorted(runs, key=lambda one: one.created_at, reverse=True):
        fits = {
            "branch": run.head_branch,
            "event": run.event,
            "head_sha": run.head_sha,
        }
        if any(name in asked and asked[name] != value for name, value in fits.items()):
            continue
        if "status" in asked and asked["status"] not in (run.status, run.conclusion):
            continue
        shown.append(run.show())
    return fake.page(call, shown, "workflow_runs")


@route("GET", "/repos/{repo}/actions/runs")
def _all_runs(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    return _runs(fake, call, repo.runs.values())


def _workflow(repo: Repository, workflow: str) -> Workflow:
    for one in repo.workflows:
        if workflow in (str(one.id), one.path.rpartition("/")[2], one.path):
            return one
    raise Refuse(404, "Not Found")


def _show_workflow(repo: Repository, one: Workflow) -> Json:
    url = f"{repo.api}/actions/workflows/{one.id}"
    shown = {"id": one.id, "path": one.path, "name": one.name, "state": one.state, "url": url}
    times = {"created_at": one.created_at, "updated_at": one.created_at}
    return {**shown, **(times if one.created_at else {})}


@route("GET", "/repos/{repo}/actions/workflows")
def _workflows(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    return fake.page(call, [_show_workflow(repo, one) for one in repo.workflows], "workflows")


@route("GET", "/repos/{repo}/actions/workflows/{workflow}")
def _one_workflow(fake: FakeGitHub, call: Call, repo: Repository, workflow: str) -> Answer:
    return Answer(200, _show_workflow(repo, _workflow(repo, workflow)))


@route("GET", "/repos/{repo}/actions/workflows/{workflow}/runs")
def _workflow_runs(fake: FakeGitHub, call: Call, repo: Repository, workflow: str) -> Answer:
    path = _workflow(repo, workflow).path
    return _runs(fake, call, [run for run in repo.runs.values() if run.path == path])


@route("PUT", "/repos/{repo}/actions/workflows/{workflow}/enable")
def _enable(fake: FakeGitHub, call: Call, repo: Repository, workflow: str) -> Answer:
    _workflow(repo, workflow).state = "active"
    return Answer(204)


@route("POST", "/repos/{repo}/actions/workflows/{workflow}/dispatches")
def _dispatches(fake: FakeGitHub, call: Call, repo: Repository, workflow: str) -> Answer:
    one = _workflow(repo, workflow)
    if one.state != "active":
        raise Refuse(422, "Cannot trigger a 'workflow_dispatch' on a disabled workflow")
    repo.resolve(str(call.body.get("ref", "")))
    one.dispatched.append(call.body)
    return Answer(204)


def _run(repo: Repository, run: int) -> Run:
    if run not in repo.runs:
        raise Refuse(404, "Not Found")
    return repo.runs[run]


@route("GET", "/repos/{repo}/actions/runs/{run:int}")
def _one_run(fake: FakeGitHub, call: Call, repo: Repository, run: int) -> Answer:
    return Answer(200, _run(repo, run).show())


@route("GET", "/repos/{repo}/actions/runs/{run:int}/attempts/{attempt:int}")
def _one_attempt(fake: FakeGitHub, call: Call, repo: Repository, run: int, attempt: int) -> Answer:
    found = _run(repo, run)
    if not 1 <= attempt <= found.attempt:
        raise Refuse(404, "Not Found")
    return Answer(200, found.show(attempt))


def _jobs(fake: FakeGitHub, call: Call, run: Run, jobs: Iterable[Job]) -> Answer:
    shown = [
        {
            "id": job.id,
            "run_id": run.id,
            "run_attempt": job.attempt,
            "head_sha": run.head_sha,
            "name": job.name,
            "status": job.status,
            "conclusion": job.conclusion,
            "started_at": job.started_at,
            "completed_at": job.completed_at,
            "html_url": f"{fake.server_url}/{run.repository.name}/actions/runs/{run.id}/job/{job.id}",
        }
        for job in jobs
    ]
    return fake.page(call, shown, "jobs")


@route("GET", "/repos/{repo}/actions/runs/{run:int}/jobs")
def _run_jobs(fake: FakeGitHub, call: Call, repo: Repository, run: int) -> Answer:
    found = _run(repo, run)
    every = call.query.get("filter", "latest") == "all"
    return _jobs(fake, call, found, [j for j in found.jobs if every or j.attempt == found.attempt])


@route("GET", "/repos/{repo}/actions/runs/{run:int}/attempts/{attempt:int}/jobs")
def _attempt_jobs(fake: FakeGitHub, call: Call, repo: Repository, run: int, attempt: int) -> Answer:
    found = _run(repo, run)
    return _jobs(fake, call, found, [job for job in found.jobs if job.attempt == attempt])


@route("POST", "/repos/{repo}/actions/runs/{run:int}/rerun-failed-jobs")
def _rerun_failed(fake: FakeGitHub, call: Call, repo: Repository, run: int) -> Answer:
    found = _run(repo, run)
    found.rerun("failed")
    found.actors[found.attempt] = str(BOT["login"])
    return Answer(201, {})


@route("POST", "/repos/{repo}/actions/runs/{run:int}/rerun")
def _rerun_all(fake: FakeGitHub, call: Call, repo: Repository, run: int) -> Answer:
    found = _run(repo, run)
    found.rerun("all")
    found.actors[found.attempt] = str(BOT["login"])
    return Answer(201, {})


@route("GET", "/repos/{repo}/actions/runs/{run:int}/artifacts")
def _run_artifacts(fake: FakeGitHub, call: Call, repo: Repository, run: int) -> Answer:
    rows = fake.artifacts_of(repo, run)
    if run not in repo.runs and not rows:
        raise Refuse(404, "Not Found")
    return _artifacts(fake, call, repo, rows)


@route("GET", "/repos/{repo}/actions/artifacts")
def _all_artifacts(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    return _artifacts(fake, call, repo, fake.all_artifacts(repo))


def _artifacts(
    fake: FakeGitHub, call: Call, repo: Repository, rows: list[tuple[int, Stored]]
) -> Answer:
    name = call.query.get("name")
    shown = [fake.show_artifact(repo, run, one) for run, one in rows if name in (None, one.name)]
    return fake.page(call, shown, "artifacts")


def _artifact(fake: FakeGitHub, repo: Repository, artifact: int) -> tuple[int, Stored]:
    for run, one in fake.all_artifacts(repo):
        if one.id == artifact:
            return run, one
    raise Refuse(404, "Not Found")


@route("GET", "/repos/{repo}/actions/artifacts/{artifact:int}")
def _one_artifact(fake: FakeGitHub, call: Call, repo: Repository, artifact: int) -> Answer:
    return Answer(200, fake.show_artifact(repo, *_artifact(fake, repo, artifact)))


@route("DELETE", "/repos/{repo}/actions/artifacts/{artifact:int}")
def _delete_artifact(fake: FakeGitHub, call: Call, repo: Repository, artifact: int) -> Answer:
    run, one = _artifact(fake, repo, artifact)
    repo.runs[run].artifacts.remove(one)
    return Answer(204)


@route("GET", "/repos/{repo}/actions/artifacts/{artifact:int}/{form}")
def _artifact_zip(
    fake: FakeGitHub, call: Call, repo: Repository, artifact: int, form: str
) -> Answer:
    _, one = _artifact(fake, repo, artifact)
    if "authorization" not in call.headers:
        raise Refuse(401, "Requires authentication")
    if one.expired:
        raise Refuse(410, "Artifact has expired")
    kind = "application/zip" if one.zipped else "application/octet-stream"
    return Answer(302, None, {"location": fake.sign((one.data, kind))})


@route("GET", "/repos/{repo}/commits")
def _commits(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    sha = repo.resolve(call.query.get("sha", repo.default_branch))
    path = call.query.get("path")
    shown = [one for one in repo.ancestors(sha) if path is None or _touches(repo, one, path)]
    return fake.page(call, [_show_commit(repo, one) for one in shown])


def _touches(repo: Repository, sha: str, path: str) -> bool:
    """Whether a commit differs from every parent of it below a path."""

    def below(commit: str) -> list[tuple[str, tuple[str, str]]]:
        files = repo.trees[repo.commits[commit].tree].items()
        return sorted(one for one in files if f"{one[0]}/".startswith(path.rstrip("/") + "/"))

    parents = repo.commits[sha].parents
    here = below(sha)
    return all(below(parent) != here for parent in parents) if parents else bool(here)


def _show_commit(repo: Repository, sha: str) -> Json:
    one = repo.commits[sha]
    person = {"name": "octocat", "date": one.date}
    return {
        "sha": sha,
        "commit": {
            "message": one.message,
            "tree": {"sha": one.tree},
            "author": person,
            "committer": person,
        },
        "parents": [{"sha": parent} for parent in one.parents],
        "html_url": f"{repo.fake.server_url}/{repo.name}/commit/{sha}",
    }


@route("GET", "/repos/{repo}/compare/{spec:path}")
def _compare(fake: FakeGitHub, call: Call, repo: Repository, spec: str) -> Answer:
    base, dots, head = spec.partition("...")
    if not dots:
        raise Refuse(404, "Not Found")
    one, other = repo.resolve(base), repo.resolve(head)
    before, after = repo.ancestors(one), repo.ancestors(other)
    shared = next((sha for sha in after if sha in before), None)
    if shared is None:
        raise Refuse(404, f"No common ancestor between {base} and {head}.")
    ahead = [sha for sha in after if sha not in before]
    behind = [sha for sha in before if sha not in after]
    states = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}
    body = {
        "status": states.get((bool(ahead), bool(behind)), "diverged"),
        "ahead_by": len(ahead),
        "behind_by": len(behind),
        "total_commits": len(ahead),
        "base_commit": _show_commit(repo, one),
        "merge_base_commit": _show_commit(repo, shared),
        "commits": [_show_commit(repo, sha) for sha in reversed(ahead)][:250],
    }
    return Answer(200, body)


@route("GET", "/repos/{repo}/commits/{sha}/pulls")
def _commit_pulls(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    pulls = [_show_pull(repo, one) for one in repo.pulls.values() if one.head_sha == sha]
    return fake.page(call, pulls)


@route("GET", "/repos/{repo}/commits/{sha}/statuses")
def _commit_statuses(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    return fake.page(call, [one for one in reversed(repo.statuses) if one["sha"] == sha])


@route("GET", "/repos/{repo}/commits/{sha}/status")
def _commit_status(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    latest = {one["context"]: one for one in repo.statuses if one["sha"] == sha}
    states = {one["state"] for one in latest.values()}
    bad, waiting = states & {"failure", "error"}, "pending" in states or not states
    state = "failure" if bad else "pending" if waiting else "success"
    return Answer(200, {"sha": sha, "state": state, "statuses": list(latest.values())})


@route("POST", "/repos/{repo}/statuses/{sha}")
def _status(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    body = call.body
    if body.get("state") not in ("error", "failure", "pending", "success"):
        raise Refuse(422, "Validation Failed", [{"field": "state", "code": "invalid"}])
    if len(body.get("description") or "") > 140:
        raise Refuse(422, "Validation Failed", [{"message": "description is too long"}])
    made = {
        "id": fake.next_id(),
        "sha": sha,
        "context": body.get("context") or "default",
        "state": body["state"],
        "description": body.get("description"),
        "target_url": body.get("target_url"),
        "created_at": stamp(fake.now()),
    }
    repo.statuses.append(made)
    return Answer(201, made)


@route("GET", "/repos/{repo}/commits/{ref:path}")
def _one_commit(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    return Answer(200, _show_commit(repo, repo.resolve(ref)))


@route("GET", "/repos/{repo}/contents/{path:path}")
def _contents(fake: FakeGitHub, call: Call, repo: Repository, path: str) -> Answer:
    files = repo.files(call.query.get("ref", repo.default_branch))
    path = path.rstrip("/")
    if path in files:
        if "raw" in call.headers.get("accept", ""):
            return Answer(200, files[path], {"content-type": "application/vnd.github.raw"})
        return Answer(200, _show_file(repo, path, files[path]))
    inside = [name for name in files if name.startswith(path + "/")]
    if not inside:
        raise Refuse(404, "Not Found")
    children: dict[str, Json] = {}
    for name in sorted(inside):
        child, deeper, _ = name.removeprefix(path + "/").partition("/")
        full = f"{path}/{child}"
        shown = {"type": "dir", "name": child, "path": full, "size": 0}
        children[child] = shown if deeper else {**_show_file(repo, full, files[full])}
        children[child].pop("content", None)
    return Answer(200, list(children.values()))


def _show_file(repo: Repository, path: str, data: bytes) -> Json:
    large = len(data) > 2**20
    return {
        "type": "file",
        "name": path.rpartition("/")[2],
        "path": path,
        "size": len(data),
        "sha": repo.blob(data),
        "encoding": "none" if large else "base64",
        "content": "" if large else base64.encodebytes(data).decode(),
    }


@route("GET", "/repos/{repo}/git/ref/{ref:path}")
def _get_ref(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    if ref not in repo.refs:
        raise Refuse(404, "Not Found")
    return Answer(200, _show_ref(repo, ref))


def _show_ref(repo: Repository, ref: str) -> Json:
    target = {"type": "commit", "sha": repo.refs[ref]}
    return {"ref": f"refs/{ref}", "url": f"{repo.api}/git/refs/{ref}", "object": target}


@route("GET", "/repos/{repo}/git/matching-refs/{ref:path}")
def _matching_refs(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    return fake.page(call, [_show_ref(repo, one) for one in repo.refs if one.startswith(ref)])


@route("POST", "/repos/{repo}/git/refs")
def _create_ref(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    ref, sha = call.body.get("ref", ""), call.body.get("sha", "")
    if not re.fullmatch(r"refs/[^/]+/.+", ref):
        raise Refuse(422, "Reference name must start with 'refs/'")
    if ref.removeprefix("refs/") in repo.refs:
        raise Refuse(422, "Reference already exists")
    if sha not in repo.commits:
        raise Refuse(422, "Object does not exist")
    repo.refs[ref.removeprefix("refs/")] = sha
    return Answer(201, _show_ref(repo, ref.removeprefix("refs/")))


@route("PATCH", "/repos/{repo}/git/refs/{ref:path}")
def _update_ref(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    sha = call.body.get("sha", "")
    if ref not in repo.refs:
        raise Refuse(422, "Reference does not exist")
    if sha not in repo.commits:
        raise Refuse(422, "Object does not exist")
    if repo.refs[ref] not in repo.ancestors(sha) and call.body.get("force") is not True:
        raise Refuse(422, "Update is not a fast forward")
    repo.refs[ref] = sha
    return Answer(200, _show_ref(repo, ref))


@route("DELETE", "/repos/{repo}/git/refs/{ref:path}")
def _delete_ref(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    if repo.refs.pop(ref, None) is None:
        raise Refuse(422, "Reference does not exist")
    return Answer(204)


@route("POST", "/repos/{repo}/git/blobs")
def _create_blob(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    content = call.body.get("content", "")
    coded = call.body.get("encoding") == "base64"
    sha = repo.blob(base64.b64decode(content) if coded else content.encode())
    return Answer(201, {"sha": sha, "url": f"{repo.api}/git/blobs/{sha}"})


@route("GET", "/repos/{repo}/git/blobs/{sha}")
def _get_blob(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    if sha not in repo.blobs:
        raise Refuse(404, "Not Found")
    data = repo.blobs[sha]
    if "raw" in call.headers.get("accept", ""):
        return Answer(200, data, {"content-type": "application/vnd.github.raw"})
    content = base64.encodebytes(data).decode()
    return Answer(200, {"sha": sha, "size": len(data), "encoding": "base64", "content": content})


@route("POST", "/repos/{repo}/git/trees")
def _create_tree(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    base = call.body.get("base_tree")
    base = repo.commits[base].tree if base in repo.commits else base
    if base is not None and base not in repo.trees:
        raise Refuse(422, "base_tree is not a valid tree")
    entries = dict(repo.trees[base]) if base else {}
    for one in call.body.get("tree") or []:
        blob = repo.blob(one["content"].encode()) if "content" in one else one.get("sha")
        if blob is None:
            entries.pop(one["path"], None)
        elif blob not in repo.blobs:
            raise Refuse(422, "tree.sha is not a valid blob")
        else:
            entries[one["path"]] = (one.get("mode", "100644"), blob)
    return Answer(201, _show_tree(repo, repo.tree(entries)))


def _show_tree(repo: Repository, sha: str) -> Json:
    entries = [
        {"path": path, "mode": mode, "type": "blob", "sha": blob, "size": len(repo.blobs[blob])}
        for path, (mode, blob) in sorted(repo.trees[sha].items())
    ]
    return {"sha": sha, "tree": entries, "truncated": False}


@route("GET", "/repos/{repo}/git/trees/{ref:path}")
def _get_tree(fake: FakeGitHub, call: Call, repo: Repository, ref: str) -> Answer:
    sha = ref if ref in repo.trees else repo.commits[repo.resolve(ref)].tree
    shown = _show_tree(repo, sha)
    if "recursive" not in call.query:
        shown["tree"] = [one for one in shown["tree"] if "/" not in one["path"]]
    return Answer(200, shown)


@route("POST", "/repos/{repo}/git/commits")
def _create_commit(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    body = call.body
    parents = tuple(body.get("parents") or [])
    if body.get("tree") not in repo.trees or not set(parents) <= set(repo.commits):
        raise Refuse(422, "Tree SHA or parents do not exist")
    sha = repo.add_commit(body["tree"], parents, body["message"])
    return Answer(201, _show_git_commit(repo, sha))


def _show_git_commit(repo: Repository, sha: str) -> Json:
    shown = _show_commit(repo, sha)
    return {"sha": sha, **shown["commit"], "parents": shown["parents"]}


@route("GET", "/repos/{repo}/git/commits/{sha}")
def _get_commit(fake: FakeGitHub, call: Call, repo: Repository, sha: str) -> Answer:
    return Answer(200, _show_git_commit(repo, repo.resolve(sha)))


def _show_pull(repo: Repository, one: Pull) -> Json:
    head = repo.fake.repositories.get(one.head_repository or repo.name)
    return {
        "id": one.number,
        "number": one.number,
        "state": one.state,
        "draft": one.draft,
        "locked": one.locked,
        "merged_at": "2026-01-01T00:00:00Z" if one.merged else None,
        "head": {"sha": one.head_sha, "ref": one.head_ref, "repo": head.small() if head else None},
        "base": {"sha": one.base_sha, "ref": one.base_ref, "repo": repo.small()},
    }


@route("GET", "/repos/{repo}/pulls")
def _pulls(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    state = call.query.get("state", "open")
    owner, _, branch = call.query.get("head", "").partition(":")
    shown = [
        one
        for one in repo.pulls.values()
        if state in ("all", one.state)
        and (not branch or (_head_owner(repo, one), one.head_ref) == (owner, branch))
    ]
    return fake.page(call, [_show_pull(repo, one) for one in shown])


def _head_owner(repo: Repository, one: Pull) -> str:
    return (one.head_repository or repo.name).partition("/")[0]


def _pull(repo: Repository, pull: int) -> Pull:
    if pull not in repo.pulls:
        raise Refuse(404, "Not Found")
    return repo.pulls[pull]


@route("GET", "/repos/{repo}/pulls/{pull:int}")
def _one_pull(fake: FakeGitHub, call: Call, repo: Repository, pull: int) -> Answer:
    return Answer(200, _show_pull(repo, _pull(repo, pull)))


@route("GET", "/repos/{repo}/pulls/{pull:int}/files")
def _pull_files(fake: FakeGitHub, call: Call, repo: Repository, pull: int) -> Answer:
    names = _pull(repo, pull).files
    return fake.page(call, [{"filename": name, "status": "modified"} for name in names])


def _show_comment(repo: Repository, one: Comment) -> Json:
    return {
        "id": one.id,
        "body": one.body,
        "user": one.user,
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "issue_url": f"{repo.api}/issues/{one.issue}",
        "html_url": f"{repo.fake.server_url}/{repo.name}/pull/{one.issue}#issuecomment-{one.id}",
    }


@route("GET", "/repos/{repo}/issues/{issue:int}/comments")
def _comments(fake: FakeGitHub, call: Call, repo: Repository, issue: int) -> Answer:
    _pull(repo, issue)
    return fake.page(call, [_show_comment(repo, c) for c in repo.comments if c.issue == issue])


@route("GET", "/repos/{repo}/issues/comments")
def _all_comments(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    newest = call.query.get("direction") == "desc"
    shown = sorted(repo.comments, key=lambda c: c.updated_at, reverse=newest)
    return fake.page(call, [_show_comment(repo, c) for c in shown])


def _comment_body(call: Call) -> str:
    body = call.body.get("body")
    if not isinstance(body, str) or not body.strip():
        raise Refuse(422, "Validation Failed", [{"field": "body", "code": "missing_field"}])
    if len(body) > LONGEST_COMMENT:
        long = {"message": f"Body is too long (maximum is {LONGEST_COMMENT} characters)"}
        raise Refuse(422, "Validation Failed", [long])
    return body


@route("POST", "/repos/{repo}/issues/{issue:int}/comments")
def _create_comment(fake: FakeGitHub, call: Call, repo: Repository, issue: int) -> Answer:
    if _pull(repo, issue).locked:
        raise Refuse(403, "Unable to create comment because issue is locked.")
    made = repo.add_comment(issue, _comment_body(call), str(BOT["login"]))
    return Answer(201, _show_comment(repo, made))


def _comment(repo: Repository, comment: int) -> Comment:
    for one in repo.comments:
        if one.id == comment:
            return one
    raise Refuse(404, "Not Found")


@route("GET", "/repos/{repo}/issues/comments/{comment:int}")
def _one_comment(fake: FakeGitHub, call: Call, repo: Repository, comment: int) -> Answer:
    return Answer(200, _show_comment(repo, _comment(repo, comment)))


@route("PATCH", "/repos/{repo}/issues/comments/{comment:int}")
def _update_comment(fake: FakeGitHub, call: Call, repo: Repository, comment: int) -> Answer:
    one = _comment(repo, comment)
    if one.user["login"] != BOT["login"]:
        raise Refuse(403, "Resource not accessible by integration")
    one.body, one.updated_at = _comment_body(call), stamp(fake.now())
    return Answer(200, _show_comment(repo, one))


@route("DELETE", "/repos/{repo}/issues/comments/{comment:int}")
def _delete_comment(fake: FakeGitHub, call: Call, repo: Repository, comment: int) -> Answer:
    repo.comments.remove(_comment(repo, comment))
    return Answer(204)


def _show_asset(repo: Repository, one: Asset) -> Json:
    return {
        "id": one.id,
        "name": one.name,
        "state": one.state,
        "size": len(one.data),
        "content_type": one.content_type,
        "digest": "sha256:" + hashlib.sha256(one.data).hexdigest(),
        "url": f"{repo.api}/releases/assets/{one.id}",
    }


def _show_release(repo: Repository, one: Release) -> Json:
    return {
        "id": one.id,
        "tag_name": one.tag,
        "target_commitish": one.target,
        "draft": one.draft,
        "prerelease": one.prerelease,
        "created_at": one.created_at,
        "published_at": None if one.draft else one.created_at,
        "upload_url": f"{repo.api}/releases/{one.id}/assets{{?name,label}}",
        "html_url": f"{repo.fake.server_url}/{repo.name}/releases/tag/{one.tag}",
        "assets": [_show_asset(repo, asset) for asset in one.assets],
    }


@route("GET", "/repos/{repo}/releases")
def _releases(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    return fake.page(call, [_show_release(repo, one) for one in reversed(repo.releases)])


@route("POST", "/repos/{repo}/releases")
def _create_release(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    body = call.body
    tag = body.get("tag_name", "")
    if not tag or any(one.tag == tag for one in repo.releases):
        raise Refuse(422, "Validation Failed", [{"field": "tag_name", "code": "already_exists"}])
    made = repo.add_release(
        tag,
        target=body.get("target_commitish") or repo.default_branch,
        draft=bool(body.get("draft")),
        prerelease=bool(body.get("prerelease")),
    )
    return Answer(201, _show_release(repo, made))


@route("GET", "/repos/{repo}/releases/latest")
def _latest_release(fake: FakeGitHub, call: Call, repo: Repository) -> Answer:
    full = [one for one in repo.releases if not one.draft and not one.prerelease]
    if not full:
        raise Refuse(404, "Not Found")
    return Answer(200, _show_release(repo, full[-1]))


@route("GET", "/repos/{repo}/releases/tags/{tag:path}")
def _tagged_release(fake: FakeGitHub, call: Call, repo: Repository, tag: str) -> Answer:
    for one in repo.releases:
        if one.tag == tag and not one.draft:
            return Answer(200, _show_release(repo, one))
    raise Refuse(404, "Not Found")


def _release(repo: Repository, release: int) -> Release:
    for one in repo.releases:
        if one.id == release:
            return one
    raise Refuse(404, "Not Found")


@route("GET", "/repos/{repo}/releases/{release:int}")
def _one_release(fake: FakeGitHub, call: Call, repo: Repository, release: int) -> Answer:
    return Answer(200, _show_release(repo, _release(repo, release)))


@route("GET", "/repos/{repo}/releases/{release:int}/assets")
def _assets(fake: FakeGitHub, call: Call, repo: Repository, release: int) -> Answer:
    return fake.page(call, [_show_asset(repo, one) for one in _release(repo, release).assets])


@route("POST", "/repos/{repo}/releases/{release:int}/assets")
def _upload_asset(fake: FakeGitHub, call: Call, repo: Repository, release: int) -> Answer:
    found, name = _release(repo, release), call.query.get("name", "")
    if not name or any(one.name == name for one in found.assets):
        taken = {"resource": "ReleaseAsset", "code": "already_exists", "field": "name"}
        raise Refuse(422, "Validation Failed", [taken])
    made = Asset(fake.next_id(), name, call.data, call.headers.get("content-type", ""))
    found.assets.append(made)
    return Answer(201, _show_asset(repo, made))


def _asset(repo: Repository, asset: int) -> tuple[Release, Asset]:
    for release in repo.releases:
        for one in release.assets:
            if one.id == asset:
                return release, one
    raise Refuse(404, "Not Found")


@route("GET", "/repos/{repo}/releases/assets/{asset:int}")
def _one_asset(fake: FakeGitHub, call: Call, repo: Repository, asset: int) -> Answer:
    _, one = _asset(repo, asset)
    if call.headers.get("accept") != "application/octet-stream":
        return Answer(200, _show_asset(repo, one))
    return Answer(302, None, {"location": fake.sign((one.data, "application/octet-stream"))})


@route("DELETE", "/repos/{repo}/releases/assets/{asset:int}")
def _delete_asset(fake: FakeGitHub, call: Call, repo: Repository, asset: int) -> Answer:
    release, one = _asset(repo, asset)
    release.assets.remove(one)
    return Answer(204)
