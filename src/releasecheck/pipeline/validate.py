"""What a suite holds, found without calling anything."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from releasecheck.config.nodes import problem_at
from releasecheck.errors import EnvironmentMissing
from releasecheck.gates.rules import rule_text
from releasecheck.model.base import duration_words
from releasecheck.model.case import cluster_of
from releasecheck.pipeline.baselines import has_baseline, read_baseline
from releasecheck.pipeline.freezing import plan_judges, read_suite
from releasecheck.pipeline.policy import policy_changes
from releasecheck.pipeline.power import check_power, suite_sights
from releasecheck.pipeline.preflight import check_specs, placed_in
from releasecheck.pipeline.roots import Roots
from releasecheck.pipeline.ruling import may_answer_later, rule_for
from releasecheck.plan import auto_shards
from releasecheck.plan.lapsing import lapsed
from releasecheck.references import missing_names, references_in
from releasecheck.stats import count

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.config import LoadedSuite
    from releasecheck.errors import Problem
    from releasecheck.model.judge import Judge
    from releasecheck.model.policy import PolicyChanges
    from releasecheck.model.suite import Settle
    from releasecheck.pipeline.baselines import BaselineFiles
    from releasecheck.pipeline.policy import PolicySource
    from releasecheck.pipeline.power import Sight
    from releasecheck.pipeline.world import World


@dataclass(frozen=True, slots=True)
class Found:
    """What `validate` says."""

    suite: str
    splits: dict[str, int]
    cases: int
    trials: int
    pairs: int
    target: str
    judges: tuple[str, ...]
    gates: tuple[str, ...]
    shards: int
    baseline: str
    anchor: str | None
    """The second, fixed run to compare with; None where the suite names none."""
    clusters: int
    """Groups that cases name in their metadata."""
    variables: tuple[str, ...]
    """Environment variables that the target and judges name."""
    unset: tuple[str, ...]
    """Those of them that have no default and are not set here."""
    policy: str
    """The config that the rules come from."""
    changes: PolicyChanges | None
    """What the config differs in from that one; None where it is its own policy."""
    notes: tuple[Problem, ...]
    power: tuple[Sight, ...]
    """What each no-regression gate can see."""

    def to_json(self) -> dict[str, Json]:
        """The report as a document."""
        document = asdict(replace(self, power=()))
        changes = self.changes
        document["changes"] = None if changes is None else changes.model_dump(mode="json")
        document["notes"] = [str(note) for note in self.notes]
        document["power"] = [one.to_json() for one in self.power]
        return document


def validate(
    config: Path,
    profile: str | None,
    world: World,
    *,
    check_env: bool,
    policy: PolicySource | None = None,
) -> Found:
    """Read and check a suite, its files and its baseline.

    Raises:
        ConfigError: every problem found.
        EnvironmentMissing: with `check_env`, for variables that are unset or empty.
        Untrusted: the baseline contradicts itself.
    """
    loaded, cases = read_suite(config, profile, policy)
    suite = loaded.suite
    judges = plan_judges(loaded)
    with placed_in(loaded):
        roots = Roots(loaded.root, loaded.policy_root)
        check_specs(suite.target, [judge.spec for judge in judges], roots, world.environment)
    specs = _specs(loaded)
    unset, empty = missing_names(specs, world.environment)
    if check_env and (unset or empty):
        raise EnvironmentMissing(unset, empty)
    folder = loaded.policy_root / suite.baseline.path
    baseline = read_baseline(folder, "promoted") if has_baseline(folder) else None
    now = world.clock.now()
    anchor = _anchor(loaded)
    power = suite_sights(suite, judges, cases, now, baseline, anchor)
    over = lapsed(suite, now, {case.id for case in cases})
    clusters = {name for case in cases if (name := cluster_of(case.metadata)) is not None}
    return Found(
        suite=suite.suite,
        splits=dict(sorted(Counter(case.split for case in cases).items())),
        cases=len(cases),
        trials=suite.trials,
        pairs=len(cases) * suite.trials * len(judges),
        target=f"{suite.target.id} ({suite.target.type})",
        judges=tuple(_judge_words(judge.spec, suite.settle) for judge in judges),
        gates=tuple(
            f"{gate.id}: {gate.metric} in {gate.split}, {rule_text(gate)}" for gate in suite.gates
        ),
        shards=suite.shards or auto_shards(len(cases)),
        baseline="none" if baseline is None else f"{baseline.manifest.run_id} in {folder}",
        anchor=None
        if suite.baseline.anchor is None
        else "none yet"
        if anchor is None
        else f"{anchor.manifest.run_id} in {loaded.policy_root / suite.baseline.anchor}",
        clusters=len(clusters),
        variables=tuple(dict.fromkeys(found.name for found in references_in(specs))),
        unset=(*unset, *empty),
        policy=loaded.policy_path.as_posix(),
        changes=policy_changes(loaded, cases, policy),
        notes=(
            *loaded.notes,
            *(problem_at(loaded.document, place, text) for place, text in over),
            *check_power(power, loaded),
        ),
        power=power,
    )


def _anchor(loaded: LoadedSuite) -> BaselineFiles | None:
    below = loaded.suite.baseline.anchor
    folder = None if below is None else loaded.policy_root / below
    return None if folder is None or not has_baseline(folder) else read_baseline(folder, "anchor")


def _judge_words(spec: Judge, settle: Settle) -> str:
    """`grounded (http), answers later: asked every 5s until 5m after the last case, 2 sentinels`."""
    words = f"{spec.id} ({spec.type})"
    if may_answer_later(spec):
        rule = rule_for(spec, settle)
        words += (
            f", may answer later: asked every {duration_words(rule.interval_s)} until "
            f"{duration_words(rule.deadline_s)} after the last case"
        )
    if spec.sentinels:
        words += f", {count(len(spec.sentinels), 'sentinel')}"
    return words


def _specs(loaded: LoadedSuite) -> list[Json]:
    suite = loaded.suite
    return [part.model_dump(mode="json", by_alias=True) for part in (suite.target, *suite.judges)]
