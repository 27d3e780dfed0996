"""A suite whose rules come from another config than its cases and target (contract section 7)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode, Scalar, plain, problem_at, without
from releasecheck.config.suite import LoadedSuite, check_document, in_order, read_config
from releasecheck.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.config.suite import Read

OWN: Final = ("cases", "expect_cases", "target")
"""Keys that a change decides itself."""
_PROFILE: Final = re.compile(r"profiles\.[^.\[]+\.")


def load_suite_under(path: Path, policy: Path, profile: str | None = None) -> LoadedSuite:
    """Cases, their expected number and the target from `path`; everything else from `policy`.

    What is wrong in `path` outside of those three is no error here, since it does not count: it is kept
    in `LoadedSuite.elsewhere`.

    Raises:
        ConfigError: everything that is wrong with what counts, or `path` cannot be read at all.
    """
    own, rules = read_config(path, profile), read_config(policy, profile)
    counts = [problem for problem in own.problems if _is_own(problem, profile)]
    elsewhere = [problem for problem in own.problems if not _is_own(problem, profile)]
    problems = [*rules.problems, *counts, *_renamed(own, rules, path, policy)]
    problems += [
        Problem(f"`{key}` is missing; it is not taken from the policy", path.as_posix(), key=key)
        for key in ("cases", "target")
        if key not in own.chosen.entries
    ]
    if problems:
        raise ConfigError(in_order(problems))
    entries = dict(without(rules.chosen, *OWN).entries)
    entries |= {key: own.chosen.entries[key] for key in OWN if key in own.chosen.entries}
    document = MapNode(entries, rules.chosen.place)
    digests = dict(rules.digests)
    suite, found, notes = check_document(document, policy, digests)
    if found or suite is None:
        raise ConfigError(in_order(found))
    return LoadedSuite(
        suite,
        path,
        path.parent,
        policy,
        profile,
        rules.identity,
        digests,
        tuple(notes),
        document,
        tuple(in_order(elsewhere)),
    )


def _is_own(problem: Problem, profile: str | None) -> bool:
    """Whether a problem of reading is about something that the change decides itself."""
    key = problem.key or ""
    if profile is not None:
        key = key.removeprefix(f"profiles.{profile}.")
    if _PROFILE.match(key):  # an overlay that was not chosen
        return False
    return re.split(r"[.\[]", key, maxsplit=1)[0] in OWN


def _renamed(own: Read, rules: Read, path: Path, policy: Path) -> list[Problem]:
    """A suite under another name is another suite: its history and its gates are not those of this one."""
    if "suite" not in own.chosen.entries or "suite" not in rules.chosen.entries:
        return []  # said by whoever reads that config as a whole
    here, there = plain(own.chosen.entries["suite"].node), plain(rules.chosen.entries["suite"].node)
    if here == there:
        return []
    shown = here if isinstance(own.chosen.entries["suite"].node, Scalar) else "no text"
    message = (
        f"{path.as_posix()} is the suite {shown!r} and the policy {policy.as_posix()} the suite {there!r}: a "
        "suite that is renamed has no policy yet; give the policy of the same suite, or merge the new name first"
    )
    return [problem_at(own.chosen, ("suite",), message)]
