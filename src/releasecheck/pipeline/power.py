"""What the no-regression gates of a suite can see, said before anything is called."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from releasecheck.config.nodes import problem_at
from releasecheck.errors import ConfigError
from releasecheck.gates.power import gate_power, level_of
from releasecheck.gates.subject import Subject
from releasecheck.model.case import cluster_of
from releasecheck.model.gate import PAIRED_STATS
from releasecheck.model.suite import ANCHOR_SUFFIX, planned_gates
from releasecheck.model.table import CaseRow
from releasecheck.plan.lapsing import in_force
from releasecheck.stats import count, match_cases, plain, two_digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.config import LoadedSuite
    from releasecheck.errors import Problem
    from releasecheck.gates.power import Power
    from releasecheck.model.case import Case
    from releasecheck.model.gate import Against, Decide, GateSpec, NoRegression
    from releasecheck.model.plan import Plan, PlannedJudge
    from releasecheck.model.suite import Correction, Quarantined, Suite
    from releasecheck.model.table import Baseline, Indices
    from releasecheck.pipeline.baselines import BaselineFiles

WORDS: Final = {
    "trials": "from the noise between the baseline's trials",
    "one-trial": "as if two runs had nothing in common: of one trial of each case no more is known",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What decides, and what it will be held against."""

    gates: tuple[GateSpec, ...]
    judges: tuple[PlannedJudge, ...]
    cases: tuple[CaseRow, ...]
    quarantine: tuple[Quarantined, ...]
    trials: int
    confidence: float
    correction: Correction
    rejudged: bool
    """Whether the outputs of a baseline with another judge will be judged again."""
    baselines: Mapping[Against, Baseline | None]
    widened: float = 1.0
    """By how much noisier the comparison is than that of two runs like the baseline."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What one gate can see."""

    gate: str
    against: Against
    metric: str
    decide: Decide
    max_drop: float
    cases: int
    """That will be compared, as far as the baseline tells."""
    power: Power | None
    why: str | None
    """Why nothing is known."""
    underpowered: bool | None
    """Whether a drop of `max_drop` looks like none; None where nothing is known."""
    refuses: bool
    """Whether the gate wants no plan where it cannot see its own `max_drop`."""
    lower_is_better: bool
    hopeless: bool = False
    """Nothing is known although there is a baseline of the same judge: there is too little of it."""

    def to_json(self) -> dict[str, Json]:
        """The entry of a report."""
        power = {} if self.power is None else asdict(self.power)
        return {
            "gate": self.gate,
            "against": self.against,
            "metric": self.metric,
            "decide": self.decide,
            "max_drop": self.max_drop,
            "cases": self.cases,
            "min_detectable_drop": power.get("min_detectable_drop"),
            "resolvable_drop": power.get("resolvable_drop"),
            "underpowered": self.underpowered,
            "basis": power.get("basis"),
            "why": self.why,
        }

    def line(self) -> str:
        """One sentence for people."""
        if self.power is None:
            return f"{self.gate}: what it can see is not known: {self.why}"
        seen, over = self.power.min_detectable_drop, f"over {count(self.cases, 'case')}"
        if seen is None:
            text = f"{self.gate}: sees no {self._word} at all {over}"
        elif seen == 0:
            text = f"{self.gate}: blocks four unchanged runs of five {over}"
        else:
            text = f"{self.gate}: sees a {self._word} of {two_digits(seen)} or more in four runs of five, {over}"
        if self.underpowered:
            text += f"; {self._blind()}"
        return f"{text} ({WORDS[self.power.basis]})"

    @property
    def _word(self) -> str:
        return "rise" if self.lower_is_better else "drop"

    def _blind(self) -> str:
        told = None if self.power is None else self.power.resolvable_drop
        text = f"it cannot tell a {self._word} of its max_drop {plain(self.max_drop)} from none"
        return f"{text}, only one of {two_digits(told)}" if told is not None else text

    def warning(self) -> str:
        """What is wrong with it, and what to do."""
        if self.power is None:
            return f"gate {self.gate}: what it can see is not known: {self.why}"
        more = "more cases" if self.power.basis == "trials" else "more trials or cases"
        return (
            f"gate {self.gate} against the {self.against}, over {count(self.cases, 'case')}: {self._blind()}; have {more}, "
            "or a larger max_drop"
        )


def plan_sights(
    plan: Plan,
    cases: Sequence[Case],
    baseline: BaselineFiles | None,
    anchor: BaselineFiles | None,
    widened: float = 1.0,
) -> tuple[Sight, ...]:
    """What the gates of a plan can see."""
    return sights(
        Asked(
            gates=plan.gates,
            judges=plan.judges,
            cases=case_rows(cases),
            quarantine=plan.quarantine,
            # What is widened is told of the baseline's own trials, however many the next run will have.
            trials=plan.trials if widened == 1 else 1000,
            confidence=plan.confidence,
            correction=plan.correction,
            rejudged=plan.baseline_rule.rejudge_baseline,
            baselines=_baselines(baseline, anchor),
            widened=widened,
        )
    )


