"""Where the rules came from, and what a change would make of them, in words (G-27)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from releasecheck.stats import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from releasecheck.model.policy import DatasetChanges, Policy, PolicyChanges, SettingChange

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
IDS_SHOWN: Final = 10
"""Case ids in a line; the others are counted."""


def policy_words(policy: Policy) -> str:
    """`releasecheck.yaml of the base, at 3f2a9c1, sha256:...`."""
    where = {"base": " of the base", "head": " of this change, as asked for", "own": ""}
    of = " of this change, introduced by it" if policy.introduced else where[policy.mode]
    at = f", at {policy.commit}" if policy.commit and policy.mode != "own" else ""
    return f"{policy.file}{of}{at}, {policy.digest}"


def change_lines(changes: PolicyChanges | None) -> tuple[str, ...]:
    """Everything that is known to differ, a line for each: what applies first."""
    return () if changes is None else tuple(_lines(changes))


def _lines(changes: PolicyChanges) -> Iterator[str]:
    if changes.expect_cases is not None:
        yield f"{setting_words(changes.expect_cases)} (applies)"
    if changes.dataset is not None:
        yield from _dataset(changes.dataset)
    yield from (f"{setting_words(change)} (applies)" for change in changes.target)
    if changes.more_target:
        yield f"and {count(changes.more_target, 'more setting')} of the target"
    yield from map(setting_words, changes.settings)
    if changes.more_settings:
        yield f"and {count(changes.more_settings, 'more setting')}"
    yield from changes.notes


def setting_words(change: SettingChange) -> str:
    """`gate quality: min: 0.9 -> 0.1`."""
    before, after = _value(change.before), _value(change.after)
    match change.change:
        case "added":
            return f"{change.what} added: {after}"
        case "removed":
            return f"{change.what} removed (was {before})"
        case "changed":
            return f"{change.what}: {before} -> {after}"


def _value(text: str | None) -> str:
    """A digest is known by its beginning."""
    return text[:19] if text is not None and _DIGEST.fullmatch(text) else text or ""


def dataset_words(dataset: DatasetChanges) -> str:
    """`2 cases added, 1 case removed`; empty where nothing differs."""
    parts = (
        (dataset.added.count, "added"),
        (dataset.changed.count, "changed"),
        (dataset.removed.count, "removed"),
        (dataset.renamed.count, "renamed"),
    )
    return ", ".join(f"{count(number, 'case')} {how}" for number, how in parts if number)


def _dataset(dataset: DatasetChanges) -> Iterator[str]:
    for how, cases in (
        ("added", dataset.added),
        ("changed", dataset.changed),
        ("removed", dataset.removed),
    ):
        if cases.count:
            yield f"{count(cases.count, 'case')} {how}: {_listed(cases.ids, cases.count)}"
    renamed = dataset.renamed
    if renamed.count:
        pairs = [f"{before} -> {after}" for before, after in renamed.pairs]
        yield f"{count(renamed.count, 'case')} renamed: {_listed(pairs, renamed.count)}"


def _listed(names: Sequence[str], number: int) -> str:
    text = ", ".join(name[:80] for name in names[:IDS_SHOWN])
    more = number - min(len(names), IDS_SHOWN)
    return f"{text} and {more:,} more" if more else text
