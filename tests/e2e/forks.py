"""The pair of workflows for pull requests from forks, played job by job from the starters themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from tests.expressions import filled, holds
from tests.staging import ROOT, Play

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.site import Site
    from tests.githubfake import Run
    from tests.staging import Ran

RECORD, JUDGE = "forks-record.yml", "forks-judge.yml"
STRANGER: Final = "stranger/app"
NUMBER: Final = 7
SECRET: Final = "JUDGE_KEY=sesame-open-sesame"


def starter(name: str) -> dict[Any, Any]:
    """A workflow file of ours."""
    found: dict[Any, Any] = yaml.safe_load((ROOT / "templates/github" / name).read_bytes())
    return found


@dataclass
class Played:
    """Jobs of one workflow run."""

    play: Play
    jobs: dict[str, Ran] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    @property
    def log(self) -> str:
        """What all of them printed."""
        return "\n".join(ran.log for ran in self.jobs.values())


def played(play: Play, name: str, github: Mapping[str, Any], secrets: Mapping[str, str]) -> Played:
    """Run the jobs of a starter, each with the inputs that its file gives to our action."""
    done = Played(play)
    _played(done, name, github, secrets)
    return done


def _played(done: Played, name: str, github: Mapping[str, Any], secrets: Mapping[str, str]) -> None:
    for job, what in starter(name)["jobs"].items():
        if job not in done.results:
            _job(done, job, what, {"github": dict(github), "secrets": dict(secrets)})
    ended = set(done.results.values())
    done.play.run.finish("success" if ended == {"success"} else "failure")


def _job(done: Played, job: str, what: dict[str, Any], values: dict[str, Any]) -> None:
    needed = [what["needs"]] if isinstance(what.get("needs"), str) else what.get("needs", [])
    outputs: dict[str, dict[str, str]] = {}
    for one in needed:
        those = [found for key, found in done.jobs.items() if key.partition(" ")[0] == one]
        outputs[one] = those[0].outputs if len(those) == 1 else {}
    values = {
        **values,
        "needs": {one: {"result": done.results[one], "outputs": outputs[one]} for one in needed},
    }
    success = all(done.results[one] == "success" for one in needed)
    status = {"success": success, "failure": not success, "cancelled": False, "always": True}
    if not holds(what.get("if"), values, status):
        done.results[job] = "skipped"
        return
    legs = [job]
    if "strategy" in what:
        vector = json.loads(filled(what["strategy"]["matrix"]["index"], values))
        legs = [f"{job} ({index})" for index in vector]
    step = next(one for one in what["steps"] if one["uses"].startswith("releasecheck/"))
    for at, leg in enumerate(legs):
        here = {**values, "matrix": {"index": at}}
        given = {key: filled(value, here) for key, value in step["with"].items()}
        folder = done.play.folder / f"{done.play.run.attempt}-{leg}".replace(" ", "-").strip("()")
        ran = done.jobs[leg] = done.play.act(leg, given, folder)
        done.play.run.add_job(leg, ran.result)
        told = {step.get("id", "none"): {"outputs": ran.outputs}}
        ran.outputs = {
            key: filled(text, {"steps": told}) for key, text in what.get("outputs", {}).items()
        }
    ended = {done.jobs[leg].result for leg in legs}
    done.results[job] = "success" if ended == {"success"} else "failure"


@dataclass
class Fork:
    """A pull request from a fork, and what our two workflows make of it."""

    site: Site
    base: str = ""
    head: str = ""

    def __post_init__(self) -> None:
        """Open the pull request: what is committed after this is the stranger's."""
        home = self.site.github.add_repository(STRANGER)
        home.private = False
        self.base = self.site.head
        self.site.repository.git("checkout", "-q", "-b", "topic")

    def change(self, cases: int | None = None, **config: Any) -> None:
        """What the stranger commits."""
        self.head = self.site.change(cases, **config)
        home = self.site.github.repository
        home.add_pull(NUMBER, self.head, self.base, head_ref="topic", head_repository=STRANGER)

    def record(self) -> Played:
        """Part 1, in a job that can write nothing and has no secret."""
        if not self.head:
            self.change()
        site, theirs = self.site, self.site.github.repositories[STRANGER]
        site.repository.git("checkout", "-q", "topic")
        home = site.github.repository
        event = {
            "action": "synchronize",
            "number": NUMBER,
            "pull_request": {
                "number": NUMBER,
                "base": {"sha": self.base, "ref": "main", "repo": _about(home)},
                "head": {"sha": self.head, "ref": "topic", "repo": _about(theirs)},
            },
        }
        run = home.add_run(
            event="pull_request", head_sha=self.head, head_branch="topic",
            head_repository=STRANGER, path=".github/workflows/releasecheck-record.yml",
            status="in_progress",
        )  # fmt: skip
        site.github.read_only = True
        done = played(self._play(run, event), RECORD, {"event": event}, {})
        site.github.read_only = False
        return done

    def judge(self, recorded: Run, *, event: str = "pull_request") -> Played:
        """Part 2, in a checkout of the default branch."""
        site = self.site
        site.repository.git("checkout", "-q", "main")
        home, theirs = site.github.repository, site.github.repositories[STRANGER]
        about = {
            "id": recorded.id, "run_attempt": recorded.attempt, "event": event,
            "conclusion": recorded.conclusion, "head_sha": self.head, "head_branch": "topic",
            "head_repository": _about(theirs), "pull_requests": [], "path": recorded.path,
        }  # fmt: skip
        said = {"action": "completed", "workflow_run": about}
        run = home.add_run(
            event="workflow_run", head_sha=site.head, head_branch="main",
            path=".github/workflows/releasecheck-judge.yml", status="in_progress",
        )  # fmt: skip
        play = self._play(run, said)
        play.secret = SECRET
        return played(play, JUDGE, {"event": said}, {"RELEASECHECK_ENV": SECRET})

    def judge_again(self, done: Played) -> None:
        """The jobs of part 2 that failed, with those that need them, after a re-run was asked for."""
        again = {name for name, result in done.results.items() if result != "success"}
        for job, what in starter(JUDGE)["jobs"].items():
            if job in again or again & set(what.get("needs", [])):
                again.add(job)
                del done.results[job]
        event = {"event": done.play.event}
        _played(done, JUDGE, event, {"RELEASECHECK_ENV": SECRET})

    def _play(self, run: Run, event: dict[str, Any]) -> Play:
        site = self.site
        about = {**_about(site.github.repository), "default_branch": "main"}
        folder = site.folder / f"fork-{run.id}"
        return Play(
            site.github,
            run,
            {"repository": about, **event},
            site.checkout,
            folder,
            site.interpreter,
        )

    def statuses(self) -> list[tuple[str, str]]:
        """State and description of each status, oldest first; all of the pull request's head."""
        rows = self.site.github.repository.statuses
        assert {(one["sha"], one["context"]) for one in rows} <= {(self.head, "releasecheck/small")}
        return [(one["state"], one["description"]) for one in rows]


def _about(repository: Any) -> dict[str, Any]:
    return {"id": repository.id, "full_name": repository.name}
