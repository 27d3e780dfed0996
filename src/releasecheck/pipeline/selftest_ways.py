"""Two sides with no difference between them, made from what was measured: ways to repeat a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from releasecheck.model.table import NOT_APPLICABLE, CaseRow, ScoreTable
from releasecheck.stats import clusters_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.model.table import Flags, Floats, Indices


class Bits:
    """Random numbers from raw PCG64 bits: the same for a seed whatever the version of a library."""

    def __init__(self, seed: int) -> None:
        self._source = np.random.PCG64(seed)

    def shares(self, count: int) -> Floats:
        """Numbers from 0 up to, not including, 1."""
        raw = np.atleast_1d(self._source.random_raw(count)) >> np.uint64(11)
        return raw.astype(np.float64) * 2.0**-53

    def below(self, limit: int, count: int) -> Indices:
        """Whole numbers below `limit`."""
        return (self.shares(count) * limit).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Side:
    """What one side of a comparison shows for each case."""

    rows: Indices
    """[n]: which row of the pool stands in each case's place."""
    trials: Indices
    """[n, t]: which trials of it."""

    def table(self, pool: ScoreTable, cases: tuple[CaseRow, ...]) -> ScoreTable:
        """The score table of a run that never was."""
        at = (self.rows[:, None], self.trials)
        return ScoreTable(
            cases=cases,
            judges=pool.judges,
            trials=self.trials.shape[1],
            target=pool.target[at],
            latency_ms=pool.latency_ms[at],
            cost_usd=pool.cost_usd[at],
            tokens=pool.tokens[at],
            state=pool.state[at],
            value=pool.value[at],
            passed=pool.passed[at],
            mendable=pool.mendable[at],
        )


class Way(Protocol):
    """How two sides are made from a pool of rows."""

    @property
    def name(self) -> str:
        """For programs."""
        ...

    @property
    def widened(self) -> float:
        """By how much larger the error of a mean is than between two whole runs."""
        ...

    @property
    def words(self) -> str:
        """For people: what is set against what, and in what it differs from two real runs."""
        ...

    def draw(self, bits: Bits) -> tuple[Side, Side]:
        """Candidate and baseline of one round."""
        ...


@dataclass(frozen=True, slots=True)
class Trials:
    """One run with several trials: half of each case's trials against the other half."""

    cases: int
    trials: int
    name: str = "trials"

    @property
    def widened(self) -> float:
        """See `Way`."""
        half = self.trials // 2
        return math.sqrt((1 / half + 1 / (self.trials - half)) * self.trials / 2)

    @property
    def words(self) -> str:
        """See `Way`."""
        half = self.trials // 2
        return (
            f"half of each case's {self.trials} trials against the other half. A side has {half} where a run has "
            f"{self.trials}, so real runs differ less than these, and a gate sees more of them"
        )

    def draw(self, bits: Bits) -> tuple[Side, Side]:
        """See `Way`."""
        order = np.argsort(bits.shares(self.cases * self.trials).reshape(self.cases, -1), axis=1)
        half, rows = self.trials // 2, np.arange(self.cases)
        one, other = Side(rows, order[:, :half]), Side(rows, order[:, half:])
        return (one, other) if bits.shares(1)[0] < 0.5 else (other, one)


@dataclass(frozen=True, slots=True)
class Runs:
    """Several runs: two of them, each case's answers swapped between the two by the toss of a coin."""

    cases: int
    trials: int
    runs: int
    clusters: Indices
    """Of the cases: what wobbles together is swapped together."""
    name: str = "runs"
    widened: float = 1.0

    @property
    def words(self) -> str:
        """See `Way`."""
        return (
            f"two of {self.runs} runs at a time, each case's answers swapped between them at random"
        )

    def draw(self, bits: Bits) -> tuple[Side, Side]:
        """See `Way`."""
        first = int(bits.below(self.runs, 1)[0])
        second = (first + 1 + int(bits.below(self.runs - 1, 1)[0])) % self.runs
        swapped = (bits.shares(int(self.clusters.max()) + 1) < 0.5)[self.clusters]
        rows = np.arange(self.cases)
        trials = np.tile(np.arange(self.trials), (self.cases, 1))
        here = rows + np.where(swapped, second, first) * self.cases
        there = rows + np.where(swapped, first, second) * self.cases
        return Side(here, trials), Side(there, trials)


