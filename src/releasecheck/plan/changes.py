"""What differs between two configs and their cases, bounded: shown, never decided from (G-27)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from releasecheck.canonical import dump_line
from releasecheck.model.policy import CaseIds, DatasetChanges, RenamedCases, SettingChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.case import Case

MOST_SETTINGS: Final = 100
"""Changed settings that a plan names; the others are counted."""
MOST_CASES: Final = 50
"""Case ids that a plan names of each kind of change; the others are counted."""
LONGEST_VALUE: Final = 200
"""Characters of an old or new value that are kept."""
APART: Final = frozenset({"version", "suite", "cases", "expect_cases", "target"})
"""Keys of a suite that are no policy, or are shown by themselves."""
BY_ID: Final = {"gates": "gate", "judges": "judge"}
"""Lists of a suite whose entries are known by their ids."""


def setting_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[SettingChange]:
    """How the policy of one suite differs from that of another, both in JSON with their defaults."""
    found: list[SettingChange] = []
    for section, word in BY_ID.items():
        old, new = _by_id(before.get(section)), _by_id(after.get(section))
        for name in dict.fromkeys([*old, *new]):
            found += _differences(f"{word} {name}", old.get(name), new.get(name))
    for key in sorted(before.keys() | after.keys()):
        if key not in APART and key not in BY_ID:
            found += _differences(key, before.get(key), after.get(key))
    return found


def target_changes(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[SettingChange]:
    """How the settings of two targets differ."""
    return list(_differences("target", dict(before), dict(after)))


def file_changes(
    what: str, before: Mapping[str, str], after: Mapping[str, str]
) -> list[SettingChange]:
    """How the files of one thing differ, both by name and digest."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old != new:
            found.append(_change(f"{what}: file {name}", old, new))
    return found


def pin_change(before: int | None, after: int | None) -> SettingChange | None:
    """How the expected number of cases differs."""
    return None if before == after else _change("expect_cases", before, after)


def dataset_changes(
    before: Sequence[Case], after: Sequence[Case], *, partial: bool = False
) -> DatasetChanges:
    """Cases that were added, changed, removed or renamed.

    Of a `partial` set nothing follows about cases that it does not hold.
    """
    old = {case.id: case for case in before}
    new = {case.id: case for case in after}
    was, now = (
        {name: c.digest for name, c in old.items()},
        {name: c.digest for name, c in new.items()},
    )
    here, there = Counter(was.values()), Counter(now.values())
    by_content = {content: name for name, content in now.items() if name not in old}
    renamed = [
        (name, by_content[content])
        for name, content in was.items()
        if name not in new and content in by_content and here[content] == there[content] == 1
    ]
    gone, come = {one for one, _ in renamed}, {other for _, other in renamed}
    return DatasetChanges(
        before=len(before),
        after=len(after),
        added=_ids([name for name in new if name not in old and name not in come]),
        changed=_ids(
            [
                name
                for name, case in new.items()
                if name in old
                and (was[name], old[name].split, sorted(old[name].tags))
                != (now[name], case.split, sorted(case.tags))
            ]
        ),
        removed=_ids(
            [] if partial else [name for name in old if name not in new and name not in gone]
        ),
        renamed=RenamedCases(count=len(renamed), pairs=tuple(renamed[:MOST_CASES])),
    )


def _ids(names: Sequence[str]) -> CaseIds:
    return CaseIds(count=len(names), ids=tuple(names[:MOST_CASES]))


def _by_id(entries: Json) -> dict[str, Json]:
    if not isinstance(entries, list):
        return {}
    return {str(entry["id"]): entry for entry in entries if isinstance(entry, dict)}


def _differences(what: str, before: Json, after: Json) -> Iterator[SettingChange]:
    """Keys of objects one by one; everything else, lists too, as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        # Another type is another thing, and says more than all that comes with it.
        for key in sorted(before.keys() | after.keys(), key=lambda key: (key != "type", key)):
            place = f"{what}.{key}" if ": " in what or " " not in what else f"{what}: {key}"
            yield from _differences(place, before.get(key), after.get(key))
    elif before != after or type(before) is not type(after):
        yield _change(what, before, after)


def _change(what: str, before: Json, after: Json) -> SettingChange:
    what = _cut(what)
    if before is None:
        return SettingChange(what=what, change="added", after=_shown(after))
    if after is None:
        return SettingChange(what=what, change="removed", before=_shown(before))
    return SettingChange(what=what, change="changed", before=_shown(before), after=_shown(after))


def _shown(value: Json) -> str:
    if isinstance(value, dict):  # a whole judge or gate: what is not set says nothing
        value = {key: item for key, item in value.items() if item is not None}
    return _cut(value if isinstance(value, str) else dump_line(value).decode("utf-8").rstrip("\n"))


def _cut(text: str) -> str:
    """At most so long, and one line: names and values are those of whoever made the change."""
    more = len(text) - LONGEST_VALUE
    kept = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text[:LONGEST_VALUE])
    return f"{kept} [{more:,} more characters]" if more > 0 else kept
