"""Two finished runs side by side: flips and metric differences; nothing is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from releasecheck.gates import case_changes, flips
from releasecheck.metrics import measure
from releasecheck.pipeline.baselines import read_baseline
from releasecheck.pipeline.models import other_models
from releasecheck.stats import count, exact, to_float

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import CaseChanges, Flips, Metric


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """One metric on both sides."""

    base: Metric | None
    candidate: Metric | None
    around: tuple[float, float] | None = None
    """The interval of the difference, where it has one."""

    @property
    def delta(self) -> float | None:
        """Candidate minus base; None unless both were measured completely."""
        one, other = self.base, self.candidate
        if one is None or other is None or one.value is None or other.value is None:
            return None
        if one.n_scored != one.n_expected or other.n_scored != other.n_expected:
            return None
        return to_float(exact(other.value) - exact(one.value))

    def to_json(self) -> dict[str, Json]:
        """Both sides and the difference."""
        some = self.candidate or self.base
        assert some is not None  # noqa: S101 - made from at least one side
        return {
            "metric": some.metric,
            "split": some.split,
            "stat": some.stat,
            "base": None if self.base is None else self.base.model_dump(mode="json"),
            "candidate": None if self.candidate is None else self.candidate.model_dump(mode="json"),
            "delta": self.delta,
            "delta_ci_low": None if self.around is None else self.around[0],
            "delta_ci_high": None if self.around is None else self.around[1],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a candidate differs from a base."""

    base: str
    candidate: str
    metrics: tuple[MetricDifference, ...]
    flips: dict[str, Flips]
    cases: CaseChanges
    judges_changed: tuple[str, ...]
    models: str = ""
    """That another model answered; empty where the same did, or one side does not say."""

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        return {
            "base": self.base,
            "candidate": self.candidate,
            "metrics": [metric.to_json() for metric in self.metrics],
            "flips": {judge: found.model_dump(mode="json") for judge, found in self.flips.items()},
            "cases": self.cases.model_dump(mode="json"),
            "judges_changed": list(self.judges_changed),
            "models": self.models or None,
        }

    def lines(self) -> list[str]:
        """The report for people."""
        lines = [_metric_line(metric) for metric in self.metrics]
        for judge, found in sorted(self.flips.items()):
            for title, ids in (("fails", found.new_failures), ("passes", found.new_passes)):
                lines += [f"  {judge}: now {title}: {case}" for case in ids]
            lines.append(
                f"{judge}: {count(len(found.new_failures), 'case')} newly failing, "
                f"{count(len(found.new_passes), 'case')} newly passing"
            )
        cases = self.cases
        lines.append(
            f"cases: {cases.same} the same, {len(cases.changed)} changed, {len(cases.added)} added, "
            f"{len(cases.removed)} removed, {len(cases.renamed)} renamed"
        )
        lines += [
            f"judge {judge} changed: its scores do not compare" for judge in self.judges_changed
        ]
        lines += [self.models] if self.models else []
        return lines


def _metric_line(entry: MetricDifference) -> str:
    some = entry.candidate or entry.base
    assert some is not None  # noqa: S101 - made from at least one side
    sides = " -> ".join(_side(metric) for metric in (entry.base, entry.candidate))
    delta = "" if entry.delta is None else f" ({entry.delta:+.6g}{_around(entry.around)})"
    return f"{some.metric} {some.stat} in {some.split}: {sides}{delta}"


def _around(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f", {interval[0]:+.4g} to {interval[1]:+.4g}"


def _side(metric: Metric | None) -> str:
    if metric is None:
        return "absent"
    if metric.value is None:
        return "not measured"
    interval = "" if metric.ci_low is None else f" [{metric.ci_low:.4g}, {metric.ci_high:.4g}]"
    return f"{metric.value:.6g}{interval} ({metric.n_scored} of {metric.n_expected})"


def compare(base: Path, candidate: Path) -> Comparison:
    """Compare two bundles or baseline folders.

    Raises:
        UsageError, Untrusted: one of them cannot be read or contradicts itself.
    """
    one, other = read_baseline(base, "compared"), read_baseline(candidate, "compared")
    keyed = [
        {(metric.metric, metric.split, metric.stat): metric for metric in side.scorecard.metrics}
        for side in (one, other)
    ]
    keys = dict.fromkeys([*keyed[1], *keyed[0]])
    around = {
        (metric.metric, metric.split, metric.stat): (metric.delta_ci_low, metric.delta_ci_high)
        for metric in measure(other.baseline.table, other.measured, one.baseline)
        if metric.delta_ci_low is not None and metric.delta_ci_high is not None
    }
    digests = [side.baseline.judge_digests for side in (one, other)]
    shared = [judge for judge in digests[0] if judge in digests[1]]
    return Comparison(
        base=one.manifest.run_id,
        candidate=other.manifest.run_id,
        metrics=tuple(
            MetricDifference(keyed[0].get(key), keyed[1].get(key), around.get(key)) for key in keys
        ),
        flips=flips(other.baseline.table, other.measured, one.baseline),
        cases=case_changes(
            other.baseline.table, one.baseline, partial=other.measured.mode != "full"
        ),
        judges_changed=tuple(judge for judge in shared if digests[0][judge] != digests[1][judge]),
        models=other_models(other.baseline.models, one.baseline.models),
    )
