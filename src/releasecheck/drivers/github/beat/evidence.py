"""What a run's artifacts say by their names: which suites it planned, and what each attempt left (P-04)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from releasecheck.drivers.github.artifacts import Artifact, Found, choose
from releasecheck.drivers.github.names import (
    ArtifactName,
    PlanName,
    ScorecardName,
    ShardName,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from releasecheck.drivers.github.beat.cards import Card, Reader

N = TypeVar("N", bound=ArtifactName)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One plan of a run, and what was made of it."""

    suite: str
    plan12: str
    plans: tuple[Found[PlanName], ...]
    shards: tuple[Found[ShardName], ...]
    """In order of shard and attempt."""
    scorecards: tuple[Found[ScorecardName], ...]
    """In order of attempt and upload."""

    @property
    def expired(self) -> bool:
        """Whether no attempt can read the plan any more."""
        return all(one.artifact.expired for one in self.plans)

    def newest(self, reader: Reader) -> Card | None:
        """The last decision that can be read.

        Raises:
            ArtifactExpired: nobody can know any more.
            GitHubError: as for any request.
        """
        cards = (reader.card(one) for one in reversed(self.scorecards))
        return next((card for card in cards if card is not None), None)

    def cards(self, reader: Reader, up_to: int) -> dict[int, Card]:
        """The decision of each attempt, those that left none that can be read left out."""
        read = [
            reader.card(one)
            for one in self.scorecards
            if one.name.attempt <= up_to and not one.artifact.expired
        ]
        return {card.attempt: card for card in read if card is not None}

    def shards_of(self, attempt: int) -> tuple[Found[ShardName], ...]:
        """The result files of one attempt."""
        return tuple(one for one in self.shards if one.name.attempt == attempt)

    def new_indices(self, attempt: int) -> frozenset[int]:
        """Shards whose first result file is of this attempt."""
        before = {one.name.index for one in self.shards if one.name.attempt < attempt}
        return frozenset(one.name.index for one in self.shards_of(attempt)) - before


def suites_of(artifacts: Iterable[Artifact]) -> frozenset[str]:
    """The suites that artifacts of ours belong to."""
    names = (parse(one.name) for one in artifacts)
    return frozenset(name.suite for name in names if name is not None)


def planned(artifacts: tuple[Artifact, ...]) -> tuple[Planned, ...]:
    """Every plan that still counts: one of an earlier attempt does not, when its suite was planned again."""
    groups = [_group(artifacts, suite, plan12) for suite, plan12 in sorted(set(_plans(artifacts)))]
    last = {
        suite: max(_attempt(one) for one in groups if one.suite == suite)
        for suite in {one.suite for one in groups}
    }
    return tuple(one for one in groups if _attempt(one) == last[one.suite])


def _attempt(group: Planned) -> int:
    return max(one.name.attempt for one in group.plans)


def _plans(artifacts: tuple[Artifact, ...]) -> list[tuple[str, str]]:
    names = (parse(one.name) for one in artifacts)
    return [(name.suite, name.plan) for name in names if isinstance(name, PlanName)]


def _group(artifacts: tuple[Artifact, ...], suite: str, plan12: str) -> Planned:
    scorecards = choose(artifacts, ScorecardName, suite=suite, plan=plan12)
    return Planned(
        suite=suite,
        plan12=plan12,
        plans=choose(artifacts, PlanName, suite=suite, plan=plan12),
        shards=choose(artifacts, ShardName, suite=suite, plan=plan12),
        scorecards=tuple(sorted(scorecards, key=lambda one: (one.name.attempt, one.name.upload))),
    )