@dataclass(frozen=True, slots=True)
class Cases:
    """One run with one trial: on either side each case's place is taken by one drawn from its like.

    Whole clusters are drawn where there are some. Two real runs have their cases in common, so nothing can
    be noisier than this.
    """

    groups: tuple[Indices, ...]
    """Cases that every gate treats alike."""
    group: Indices
    """Of each case."""
    clusters: Indices | None
    name: str = "cases"
    widened: float = 1.0

    @property
    def words(self) -> str:
        """See `Way`."""
        what = "clusters of cases" if self.clusters is not None else "cases"
        return (
            f"two sets of as many {what} drawn from the baseline, as if each were the other's second run: the worst "
            "case, in which two runs have nothing in common. A baseline with several trials, or --runs, tells more"
        )

    def draw(self, bits: Bits) -> tuple[Side, Side]:
        """See `Way`."""
        trials = np.zeros((self.group.size, 1), dtype=np.intp)
        return Side(self._rows(bits), trials), Side(self._rows(bits), trials)

    def _rows(self, bits: Bits) -> Indices:
        rows = np.empty(self.group.size, dtype=np.intp)
        for members in self.groups:
            rows[members] = members[bits.below(members.size, members.size)]
        if self.clusters is None:
            return rows
        # A place is filled from the cluster drawn for its own, where that has one of its like.
        count = int(self.clusters.max()) + 1
        source = bits.below(count, count)[self.clusters]
        shares = bits.shares(rows.size)
        homes = _by_home(self.clusters, self.group)
        for place, key in enumerate(zip(source.tolist(), self.group.tolist(), strict=True)):
            like = homes.get(key)
            if like is not None:
                rows[place] = like[int(shares[place] * len(like))]
        return rows


def _by_home(clusters: Indices, group: Indices) -> dict[tuple[int, int], list[int]]:
    homes: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(zip(clusters.tolist(), group.tolist(), strict=True)):
        homes.setdefault(key, []).append(row)
    return homes


def cases_way(table: ScoreTable, cases: Sequence[CaseRow], chosen: Sequence[Flags]) -> Cases:
    """The way for a single trial.

    Args:
        table: Of the one run, in the order of `cases`.
        cases: As they are now.
        chosen: For each gate which of the cases are its own.
    """
    lacks = (table.state == NOT_APPLICABLE).any(axis=1)
    marks = np.concatenate(
        [np.array(chosen, dtype=np.bool_).reshape(-1, len(cases)).T, lacks], axis=1
    )
    _, group = np.unique(marks, axis=0, return_inverse=True)
    group = group.reshape(-1)
    groups = tuple(np.flatnonzero(group == number) for number in range(int(group.max()) + 1))
    return Cases(groups, group, clusters_of([case.cluster for case in cases]))


def stacked(tables: Sequence[ScoreTable]) -> ScoreTable:
    """Several runs over the same cases, one below the other."""
    first = tables[0]
    return ScoreTable(
        cases=tuple(row for table in tables for row in table.cases),
        judges=first.judges,
        trials=first.trials,
        target=np.concatenate([table.target for table in tables]),
        latency_ms=np.concatenate([table.latency_ms for table in tables]),
        cost_usd=np.concatenate([table.cost_usd for table in tables]),
        tokens=np.concatenate([table.tokens for table in tables]),
        state=np.concatenate([table.state for table in tables]),
        value=np.concatenate([table.value for table in tables]),
        passed=np.concatenate([table.passed for table in tables]),
        mendable=np.concatenate([table.mendable for table in tables]),
    )
