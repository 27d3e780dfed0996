"""Gates tried on runs without a change: how sides are made, how drops are planted, what is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from releasecheck.errors import UsageError
from releasecheck.gates.subject import Subject
from releasecheck.model.gate import GateSpec
from releasecheck.model.judge import SimilarityJudge
from releasecheck.pipeline.planting import plant
from releasecheck.pipeline.selftest import TestRequest, self_test
from releasecheck.pipeline.selftest_report import Rate, Tally, Tried
from releasecheck.pipeline.selftest_ways import Bits, Runs, Trials, cases_way, stacked
from tests.bundles import Made, baseline_of, fake_world
from tests.fakes import HeardProgress
from tests.unit.tables import plan_for, score_table

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.table import ScoreTable
    from releasecheck.pipeline.selftest_report import SelfTest

POINT: dict[str, Any] = {"id": "point", "metric": "exact", "no_regression": {"max_drop": 0.0}}
SURE: dict[str, Any] = {
    "id": "sure",
    "metric": "exact",
    "no_regression": {"max_drop": 0.1, "decide": "significant"},
}
QUALITY: dict[str, Any] = {"id": "quality", "metric": "exact", "min": 0.75}
MANY: dict[str, Any] = {f"c{n}": "good" if n % 4 else "bad" for n in range(40)}


# -- two sides


def test_bits__are_raw_and_the_same_everywhere() -> None:
    """Contract 4: raw PCG64 bits, so that versions of libraries do not matter."""
    assert Bits(0).shares(2).tolist() == [0.6369616873214543, 0.2697867137638703]
    assert Bits(0).below(10, 4).tolist() == [6, 2, 0, 0]
    assert Bits(1).shares(2).tolist() != Bits(0).shares(2).tolist()


@pytest.mark.parametrize("trials", [2, 3, 5])
def test_trials__each_one_is_on_one_side(trials: int) -> None:
    way, bits = Trials(4, trials), Bits(0)
    sizes = set()
    for _ in range(20):
        here, there = way.draw(bits)
        both = np.concatenate([here.trials, there.trials], axis=1)
        assert np.sort(both, axis=1).tolist() == [list(range(trials))] * 4
        assert here.rows.tolist() == there.rows.tolist() == [0, 1, 2, 3]
        sizes.add(here.trials.shape[1])
    assert sizes == {trials // 2, trials - trials // 2}


def test_runs__each_case_is_taken_from_two_runs_whole_clusters_together() -> None:
    clusters = np.array([0, 0, 1, 2, 2])
    way, bits = Runs(5, 2, 3, clusters), Bits(0)
    seen = set()
    for _ in range(60):
        here, there = way.draw(bits)
        assert (here.rows % 5).tolist() == (there.rows % 5).tolist() == [0, 1, 2, 3, 4]
        runs = np.stack([here.rows // 5, there.rows // 5])
        assert len(np.unique(runs)) == 2
        assert (runs[0] != runs[1]).all()
        assert runs[0][0] == runs[0][1]
        assert runs[0][3] == runs[0][4]
        seen.add(tuple(runs[0].tolist()))
    assert len(seen) > 10


def test_cases__are_drawn_from_their_like() -> None:
    """A gate's cases are replaced by cases of the same gates, and not-applicable by not-applicable."""
    table = score_table({"exact": [1.0, 0.0, 1.0, "na", "na", 1.0]})
    chosen = [np.array([True, True, False, True, True, False])]
    way, bits = cases_way(table, table.cases, chosen), Bits(0)
    like = [{0, 1}, {0, 1}, {2, 5}, {3, 4}, {3, 4}, {2, 5}]
    seen: list[set[int]] = [set() for _ in like]
    for _ in range(40):
        for side in way.draw(bits):
            for place, row in enumerate(side.rows.tolist()):
                seen[place].add(row)
    assert seen == like


