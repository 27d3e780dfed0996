"""The flaky cases of a history: a report for people and programs, and a quarantine to fill in."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.scorecard.escape import visible
from releasecheck.stats import count, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json

SHOWN: Final = 20
"""Cases that the report for people shows."""
OFFERED: Final = 5
"""Cases of the quarantine that it offers."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What was found and takes no part."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Flaky:
    """One case whose verdict by one judge is unstable."""

    case: str
    """Its id in the last run."""
    case_digest: str
    judge: str
    judge_digest: str
    runs: int
    passes: int
    flips_same_commit: int
    """Changes between two runs of the same target at the same commit."""
    flips_other_commit: int
    """Changes between two runs of the same target, at other commits or where one is not known."""
    trials_disagree: int
    """Runs in which some of its trials passed and others failed."""
    last_seen: str
    last_run: str
    verdicts: tuple[tuple[str, bool], ...]
    """Run and whether it passed, the earliest first."""

    @property
    def kind(self) -> str:
        """`flaky`: it changed with nothing else changed; `suspicious`: the code may have."""
        return "flaky" if self.flips_same_commit or self.trials_disagree else "suspicious"

    @property
    def seen(self) -> str:
        """What it did, in a few words."""
        flips = self.flips_same_commit + self.flips_other_commit
        runs = count(self.runs, "run")
        text = f"{count(flips, 'flip')} in {runs}"
        return (
            f"{text}, trials disagreed in {self.trials_disagree}" if self.trials_disagree else text
        )

    @property
    def order(self) -> tuple[int, float, int, str, str]:
        """The least stable first."""
        sure = self.flips_same_commit + self.trials_disagree
        return -sure, -sure / self.runs, -self.flips_other_commit, self.case, self.judge

    def to_json(self) -> dict[str, Json]:
        """The entry of a report."""
        document = asdict(self)
        document["kind"] = self.kind
        document["verdicts"] = [{"run_id": run, "passed": passed} for run, passed in self.verdicts]
        return document


@dataclass(frozen=True, slots=True)
class Report:
    """What a history says about its cases."""

    runs: tuple[str, ...]
    comparable: int
    """Runs that share a case, a judge and a target with another one."""
    judged: int
    """Verdicts that were followed over several of them."""
    min_runs: int
    cases: tuple[Flaky, ...]
    """The least stable first."""
    left_out: tuple[LeftOut, ...]

    @property
    def exit_code(self) -> int:
        """2 where too few runs can be compared to say anything."""
        return 0 if self.comparable >= 2 else 2

    @property
    def flaky(self) -> tuple[Flaky, ...]:
        """Those that changed with nothing else changed."""
        return tuple(one for one in self.cases if one.kind == "flaky")

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "schema": "releasecheck/flaky@1",
            "runs": list(self.runs),
            "comparable_runs": self.comparable,
            "verdicts_followed": self.judged,
            "min_runs": self.min_runs,
            "cases": [one.to_json() for one in self.cases],
            "left_out": [asdict(one) for one in self.left_out],
            "quarantine": "\n".join(self.quarantine()) or None,
        }

    def lines(self) -> Iterator[str]:
        """The report for people: what it comes to, the cases, what to do."""
        yield self._headline()
        if self.cases:
            yield f"{'':<12}{'runs':>5}{'passes':>8}{'flips':>7}{'other':>7}{'trials':>8}  last seen"
        for one in self.cases[:SHOWN]:
            yield (
                f"{one.kind:<12}{one.runs:>5}{one.passes:>8}{one.flips_same_commit:>7}"
                f"{one.flips_other_commit:>7}{one.trials_disagree:>8}  {one.last_seen[:10]}  "
                f"{one.judge}: {quote(one.case)}"
            )
        if len(self.cases) > SHOWN:
            yield f"and {len(self.cases) - SHOWN} more; --json has all of them"
        if self.cases:
            yield (
                "flips: between runs of the same target and commit; other: at another commit, or one that is not "
                "known; trials: runs in which trials disagree"
            )
        for left in self.left_out:
            yield f"left out  {left.path}: {left.why}"
        if self.flaky:
            yield "do        mend them, or leave them out for a while; fill in who, why and until when:"
            yield from self.quarantine()

    def quarantine(self) -> Iterator[str]:
        """The worst ones as a section of a config, which is refused until somebody has filled it in."""
        if not self.flaky:
            return
        yield "quarantine:"
        for one in self.flaky[:OFFERED]:
            yield f"  - case: {yaml_text(one.case)}"
            yield f"    judge: {yaml_text(one.judge)}"
            yield "    owner:   # who will mend it"
            yield f"    reason:  # why; {one.seen}"
            yield "    until:   # the last day"

    def _headline(self) -> str:
        if self.exit_code != 0:
            return (
                f"nothing can be said of changes between runs: {count(len(self.runs), 'finished run')} found, and "
                f"it takes {self.min_runs} with the same cases, judges and target"
            )
        over = f"{self.judged} verdicts followed over {self.comparable} comparable runs"
        odd = len(self.cases) - len(self.flaky)
        more = f", {odd} more {'is' if odd == 1 else 'are'} suspicious" if odd else ""
        if self.flaky:
            return f"{len(self.flaky)} flaky{more}: {over}"
        return f"no case is flaky{more}: {over}"


def yaml_text(text: str) -> str:
    """A YAML scalar in quotes, which a terminal or build log shows as it is."""
    return '"' + "".join(map(_yaml_char, text)) + '"'


def _yaml_char(char: str) -> str:
    if char in '"\\':
        return "\\" + char
    # A build log reads commands out of `##[` and `::`; escaped they are text, and the same text for YAML.
    if char.isprintable() and visible(char) == char and char not in "#:":
        return char
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
