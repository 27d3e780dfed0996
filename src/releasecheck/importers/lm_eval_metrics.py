"""Metrics of lm-evaluation-harness: their values for one document, and which way is better."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.config.rows import kind
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.tolerant import Strange, parse_tolerant

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json

_YES_NO: Final = frozenset({"acc", "acc_norm", "acc_bytes", "acc_mutual_info", "exact_match", "em"})
_HIGHER: Final = _YES_NO | {"f1", "mcc", "bleu", "rouge1", "rouge2", "rougeL", "chrf", "pass@1"}
_LOWER: Final = frozenset({
    "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score", "ter", "loss", "wer",
})  # fmt: skip
"""What the tool's own registry says of its metrics."""


@dataclass(frozen=True, slots=True)
class Given:
    """A metric's value for one document."""

    value: float | bool | None
    """None where it is no number."""


def read_number(value: Json) -> Given | str:
    """The value; or what stands there instead."""
    if value is None or isinstance(value, Strange):
        return Given(None)
    if isinstance(value, bool | int | float):
        return Given(value)
    return f"expected a number, found {kind(value)}: it is computed over all documents at once"


@dataclass(frozen=True, slots=True)
class Directions:
    """Which way each metric improves: as the command line says, then the results file, then the tool's registry."""

    said_lower: frozenset[str]
    said_higher: frozenset[str]

    @classmethod
    def of(
        cls, results: Path | None, task: str, *, lower: Collection[str], higher: Collection[str]
    ) -> Directions:
        """Read them.

        Raises:
            ConfigError: the results file is none, or a metric was said to improve both ways.
        """
        both = sorted(frozenset(lower) & frozenset(higher))
        if both:
            message = f"{', '.join(both)}: either lower or higher is better"
            raise ConfigError([Problem(message)])
        written = {} if results is None else _higher_is_better(results, task)
        told = {**written, **dict.fromkeys(lower, False), **dict.fromkeys(higher, True)}
        return cls(
            frozenset(name for name, up in told.items() if not up),
            frozenset(name for name, up in told.items() if up),
        )

    def lower(self, name: str) -> bool:
        """Whether a lower value is better."""
        return name in self.said_lower or (name in _LOWER and name not in self.said_higher)

    def yes_no(self, name: str) -> bool:
        """Whether it says right or wrong."""
        return name in _YES_NO

    def unknown(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """The names of which nobody says which way is better, with what to do."""
        known = self.said_lower | self.said_higher | _HIGHER | _LOWER
        for name in sorted(set(names) - known):
            yield (
                name,
                "which way this metric is better is not known: name the results file with --results, or say "
                f"`--higher-is-better {name}` or `--lower-is-better {name}`",
            )


def _higher_is_better(results: Path, task: str) -> dict[str, bool]:
    shown = results.as_posix()
    found = parse_tolerant(read_text(results), shown)
    if not isinstance(found, dict):
        message = "expected the results of lm-evaluation-harness, a JSON object"
        raise ConfigError([Problem(message, shown, 1)])
    tasks = found.get("higher_is_better")
    metrics = tasks.get(task) if isinstance(tasks, dict) else None
    if not isinstance(metrics, dict):
        return {}
    return {name: up for name, up in metrics.items() if isinstance(up, bool)}
