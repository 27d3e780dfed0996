"""Scores that people or other tools gave, read from a JSON Lines file."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from releasecheck.errors import ConfigError
from releasecheck.judges.answer import read_answer
from releasecheck.judges.outcome import cannot, shown
from releasecheck.judges.score_lines import ScoreLine, read_scores
from releasecheck.model.failure import failure
from releasecheck.model.score import Pending
from releasecheck.ports import Arrived, Collected, DeferredJudge, Judged, Purged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.judges.score_lines import Key, Scores
    from releasecheck.model.judge import PrecomputedJudge
    from releasecheck.model.score import JudgeAnswer
    from releasecheck.ports import JudgeAsk

_NAMED: Final = 5
"""Lines or digests that a message names."""


class Precomputed(DeferredJudge):
    """Looks scores up; with `wait` a score that is not there yet is pending."""

    def __init__(self, spec: PrecomputedJudge, root: Path, trials: int) -> None:
        """Take the judge, the config's folder, and how many trials each case of the suite has."""
        self._spec = spec
        self._path = root / spec.path
        self._trials = trials
        self._scores: Scores = {}
        self._seen: object = None
        self._reading = asyncio.Lock()

    @override
    async def judge(self, ask: JudgeAsk) -> Judged:
        try:
            scores = await self._read(anew=False)
        except ConfigError as error:
            message = "; ".join(str(problem) for problem in error.problems[:_NAMED])
            return Judged(cannot("unreadable_scores", message, cls="config", retryable=True))
        return Judged(self._answer(scores, (ask.case.id, ask.trial), ask.output_digest))

    @override
    async def collect(self, tickets: Sequence[str], within_s: float) -> Collected:
        try:
            scores = await self._read(anew=True)
        except ConfigError as error:
            message = "; ".join(str(problem) for problem in error.problems[:_NAMED])
            return Collected(failure=failure("config", "collect", "unreadable_scores", message))
        found: dict[str, Arrived] = {}
        strange = []
        for ticket in tickets:
            if (asked := _asked(ticket)) is None:
                strange.append(f"{shown(ticket)} is no ticket of this judge")
                continue
            answer = self._answer(scores, *asked)
            if not isinstance(answer, Pending):
                found[ticket] = Arrived(answer)
        return Collected(found, violations=tuple(strange))

    async def _read(self, *, anew: bool) -> Scores:
        """The scores; `anew` looks whether the file was changed since.

        Raises:
            ConfigError: the file holds a line that is no score.
        """
        async with self._reading:
            if self._seen is None or (anew and self._seen != self._state()):
                state = self._state()
                # Reading a million lines takes seconds, in which others have something to do.
                self._scores = await asyncio.to_thread(read_scores, self._path, self._spec)
                self._seen = state
            return self._scores

    def _state(self) -> object:
        try:
            found = self._path.stat()
        except OSError:
            return "absent"
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _answer(self, scores: Scores, pair: tuple[str, int], digest: str) -> JudgeAnswer:
        lines = self._lines(scores, pair)
        meant = [line for line in lines if line.output_digest in {None, digest}]
        given = [line for line in meant if line.value is not None]
        if not given:
            return self._none(pair, digest, [line for line in lines if line.value is not None])
        if any(line.trial is None for line in given) and self._trials > 1:
            message = (
                f"{self._spec.path}:{given[0].line}: the line of case {shown(pair[0])} names no trial, and the "
                f"suite has {self._trials} of each case; write `trial` (from 0) or `epoch` (from 1)"
            )
            return cannot("ambiguous", message)
        if len({float(line.value or 0) for line in given}) > 1:
            each = ", ".join(f"{line.value!r} in line {line.line}" for line in given[:_NAMED])
            message = f"{self._spec.path}: scores of one output that differ: {each}"
            return cannot("conflict", message)
        first = given[0]
        return read_answer(
            {"value": first.value, "reason": first.explanation}, self._spec.scale
        ).answer

    def _lines(self, scores: Scores, pair: tuple[str, int]) -> list[ScoreLine]:
        keys: tuple[Key, ...] = (pair, (pair[0], None))
        return [line for key in keys for line in scores.get(key, ())]

    def _none(self, pair: tuple[str, int], digest: str, others: list[ScoreLine]) -> JudgeAnswer:
        """Nobody judged this output; `others` are scores of another one of the same case and trial."""
        case, trial = pair
        if self._spec.wait:
            return Pending(json.dumps([case, trial, digest], ensure_ascii=True))
        if others:
            digests = ", ".join(f"{line.output_digest} in line {line.line}" for line in others)
            message = (
                f"{self._spec.path}: case {shown(case)}, trial {trial}: the score is of another answer "
                f"({digests}), the answer now is {digest}"
            )
            return cannot("stale_score", message)
        message = (
            f"{self._spec.path}: no score of case {shown(case)}, trial {trial}; add a line, or write "
            "`wait: true` so that it is waited for"
        )
        return cannot("no_score", message, retryable=True)

    @override
    async def purge(self, tickets: Sequence[str], within_s: float) -> Purged:
        return Purged("done", "nothing was sent anywhere: the scores stand in a file of the suite")

    @override
    async def aclose(self) -> None:
        return None


def _asked(ticket: str) -> tuple[tuple[str, int], str] | None:
    """What a ticket of ours is for: whoever collects may be another process."""
    try:
        case, trial, digest = json.loads(ticket)
    except (ValueError, TypeError):
        return None
    if isinstance(case, str) and isinstance(trial, int) and isinstance(digest, str):
        return (case, trial), digest
    return None
