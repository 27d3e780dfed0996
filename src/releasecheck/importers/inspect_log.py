"""A log of Inspect: its samples as cases, its answers and errors replayed, its scores as judges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from releasecheck.config.rows import kind
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import Imported, Mapped
from releasecheck.importers.inspect_files import read_log_file
from releasecheck.importers.inspect_messages import completion, messages, resolved
from releasecheck.importers.inspect_scores import read_scores_file
from releasecheck.importers.inspect_values import Number, Unknown, parts_of, read_value
from releasecheck.importers.names import case_id, judge_ids, slug
from releasecheck.importers.recorded import (
    Metric,
    Recording,
    case_problems,
    recorded_suite,
    unknown_names,
)
from releasecheck.importers.replay import Answered, Failed, Recorded, Reply, Score
from releasecheck.importers.tolerant import Plain, Strange, TooDeep
from releasecheck.model.nearest import listing
from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from releasecheck.canonical import Json

VERSION: Final = 2
"""Of the log format."""
MOST_EPOCHS: Final = 1000
"""Trials that a suite can have."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A scorer's value for one sample, not yet under a judge's id."""

    reply: Reply
    name: str
    value: float | bool | None
    explanation: str | None


@dataclass(slots=True)
class _Read:
    shown: str
    leave_out: Collection[str]
    made: Recording = field(default_factory=Recording)
    given: list[_Given] = field(default_factory=list)
    judged: set[str] = field(default_factory=set)
    """Scorers that said right or wrong."""
    problems: list[Problem] = field(default_factory=list)
    unknown: dict[str, dict[str, str]] = field(default_factory=dict)
    """Values that count nothing anybody knows, by scorer, with where each stood first."""
    left_out: set[str] = field(default_factory=set)
    changing: set[str] = field(default_factory=set)
    """Cases that are not the same in each epoch."""
    plain: Plain = field(default_factory=Plain)
    places: dict[tuple[str, int], str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def bad(self, where: str, message: str) -> None:
        self.problems.append(Problem(message, self.shown, key=where))


def import_log(
    path: Path,
    suite: str | None,
    *,
    lower: Collection[str] = (),
    leave_out: Collection[str] = (),
    scores: Path | None = None,
) -> Imported:
    """A suite of what an eval recorded, and of a file of scores that were given elsewhere.

    Raises:
        ConfigError: everything in it that cannot be taken.
    """
    log = read_log_file(path)
    read = _Read(path.as_posix(), leave_out)
    _check_header(read, log.header)
    if read.problems:
        raise ConfigError(read.problems)
    for where, sample in log.samples:
        _take(read, where, sample)
    _check_whole(read, log.header)
    _check_values(read)
    if scores is not None:
        _beside(read, scores)
    names = {given.name for given in read.given}
    read.problems += unknown_names("--lower-is-better", lower, names)
    read.problems += unknown_names("--leave-out", leave_out, read.left_out | names)
    if not names and not read.problems:
        read.bad("scores", "no sample has a score: there is nothing to compare")
    if read.problems:
        raise ConfigError(read.problems)
    return _suite(read, log.header, path, suite, lower)


def _check_header(read: _Read, header: dict[str, Json]) -> None:
    version = header.get("version")
    if version != VERSION:
        found = "no version (is it a log? samples are an array, or a line each)"
        if version is not None:
            shown = version.text if isinstance(version, Strange) else str(version)
            found = f"version {shown[:20]}"
        read.bad(
            "version",
            f"expected a log of version {VERSION}, found {found}; `inspect log convert` makes one",
        )
        return
    status = header.get("status")
    if status != "success":
        error = header.get("error")
        said = f": {str(error.get('message'))[:200]}" if isinstance(error, dict) else ""
        read.bad(
            "status",
            f"the eval did not succeed, its status is {str(status)[:40]!r}{said}; an unfinished eval is no baseline - "
            "finish it with `inspect eval-retry`",
        )
    if header.get("invalidated") is True:
        read.bad("invalidated", "somebody has marked this log as invalid; it is no baseline")
    if not isinstance(header.get("eval"), dict):
        read.bad("eval", "expected what was run, an object")


def _check_whole(read: _Read, header: dict[str, Json]) -> None:
    """A log that lost samples would make a suite that is greener than the eval was."""
    if not read.made.replies and not read.problems:
        read.bad(
            "samples", "the log holds no samples (log_samples was off?): there is nothing to replay"
        )
    results = header.get("results")
    total = results.get("total_samples") if isinstance(results, dict) else None
    if isinstance(total, int) and not read.problems and total != len(read.places):
        read.bad(
            "samples",
            f"the eval had {count(total, 'sample')} over all epochs, the log holds {len(read.places)}",
        )


def _check_values(read: _Read) -> None:
    for name, values in sorted(read.unknown.items()):
        where = next(iter(values.values()))
        read.bad(
            where,
            f"{name} gave {', '.join(list(values)[:5])}, and what that counts is not known (numbers, true, false and the letters "
            f"C, I, P, N are); leave the scorer out with `--leave-out {name}`",
        )


def _take(read: _Read, where: str, sample: Json) -> None:
    if not isinstance(sample, dict):
        read.bad(where, f"expected a sample, found {kind(sample)}")
        return
    id_, epoch = sample.get("id"), sample.get("epoch", 1)
    if isinstance(id_, Strange):
        id_ = id_.text
    if not isinstance(id_, str | int) or isinstance(id_, bool):
        read.bad(where, f"expected a text or whole number as id, found {kind(id_)}")
        return
    if not isinstance(epoch, int) or isinstance(epoch, bool) or not 1 <= epoch <= MOST_EPOCHS:
        read.bad(where, f"expected an epoch from 1 to {MOST_EPOCHS}, found {str(epoch)[:20]}")
        return
    pair = (case_id(str(id_)), epoch)
    if pair in read.places:
        read.bad(where, f"sample {pair[0][:80]!r}, epoch {epoch} stands in {read.places[pair]} too")
        return
    read.places[pair] = where
    try:
        _sample(read, where, sample, *pair)
    except TooDeep as error:
        read.bad(where, str(error))


def _sample(read: _Read, where: str, sample: dict[str, Json], id_: str, epoch: int) -> None:
    attachments = sample.get("attachments")
    attached = attachments if isinstance(attachments, dict) else {}
    row = _case(read, sample, id_, attached)
    known = read.made.cases.get(id_)
    if known is None:
        read.problems += [
            Problem(one.message, read.shown, key=f"{where}: {one.key}" if one.key else where)
            for one in case_problems(row, read.shown, None)
        ]
        read.made.cases[id_] = row
    elif known != row:
        _same_in_each_epoch(read, where, known, row)
    read.made.trials = max(read.made.trials, epoch)
    reply = Reply(id_, epoch - 1, _recorded(read, sample, attached))
    read.made.replies.append(reply)
    _scores(read, where, sample, reply)


def _case(
    read: _Read, sample: dict[str, Json], id_: str, attached: dict[str, Json]
) -> dict[str, Json]:
    def taken(value: Json) -> Json:
        return read.plain(resolved(value, attached))

    row: dict[str, Json] = {"id": id_, "input": taken(messages(sample.get("input")))}
    if (target := sample.get("target")) not in (None, "", []):
        row["expected"] = taken(target)
    metadata = taken(_metadata(sample))
    if choices := sample.get("choices"):
        metadata = {**metadata, "choices": taken(choices)}
    return {**row, "metadata": metadata} if metadata else row


def _metadata(sample: dict[str, Json]) -> dict[str, Json]:
    """As the dataset had it: what solvers wrote into it is of this run, not of the case."""
    events = sample.get("events")
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict) and event.get("event") == "sample_init":
            start = event.get("sample")
            if isinstance(start, dict):
                sample = start
            break
    found = sample.get("metadata")
    return found if isinstance(found, dict) else {}


