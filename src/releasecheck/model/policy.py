"""Where the rules of a run came from, and what a change would make of them (G-27).

A change decides nothing about the rules it is itself checked by; what it would change is frozen beside the
plan, bounded, and shown.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from releasecheck.model.base import Digest, Document, FromList

PolicyMode: TypeAlias = Literal["base", "head", "own"]
"""base: of the commit that the change would be merged into. head: of the change itself, because that was
asked for. own: nobody named another config."""


class SettingChange(Document):
    """One setting that the change would add, remove or change."""

    what: str
    """`gate quality: min`, `judge tone: file judge.py`, `trials`."""
    change: Literal["added", "removed", "changed"]
    """Which of the three."""
    before: str | None = None
    """Its value in the policy as JSON, shortened; None where it is added."""
    after: str | None = None
    """Its value in the change; None where it is removed."""


class CaseIds(Document):
    """How many cases, and the first of them."""

    count: int = 0
    """How many."""
    ids: Annotated[tuple[str, ...], FromList] = ()
    """In dataset order; `count` minus their number are left out."""


class RenamedCases(Document):
    """Cases with the same content under another id, unique on both sides."""

    count: int = 0
    """How many."""
    pairs: Annotated[tuple[tuple[str, str], ...], FromList] = ()
    """(id at the base, id now); `count` minus their number are left out."""


class DatasetChanges(Document):
    """How the dataset differs from the one that the policy's config names."""

    before: int
    """Cases there."""
    after: int
    """Cases here."""
    added: CaseIds = CaseIds()
    """Ids that are only here."""
    changed: CaseIds = CaseIds()
    """The same id with other content, split or tags."""
    removed: CaseIds = CaseIds()
    """Ids that are only there."""
    renamed: RenamedCases = RenamedCases()
    """The same content under another id."""

    @property
    def any(self) -> bool:
        """Whether there is a difference."""
        found = (self.added, self.changed, self.removed, self.renamed)
        return any(cases.count for cases in found)


class PolicyChanges(Document):
    """What differs between the config under check and the one that the rules come from."""

    expect_cases: SettingChange | None = None
    """Applies, and is therefore shown first."""
    settings: Annotated[tuple[SettingChange, ...], FromList] = ()
    """Gates, judges and their files, baseline and all other settings."""
    more_settings: int = 0
    """How many of them are left out."""
    target: Annotated[tuple[SettingChange, ...], FromList] = ()
    """Settings of the target; they apply."""
    more_target: int = 0
    """How many of them are left out."""
    dataset: DatasetChanges | None = None
    """None where the cases at the base cannot be read."""
    notes: Annotated[tuple[str, ...], FromList] = ()
    """What could not be compared, and why."""

    @property
    def any(self) -> bool:
        """Whether there is anything to show."""
        data = self.dataset is not None and self.dataset.any
        return bool(self.expect_cases or self.settings or self.target or self.notes) or data


class Policy(Document):
    """Where gates and judges came from."""

    file: str
    """The config file's name."""
    digest: Digest
    """Over its bytes; with `extends` over the digests of both files."""
    commit: str | None = None
    """Of the folder it was read from, where it is known."""
    mode: PolicyMode = "own"
    """Whose rules they are."""
    introduced: bool = False
    """There was no config at the base, so that the change's own one counts."""
    changes: PolicyChanges | None = None
    """None where there is no other config to compare with."""


class Adopted(Document):
    """The untrusted run whose cases a plan took, and whose outputs are judged."""

    run_id: str
    """That run."""
    plan_digest: Digest
    """As its plan and its result files say; nothing else is taken from files that say so."""
