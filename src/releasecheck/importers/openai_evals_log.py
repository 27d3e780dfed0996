"""The log of a run of openai/evals: a first line that says what was run, events, and a final report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import Mapped
from releasecheck.importers.names import case_id, judge_ids, slug
from releasecheck.importers.openai_evals_chat import conversation
from releasecheck.importers.recorded import Metric, Recording, case_problems, recorded_suite
from releasecheck.importers.replay import Answered, Failed, Recorded, Reply, Score
from releasecheck.importers.tolerant import Plain, Strange, TooDeep, parse_tolerant

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.importers.imported import Imported

MATCH: Final = "match"
_YES_NO: Final = frozenset({MATCH, "accuracy"})
"""Numbers of this tool that say right or wrong."""
_READ: Final = ("sampling", "match", "metrics", "error")


@dataclass(slots=True)
class _Sample:
    """The events of one sample, each kind with the lines they stand in."""

    line: int
    events: dict[str, list[tuple[int, dict[str, Json]]]] = field(default_factory=dict)

    def take(self, type_: str, line: int, data: dict[str, Json]) -> None:
        """Keep an event, once: a sample that was tried again is recorded again (openai/evals#955)."""
        known = self.events.setdefault(type_, [])
        if not any(data == other for _, other in known):
            known.append((line, data))


class _Log:
    def __init__(self, path: Path) -> None:
        self.shown = path.as_posix()
        self.spec: dict[str, Json] | None = None
        self.samples: dict[str, _Sample] = {}
        self.ended = False
        self.problems: list[Problem] = []
        self.others: dict[str, int] = {}
        """Events of types that say nothing here."""

    def bad(self, message: str, line: int | None = None, key: str | None = None) -> None:
        self.problems.append(Problem(message, self.shown, line, key=key))

    def read(self, text: str) -> None:
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                row = parse_tolerant(line.strip(), self.shown, number)
            except ConfigError as error:
                self.problems += error.problems
                continue
            if not isinstance(row, dict):
                self.bad("expected an event, an object", number)
            elif "spec" in row:
                self._spec(row, number)
            elif "final_report" in row:
                self.ended = True
            else:
                self._event(row, number)

    def _spec(self, row: dict[str, Any], number: int) -> None:
        if self.spec is not None:
            self.bad("a second `spec`: this file holds several runs; split it", number)
        elif not isinstance(row["spec"], dict):
            self.bad("expected an object", number, "spec")
        else:
            self.spec = row["spec"]

    def _event(self, row: dict[str, Any], number: int) -> None:
        type_, sample, data = row.get("type"), row.get("sample_id"), row.get("data")
        if not isinstance(type_, str) or not isinstance(data, dict):
            self.bad("expected an event with `type` and `data`", number)
        elif type_ not in _READ:
            self.others[type_] = self.others.get(type_, 0) + 1
        elif not isinstance(sample, str) or not sample:
            self.bad(f"the {type_} event names no `sample_id`", number)
        else:
            self.samples.setdefault(case_id(sample), _Sample(number)).take(type_, number, data)


def import_log(path: Path, suite: str | None) -> Imported:
    """A suite of what the run recorded.

    Raises:
        ConfigError: everything in it that cannot be taken, by its line.
    """
    log = _Log(path)
    log.read(read_text(path))
    if log.spec is None and not log.problems:
        log.bad("no first line with `spec`: this is no log of openai/evals", 1)
    if not log.ended and not log.problems:
        log.bad(
            "there is no `final_report`: the run was not finished, and an unfinished run is no baseline"
        )
    if not log.samples and not log.problems:
        log.bad("the log holds no sample")
    if log.problems:
        raise ConfigError(log.problems)
    return _suite(log, path, suite)


def _suite(log: _Log, path: Path, suite: str | None) -> Imported:
    made = Recording()
    plain = Plain()
    values = {id_: _values(log, id_, sample) for id_, sample in log.samples.items()}
    names = {name for found in values.values() for name in found}
    if not names and not log.problems:
        log.bad("no sample has a match or a metric: there is no score to compare")
    ids = judge_ids(names)
    for id_, sample in log.samples.items():
        try:
            row = _case(log, id_, sample, plain)
            reply = Reply(id_, 0, _recorded(log, id_, sample, plain))
        except TooDeep as error:
            log.bad(f"sample {id_[:80]!r}: {error}", sample.line)
            continue
        log.problems += case_problems(row, log.shown, sample.line)
        made.cases[id_] = row
        made.replies.append(reply)
        made.scores += [Score(reply, ids[name], value) for name, value in values[id_].items()]
    if log.problems:
        raise ConfigError(log.problems)
    spec = log.spec or {}
    name = spec.get("base_eval") or spec.get("eval_name") or path.stem
    metrics = [Metric(name, ids[name], yes_no=name in _YES_NO) for name in sorted(ids)]
    others = [
        f"{count} {type_} events say nothing here" for type_, count in sorted(log.others.items())
    ]
    return recorded_suite(
        slug(suite or str(name), "openai-evals"),
        [f"From the log {path.name} of openai/evals, by `releasecheck import openai-evals`."],
        made,
        metrics,
        kind="score",
        mapped=[
            Mapped("sample", "case of cases.jsonl", len(made.cases)),
            Mapped("sampling", "answer of target recorded", len(made.replies)),
        ],
        notes=(*plain.notes(), *others),
    )


def _values(log: _Log, id_: str, sample: _Sample) -> dict[str, float | bool | None]:
    found: dict[str, float | bool | None] = {}
    for type_ in ("match", "metrics"):
        events = sample.events.get(type_, [])
        given: dict[str, tuple[int, Json]] = {}
        for line, data in events:
            for name, value in _numbers(type_, data).items():
                first = given.setdefault(name, (line, value))
                if first[1] != value:
                    log.bad(
                        f"sample {id_[:80]!r} has {name} {_said(first[1])} in line {first[0]} and {_said(value)} "
                        "here; which one counts is not said",
                        line,
                    )
        found |= {name: None if isinstance(v, Strange) else v for name, (_, v) in given.items()}
    return found


def _said(value: Json) -> str:
    return value.text if isinstance(value, Strange) else repr(value)


def _numbers(type_: str, data: dict[str, Json]) -> dict[str, Json]:
    if type_ == "match":
        correct = data.get("correct")
        return {MATCH: correct} if isinstance(correct, bool) else {}
    return {
        name: value
        for name, value in data.items()
        if isinstance(value, bool | int | float | Strange) and name
    }


def _case(log: _Log, id_: str, sample: _Sample, plain: Plain) -> dict[str, Json]:
    prompts = [data["prompt"] for _, data in sample.events.get("sampling", []) if "prompt" in data]
    wanted = [data["expected"] for _, data in sample.events.get("match", []) if "expected" in data]
    messages: Json = None
    if not prompts:
        log.bad(
            f"sample {id_[:80]!r} has no sampling event, so its input is not known", sample.line
        )
    elif isinstance(found := conversation(prompts[0]), str):
        log.bad(f"sample {id_[:80]!r}: {found}", sample.events["sampling"][0][0], "data.prompt")
    else:
        messages = plain(found)
    row: dict[str, Json] = {"id": id_, "input": messages or "-"}
    if wanted and wanted[0] is not None:
        row["expected"] = plain(wanted[0] if isinstance(wanted[0], list) else [wanted[0]])
    return row


def _recorded(log: _Log, id_: str, sample: _Sample, plain: Plain) -> Recorded:
    """The answer: what was compared where the log says so, else the one completion that was sampled."""
    compared = [
        (line, data["sampled"])
        for line, data in sample.events.get("match", [])
        if isinstance(data.get("sampled"), str)
    ]
    sampled = [
        (line, _completion(data.get("sampled"))) for line, data in sample.events.get("sampling", [])
    ]
    answers = compared or [(line, text) for line, text in sampled if text is not None]
    if not answers:
        errors = sample.events.get("error", [])
        said = [f"{data.get('type', 'error')}: {data.get('message', '')}" for _, data in errors]
        return Failed(said[0] if said else "the log holds no completion of this sample")
    different = next((line for line, text in answers if text != answers[0][1]), None)
    if different is not None:
        log.bad(
            f"sample {id_[:80]!r} has another completion in line {answers[0][0]}; which one was judged is not said",
            different,
        )
    return Answered(plain(answers[0][1]))


def _completion(sampled: Json) -> str | None:
    if isinstance(sampled, list):
        sampled = sampled[0] if sampled else None
    return sampled if isinstance(sampled, str) else None