def _same_in_each_epoch(
    read: _Read, where: str, known: dict[str, Json], row: dict[str, Json]
) -> None:
    other = [key for key in ("input", "expected") if known.get(key) != row.get(key)]
    if other:
        read.bad(
            where,
            f"{' and '.join(other)} of sample {row['id'][:80]!r} differ from those in another epoch",
        )
        return
    # What solvers wrote into the metadata is of one answer, and no part of the question.
    read.changing.add(row["id"])
    before, now = known.get("metadata", {}), row.get("metadata", {})
    known["metadata"] = {
        key: value for key, value in before.items() if key in now and now[key] == value
    }


def _recorded(read: _Read, sample: dict[str, Json], attached: dict[str, Json]) -> Recorded:
    error = sample.get("error")
    if isinstance(error, dict):
        return Failed(str(error.get("message") or "an error without a message"))
    if error:
        return Failed(str(error))
    if sample.get("invalidation"):
        return Failed("somebody has marked this sample as invalid")
    answer = completion(sample.get("output"))
    if answer is None:
        return Failed("the log holds no output of this sample")
    used = sample.get("model_usage")
    tokens = [
        one.get("total_tokens")
        for one in (used.values() if isinstance(used, dict) else ())
        if isinstance(one, dict)
    ]
    whole = [one for one in tokens if isinstance(one, int) and not isinstance(one, bool)]
    return Answered(read.plain(resolved(answer, attached)), sum(whole) if whole else None)