def test_cases__of_clusters_stay_together() -> None:
    """Of cases that fail together a drawn cluster has all or none: else noise would seem smaller."""
    table = score_table({"exact": [float(n // 5 % 2) for n in range(40)]})
    rows = tuple(replace(row, cluster=str(n // 5)) for n, row in enumerate(table.cases))
    way, bits = cases_way(table, rows, [np.ones(40, dtype=np.bool_)]), Bits(0)
    for _ in range(20):
        side, _ = way.draw(bits)
        assert (side.rows.reshape(8, 5) // 5 == side.rows.reshape(8, 5)[:, :1] // 5).all()


def test_side__is_a_table_of_what_was_drawn() -> None:
    one = score_table({"exact": [[1.0, 0.0], [0.0, 0.0]]})
    other = score_table({"exact": [[1.0, 1.0], [0.0, 1.0]]})
    pool = stacked([one, other])
    here, there = Runs(2, 2, 2, np.arange(2)).draw(Bits(0))
    tables = [side.table(pool, one.cases) for side in (here, there)]
    found = np.stack([table.value[:, :, 0] for table in tables])
    known = np.stack([one.value[:, :, 0], other.value[:, :, 0]])
    assert np.sort(found, axis=0).tolist() == np.sort(known, axis=0).tolist()
    assert tables[0].cases == one.cases


# -- planted drops


def subject_of(table: ScoreTable, judge: str, stat: str = "mean", **more: Any) -> Subject:
    judges = more.pop("judges", None)
    gate = GateSpec.model_validate(
        {"id": "g", "metric": judge, "stat": stat, "no_regression": {"max_drop": 0.1}, **more}
    )
    plan = plan_for(table, gate) if judges is None else plan_for(table, gate, judges=judges)
    return Subject.of(gate, plan)


def planted(table: ScoreTable, subject: Subject, drop: float, seed: int = 0) -> ScoreTable:
    found = plant(table, subject, drop, Bits(seed))
    assert not isinstance(found, str), found
    return found


@pytest.mark.parametrize(("stat", "drop"), [("mean", 0.23), ("pass_rate", 0.23), ("sum", 9.2)])
def test_plant__turns_cases_bad_until_so_much_is_lost(stat: str, drop: float) -> None:
    table = score_table({"exact": [1.0] * 30 + [0.0] * 10})
    subject = subject_of(table, "exact", stat)
    values = [planted(table, subject, drop, seed).value[:, 0, 0] for seed in range(200)]
    lost = np.array([30 - value.sum() for value in values])
    assert set(lost.tolist()) == {9.0, 10.0}
    assert lost.mean() == pytest.approx(9.2, abs=0.1)
    assert len({tuple(value.tolist()) for value in values}) > 100


def test_plant__follows_what_passes() -> None:
    table = score_table({"exact": [1.0] * 30 + [0.0] * 10})
    found = planted(table, subject_of(table, "exact"), 0.25)
    assert (found.passed[:, 0, 0] == found.value[:, 0, 0]).all()
    assert (table.value[:, 0, 0].sum(), table.passed.sum()) == (30.0, 30)


def test_plant__makes_values_worse_by_exactly_so_much_within_their_range() -> None:
    table = score_table({"close": [0.05, 0.5, 0.9, 0.7]})
    found = planted(table, subject_of(table, "close"), 0.3)
    assert found.value.min() == 0.0
    assert table.value.mean() - found.value.mean() == pytest.approx(0.3, abs=1e-12)


def test_plant__of_a_judge_where_low_is_good_raises_its_values() -> None:
    low = SimilarityJudge(id="close", type="similarity", better="lower", pass_at=0.5)
    table = score_table({"close": [0.05, 0.4, 0.9, 0.7]}, judges=[low])
    found = planted(table, subject_of(table, "close", judges=[low]), 0.2)
    assert found.value.mean() - table.value.mean() == pytest.approx(0.2, abs=1e-12)
    assert found.passed[:, 0, 0].tolist() == [1, 0, 0, 0]
    share = planted(table, subject_of(table, "close", "pass_rate", judges=[low]), 0.25)
    assert sorted(share.passed[:, 0, 0].tolist()) == [0, 0, 0, 1]


def test_plant__more_than_there_is_cannot_be_lost() -> None:
    table = score_table({"exact": [1.0] + [0.0] * 9, "close": [0.1] * 10})
    for judge, stat in (("exact", "mean"), ("exact", "pass_rate"), ("close", "mean")):
        found = plant(table, subject_of(table, judge, stat), 0.2, Bits(0))
        assert found == "only 0.1 is there to be lost"


def test_plant__slows_the_target_down() -> None:
    table = score_table({"exact": [1.0] * 3}, latency_ms=[10.0, 20.0, 30.0])
    for stat in ("p95", "mean"):
        found = planted(table, subject_of(table, "latency_ms", stat), 5.0)
        assert found.latency_ms[:, 0].tolist() == [15.0, 25.0, 35.0]


def test_plant__leaves_other_cases_alone() -> None:
    table = score_table({"exact": [1.0] * 20}, splits=["a"] * 10 + ["b"] * 10)
    found = planted(table, subject_of(table, "exact", split="a"), 0.5)
    assert found.value[:10].sum() == 5.0
    assert found.value[10:].sum() == 10.0


# -- the whole


def tried(folder: Path, *gates: dict[str, Any], **request: Any) -> SelfTest:
    """A suite of forty cases, a quarter of them failing, tried on its baseline."""
    extra = request.pop("extra", {"baseline": {"on_missing": "bootstrap"}})
    baseline_of(folder, cases=MANY, gates=list(gates), extra=extra)
    asked = TestRequest(folder / "releasecheck.yaml", **{"rounds": 40, **request})
    return self_test(asked, fake_world(folder))


def gate_in(found: SelfTest, name: str) -> Tried:
    (gate,) = (gate for gate in found.gates if gate.gate.id == name)
    return gate


def test_self_test__is_the_same_for_a_seed(tmp_path: Path) -> None:
    one = tried(tmp_path, POINT, {**QUALITY, "min": 0.5}, seed=4, rounds=20)
    asked = TestRequest(tmp_path / "releasecheck.yaml", rounds=20, seed=4)
    assert self_test(asked, fake_world(tmp_path)).to_json() == one.to_json()
    other = self_test(replace(asked, seed=5), fake_world(tmp_path))
    assert other.to_json()["gates"] != one.to_json()["gates"]


def test_self_test__says_what_cries_wolf_and_what_to_do(tmp_path: Path) -> None:
    """No drop allowed, and nothing changed: about half of all runs are worse than the other half."""
    found = tried(tmp_path, POINT, SURE, {**QUALITY, "min": 0.74})
    point, sure, quality = (gate_in(found, name) for name in ("point", "sure", "quality"))
    assert 0.3 < (point.tally.rate.value or 0) < 0.6
    assert point.noisy
    assert point.promised is None
    assert "use `decide: significant`" in (point.advice or "")
    assert sure.promised == pytest.approx(0.05)
    assert (sure.kept, sure.advice) == (True, None)
    assert "min 0.74" in (quality.advice or "")
    lines = list(found.lines())
    assert "point, quality will cry wolf" in lines[0]
    assert [line for line in lines if line.startswith("do ")]


def test_self_test__knows_new_failures_from_a_drop(tmp_path: Path) -> None:
    """What a test of the drop would not change is not said to be mended by one."""
    rule = {"max_drop": 0.9, "max_new_failures": 0}
    found = tried(tmp_path, {**POINT, "no_regression": rule})
    advice = gate_in(found, "point").advice or ""
    assert "max_new_failures 0 is fewer than noise alone brings" in advice
    assert "significant" not in advice


@pytest.mark.soak
def test_self_test__finds_what_it_promises(tmp_path: Path) -> None:
    found = tried(tmp_path, SURE, rounds=80)
    drops = {one.what: one for one in gate_in(found, "sure").planted}
    stated, twice = drops["min_detectable_drop"], drops["twice min_detectable_drop"]
    assert (stated.promised, stated.to_json()["kept"]) == (0.8, True)
    assert (twice.tally.rate.value or 0) > (stated.tally.rate.value or 0)
    assert drops["max_drop"].drop == 0.1
    assert drops["max_drop"].tally.blocked < stated.tally.blocked


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_self_test__every_promise_is_kept(tmp_path: Path) -> None:
    """Must hold: false blocks at most 1 - confidence, and the stated drop is found about 80 % of the time."""
    second = {**SURE, "id": "second", "no_regression": {"max_drop": 0.0, "decide": "significant"}}
    shown = {**SURE, "id": "shown", "no_regression": {"max_drop": 0.3, "decide": "non-inferior"}}
    found = tried(tmp_path, SURE, second, shown, POINT, rounds=1000, seed=11)
    assert [gate.kept for gate in found.gates] == [True, True, None, None]
    promised = [one for gate in found.gates for one in gate.planted if one.promised is not None]
    assert len(promised) == 9
    assert [one.to_json()["kept"] for one in promised] == [True] * 9


def test_self_test__asks_the_real_gates(tmp_path: Path) -> None:
    """Another judge than the one that scored the baseline: refused here as it is in a run."""
    tried(tmp_path, POINT)
    text = (tmp_path / "releasecheck.yaml").read_text("utf-8")
    changed = text.replace('"type": "exact"', '"type": "exact", "normalize": ["strip"]')
    (tmp_path / "releasecheck.yaml").write_text(changed, "utf-8")
    found = self_test(TestRequest(tmp_path / "releasecheck.yaml", rounds=10), fake_world(tmp_path))
    tally = gate_in(found, "point").tally
    assert (tally.rounds, tally.refused, tally.rate.value) == (10, {"not_comparable": 10}, None)
    assert "is not the one that scored the baseline" in (tally.refusal or "")
    assert "decide nothing" in next(found.lines())
    assert any("has changed since the run" in note for note in found.notes)


def test_self_test__counts_verdicts_as_a_run_would(tmp_path: Path) -> None:
    """One gate of two blocks: the run is blocked."""
    found = tried(tmp_path, POINT, {**QUALITY, "min": 0.1})
    assert gate_in(found, "quality").tally.blocked == 0
    assert found.any_gate.blocked == gate_in(found, "point").tally.blocked > 0


def test_self_test__of_runs_swaps_their_cases(tmp_path: Path) -> None:
    outs = []
    for number in range(3):
        flipped: dict[str, Any] = {
            name: "bad" if number and name == f"c{number}" else said for name, said in MANY.items()
        }
        made = Made(cases=flipped, unique=f"n{number}", gates=[{**POINT}], extra=BOOT)
        outs.append(made.write(tmp_path / f"run-{number}"))
    config = tmp_path / "run-0" / "releasecheck.yaml"
    found = self_test(TestRequest(config, runs=tuple(outs), rounds=80), fake_world(tmp_path))
    assert (found.way, len(found.runs), found.cases) == ("runs", 3, 40)
    # Only two cases ever differ, each of them on either side as often.
    drops = set(np.round(np.array(gate_in(found, "point").tally.drops) * 40).tolist())
    assert drops == {-2.0, -1.0, 0.0, 1.0, 2.0}
    for runs, words in (
        ((outs[0], outs[0]), "is named twice"),
        ((outs[0], tmp_path / "nothing"), "no such folder"),
    ):
        with pytest.raises(UsageError, match=words):
            self_test(TestRequest(config, runs=runs), fake_world(tmp_path))


BOOT: dict[str, Any] = {"baseline": {"on_missing": "bootstrap"}}


def test_self_test__of_runs_with_different_judges_is_refused(tmp_path: Path) -> None:
    one = Made(cases=MANY, unique="a", gates=[POINT], extra=BOOT).write(tmp_path / "a")
    judges = {"judges": [{"id": "exact", "type": "exact", "normalize": ["strip"]}], **BOOT}
    other = Made(cases=MANY, unique="b", gates=[POINT], extra=judges).write(tmp_path / "b")
    asked = TestRequest(tmp_path / "a" / "releasecheck.yaml", runs=(one, other))
    with pytest.raises(UsageError, match="another judge exact"):
        self_test(asked, fake_world(tmp_path))


def test_self_test__without_a_baseline_is_refused(tmp_path: Path) -> None:
    Made(gates=[POINT], extra=BOOT).write(tmp_path)
    with pytest.raises(UsageError, match="no baseline in"):
        self_test(TestRequest(tmp_path / "releasecheck.yaml"), fake_world(tmp_path))


def test_self_test__counts_its_rounds(tmp_path: Path) -> None:
    baseline_of(tmp_path, cases=MANY, gates=[SURE], extra=BOOT)
    world = fake_world(tmp_path)
    self_test(TestRequest(tmp_path / "releasecheck.yaml", rounds=10), world)
    heard = world.progress
    assert isinstance(heard, HeardProgress)
    assert heard.done[-1] == (0, 40, 40, 0)


def test_rate__knows_what_so_few_rounds_can_tell() -> None:
    assert Rate(3, 40).below(0.05) is True
    assert Rate(9, 40).below(0.05) is False
    assert Rate(30, 40).above(0.8) is True
    assert Rate(20, 40).above(0.8) is False
    assert (Rate(0, 0).value, Rate(0, 0).below(0.05), str(Rate(0, 0))) == (None, None, "unknown")


def test_tally__of_refused_rounds_has_no_rate() -> None:
    """Absence is never success: not decided is not "did not block"."""
    assert Tally(rounds=10, refused={"not_comparable": 10}).rate.value is None
    assert Tally(rounds=10, blocked=1, refused={"not_comparable": 5}).rate.value == 0.2