def suite_sights(
    suite: Suite,
    judges: Sequence[PlannedJudge],
    cases: Sequence[Case],
    now: str,
    baseline: BaselineFiles | None,
    anchor: BaselineFiles | None,
) -> tuple[Sight, ...]:
    """What the gates of a suite would see, if it were planned `now`."""
    return sights(
        Asked(
            gates=planned_gates(suite),
            judges=tuple(judges),
            cases=case_rows(cases),
            quarantine=in_force(suite, now, None).quarantine,
            trials=suite.trials,
            confidence=suite.confidence,
            correction=suite.correction,
            rejudged=suite.baseline.rejudge_baseline,
            baselines=_baselines(baseline, anchor),
        )
    )


def _baselines(
    baseline: BaselineFiles | None, anchor: BaselineFiles | None
) -> dict[Against, Baseline | None]:
    return {
        "baseline": None if baseline is None else baseline.baseline,
        "anchor": None if anchor is None else anchor.baseline,
    }


def sights(asked: Asked) -> tuple[Sight, ...]:
    """Every no-regression gate, in order."""
    found = []
    for gate in asked.gates:
        if gate.no_regression is not None:
            subject = Subject.among(gate, asked.judges, asked.quarantine)
            found.append(_sight(subject, gate.no_regression, asked))
    return tuple(found)


def _sight(subject: Subject, rule: NoRegression, asked: Asked) -> Sight:
    gate, against = subject.gate, rule.side
    baseline = asked.baselines.get(against)
    power, rows, hopeless = None, np.zeros(0, dtype=np.intp), False
    why = _unusable(subject, baseline, against, asked)
    if baseline is not None and why is None:
        rows, clusters = _compared(subject, baseline, asked)
        level = level_of(rule, asked.gates, asked.confidence, asked.correction)
        power = gate_power(
            subject,
            baseline.table,
            rows,
            rule,
            level,
            trials=asked.trials,
            clusters=clusters,
            widened=asked.widened,
        )
        if power is None:
            hopeless = True
            why = (
                f"{gate.stat} is no mean of cases"
                if gate.stat not in PAIRED_STATS
                else f"{count(rows.size, 'case')} of the {against} can be compared, too few or too equal to tell noise by"
            )
    return Sight(
        gate=gate.id,
        against=against,
        metric=gate.metric,
        decide=rule.decide,
        max_drop=rule.max_drop,
        cases=int(rows.size),
        power=power,
        why=why,
        underpowered=None if power is None else power.too_weak_for(rule),
        refuses=rule.underpowered == "refuse",
        lower_is_better=subject.lower_is_better,
        hopeless=hopeless,
    )


def _unusable(
    subject: Subject, baseline: Baseline | None, against: Against, asked: Asked
) -> str | None:
    """Why an earlier run says nothing about a gate."""
    if baseline is None:
        return f"there is no {against} yet"
    if subject.judge is None:
        return None
    metric = subject.gate.metric
    if metric not in baseline.table.judges:
        return f"the {against} has no judge {metric}"
    if baseline.judge_digests.get(metric) != subject.judge.digest:
        anew = ", whose outputs will be judged anew" if asked.rejudged else ""
        return f"another judge {metric} scored the {against}{anew}"
    return None


def _compared(
    subject: Subject, baseline: Baseline, asked: Asked
) -> tuple[Indices, list[str | None]]:
    """The baseline's cases with a value that a gate will compare, and the clusters they belong to today."""
    matched = match_cases(asked.cases, baseline.table.cases)
    chosen = subject.selects(asked.cases) & ~subject.quarantined(asked.cases) & (matched >= 0)
    here = np.flatnonzero(chosen)
    col = subject.column(baseline.table)
    if col is not None:
        here = here[col.take(matched[here]).has_value]
    return matched[here], [asked.cases[row].cluster for row in here.tolist()]


def case_rows(cases: Sequence[Case]) -> tuple[CaseRow, ...]:
    """What gates need to know of cases that were just read."""
    return tuple(
        CaseRow(
            case.id, case.digest, case.split, case.tags, case.source.path, case.source.line,
            cluster_of(case.metadata),
        )
        for case in cases
    )  # fmt: skip


def check_power(found: Sequence[Sight], loaded: LoadedSuite) -> tuple[Problem, ...]:
    """What to warn about: gates that cannot see their own `max_drop`.

    Raises:
        ConfigError: those that say `underpowered: refuse`, each with its line.
    """
    weak = [one for one in found if one.underpowered]
    refused = [one for one in found if one.refuses and (one.underpowered or one.hopeless)]
    if refused:
        raise ConfigError(_placed(one, loaded, "underpowered") for one in refused)
    return tuple(_placed(one, loaded, "max_drop") for one in weak)


def refuse_blind(
    plan: Plan,
    cases: Sequence[Case],
    loaded: LoadedSuite,
    baseline: BaselineFiles | None,
    anchor: BaselineFiles | None,
) -> None:
    """Refuse a plan whose gates want to see their `max_drop` and cannot (see `check_power`).

    A part of a suite sees less, which its gates say themselves when they decide.
    """
    rules = [gate.no_regression for gate in plan.gates]
    asks = any(rule is not None and rule.underpowered == "refuse" for rule in rules)
    if asks and plan.mode == "full":
        check_power(plan_sights(plan, cases, baseline, anchor), loaded)


def _placed(sight: Sight, loaded: LoadedSuite, key: str) -> Problem:
    ids = [gate.id for gate in loaded.suite.gates]
    name = sight.gate if sight.gate in ids else sight.gate.removesuffix(ANCHOR_SUFFIX)
    loc = ("gates", ids.index(name), "no_regression", key)
    return problem_at(loaded.document, loc, sight.warning())