def _scores(read: _Read, where: str, sample: dict[str, Json], reply: Reply) -> None:
    scores = sample.get("scores") or {}
    if not isinstance(scores, dict):
        read.bad(where, f"expected scores by scorer, found {kind(scores)}")
        return
    for scorer, score in scores.items():
        if not isinstance(score, dict) or "value" not in score:
            read.bad(where, f"the score of {scorer[:60]!r} has no value")
            continue
        explanation = score.get("explanation")
        text = explanation if isinstance(explanation, str) else None
        # A scorer that only repeats the answer explains nothing.
        if isinstance(reply.recorded, Answered) and text == reply.recorded.output:
            text = None
        for name, value in parts_of(scorer, score["value"]).items():
            if name in read.leave_out or scorer in read.leave_out:
                read.left_out |= {name, scorer}
                continue
            found = read_value(value)
            if isinstance(found, Unknown):
                read.unknown.setdefault(name, {}).setdefault(found.shown, where)
                continue
            number = found.value if isinstance(found, Number) else None
            if isinstance(found, Number) and found.judged:
                read.judged.add(name)
            read.given.append(_Given(reply, name, number, read.plain(text)))


def _beside(read: _Read, path: Path) -> None:
    """Scores of a file: each is of the answer that the log holds, and of no other."""
    file = read_scores_file(path)
    known = {given.name for given in read.given}
    for reply in read.made.replies:
        for one in file.of(reply.case, reply.trial + 1):
            if one.name in known:
                read.bad(
                    "scores",
                    f"{path.name} and the log both have scores {one.name!r}; rename the file",
                )
                return
            if one.judged:
                read.judged.add(one.name)
            read.given.append(_Given(reply, one.name, one.value, one.explanation))
    strangers = file.strangers(set(read.made.cases))
    if strangers:
        read.notes.append(
            f"{path.name}: {count(len(strangers), 'record')} of samples that the log does not have, ignored as in "
            f"Inspect: {listing(sorted(strangers), shown=3)}"
        )


def _suite(
    read: _Read, header: dict[str, Json], path: Path, suite: str | None, lower: Collection[str]
) -> Imported:
    ids = judge_ids(given.name for given in read.given)
    read.made.scores = [
        Score(given.reply, ids[given.name], given.value, given.explanation) for given in read.given
    ]
    metrics = [
        Metric(name, ids[name], yes_no=name in read.judged, lower=name in lower)
        for name in sorted(ids)
    ]
    read.made.cases = _in_order(read.made.cases, header["eval"].get("dataset"))
    task = str(header["eval"].get("task") or path.stem).rpartition("/")[2]
    notes = read.notes
    if read.changing:
        notes.append(
            f"metadata that differs between epochs was left out of {count(len(read.changing), 'case')}"
        )
    if read.left_out:
        notes.append(f"left out as you said: {', '.join(sorted(read.leave_out))}")
    return recorded_suite(
        slug(suite or task, "inspect"),
        [f"From the log {path.name} of Inspect, by `releasecheck import inspect`."],
        read.made,
        metrics,
        kind="scorer",
        mapped=[
            Mapped("sample", "case of cases.jsonl", len(read.made.cases)),
            Mapped("epoch", "trial", read.made.trials),
            Mapped(
                "output or error", "answer or failure of target recorded", len(read.made.replies)
            ),
        ],
        notes=(*read.plain.notes(), *notes),
    )


def _in_order(cases: dict[str, dict[str, Json]], dataset: Json) -> dict[str, dict[str, Json]]:
    """As the dataset had them: samples stand in a log as they were finished."""
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    named = [case_id(str(id_)) for id_ in ids] if isinstance(ids, list) else []
    place = {id_: number for number, id_ in enumerate(named)}
    return dict(sorted(cases.items(), key=lambda item: place.get(item[0], len(place))))
