"""Inspect's text scorers as judges: ours where one means the same, else a module in the suite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import Mapped
from releasecheck.importers.replay import SCORES, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json

Location: TypeAlias = Literal["begin", "end", "any", "exact"]
SCORERS: Final = ("match", "includes", "exact", "pattern", "none")
JUDGES: Final = "judges.py"


@dataclass(frozen=True, slots=True)
class Scorer:
    """A scorer with its options, the defaults being Inspect's."""

    name: str
    location: Location = "end"
    """Of `match`."""
    ignore_case: bool = True
    pattern: str | None = None
    """Of `pattern`."""
    match_all: bool = False
    """Of `pattern`: whether every group must have caught a target."""

    @property
    def compares(self) -> bool:
        """Whether it needs the samples' targets."""
        return self.name != "none"


def scorer_of(
    name: str, *, location: str, case_sensitive: bool, pattern: str | None, match_all: bool
) -> Scorer:
    """A scorer as the command line names it.

    Raises:
        ConfigError: options that this scorer does not take, or a pattern that is none.
    """
    wrong = []
    if (pattern is None) is (name == "pattern"):
        words = (
            "needs --pattern, its regular expression" if name == "pattern" else "takes no --pattern"
        )
        wrong.append(f"--scorer {name} {words}")
    if match_all and name != "pattern":
        wrong.append(f"--scorer {name} takes no --match-all")
    if location != "end" and name != "match":
        wrong.append(f"--scorer {name} takes no --location")
    if case_sensitive and name in {"exact", "none"}:
        wrong.append(f"--scorer {name} takes no --case-sensitive")
    if pattern is not None:
        try:
            re.compile(pattern)
        except (re.error, RecursionError) as error:
            wrong.append(f"--pattern is no regular expression: {error}")
    if wrong:
        raise ConfigError([Problem(message) for message in wrong])
    place: Location = next(one for one in ("begin", "end", "any", "exact") if one == location)
    return Scorer(name, place, not case_sensitive, pattern, match_all)


def scorer_judge(
    scorer: Scorer, expected: Sequence[Json]
) -> tuple[dict[str, Json], dict[str, bytes], Mapped]:
    """The judge, the files it needs, and what to say about it."""
    if scorer.name == "none":
        judge: dict[str, Json] = {
            "id": "scores",
            "type": "precomputed",
            "path": SCORES,
            "wait": True,
        }
        became = f"judge scores (precomputed, waits for {SCORES})"
        return judge, {}, Mapped("no scorer", became)
    single = all(isinstance(one, str) for one in expected)
    if scorer.name == "includes" and single:
        # `contains` wants all of a list, Inspect any of it: the same where there is one.
        steps: dict[str, Json] = {"normalize": ["casefold"]} if scorer.ignore_case else {}
        judge = {"id": "includes", "type": "contains", **steps}
        words = "contains, normalize: casefold" if scorer.ignore_case else "contains"
        return judge, {}, Mapped("scorer includes()", f"judge includes ({words})")
    judge = {
        "id": scorer.name,
        "type": "python",
        "function": f"judges:{scorer.name}",
        "scale": [0, 1],
        "pass_at": 1,
    }
    module = (WRITTEN / "inspect_scorers.py").read_bytes() + _settings(scorer)
    found = Mapped(f"scorer {scorer.name}({_options(scorer)})", f"judge {scorer.name} ({JUDGES})")
    return judge, {JUDGES: module}, found


def _options(scorer: Scorer) -> str:
    options = []
    if scorer.name == "match" and scorer.location != "end":
        options.append(f'location="{scorer.location}"')
    if not scorer.ignore_case:
        options.append("ignore_case=False")
    if scorer.match_all:
        options.append("match_all=True")
    return ", ".join(options)


def _settings(scorer: Scorer) -> bytes:
    """The options as the last lines of the module, where they are part of the judge's digest."""
    text = (
        f"\nLOCATION = {scorer.location!r}\nIGNORE_CASE = {scorer.ignore_case!r}\n"
        f"PATTERN = {scorer.pattern or ''!r}\nMATCH_ALL = {scorer.match_all!r}\n"
    )
    return text.encode("utf-8")
