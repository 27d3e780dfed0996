"""What a suite says about comparing, checked before anything runs (issue 5; B25, B28, X-24)."""

from __future__ import annotations

import pytest

from tests.unit.config.folder import Folder, config

EXACT = "[{id: j, type: exact}]"
ANCHOR = "baseline: {anchor: release}"
DROP = "[{id: g, metric: j, no_regression: {max_drop: 0.1}}]"


def gate_of(rule: str, more: str = "") -> str:
    return f"[{{id: g, metric: j, {more}no_regression: {{{rule}}}}}]"


@pytest.mark.parametrize(
    ("gates", "more", "expected"),
    [
        # how a gate decides
        (gate_of("max_drop: 0.1, decide: significant", "stat: p95, "), "",
         "r.yaml:6:78: gates[0].no_regression.decide: `significant` tests pairs of cases, and p95 belongs "
         "to no pair; use stat mean, pass_rate or sum, or `decide: point`"),
        (gate_of("max_drop: 0.1, decide: non-inferior", "stat: max, "), "",
         "r.yaml:6:78: gates[0].no_regression.decide: `non-inferior` tests pairs of cases, and max belongs "
         "to no pair; use stat mean, pass_rate or sum, or `decide: point`"),
        (gate_of("max_drop: 0.1, underpowered: refuse", "stat: min, "), "",
         "r.yaml:6:84: gates[0].no_regression.underpowered: what a suite can see of min is not known; use "
         "stat mean, pass_rate or sum"),
        (gate_of("decide: non-inferior"), "",
         "r.yaml:6:28: gates[0].no_regression: `non-inferior` shows that a drop is below `max_drop`; with "
         "max_drop 0 it could never pass"),
        (gate_of("max_drop: 0, underpowered: refuse"), "",
         "r.yaml:6:28: gates[0].no_regression: no suite is large enough to see a drop of 0; `underpowered: "
         "refuse` needs a max_drop above 0"),
        # what it compares with
        (gate_of("against: anchor"), "",
         "r.yaml:6:53: gates[0].no_regression.against: there is no anchor; name its folder in `baseline: "
         "{anchor: FOLDER}`"),
        ("[{id: g, metric: j, min: 0.5}]", ANCHOR,
         "r.yaml:7:20: baseline.anchor: no gate compares with it; give one `no_regression: {against: "
         "anchor}`"),
        (gate_of("against: baseline"), ANCHOR,
         "r.yaml:7:20: baseline.anchor: no gate compares with it; give one `no_regression: {against: "
         "anchor}`"),
        (DROP, "baseline: {anchor: baseline}",
         "r.yaml:7:20: baseline.anchor: the anchor is the baseline itself, so that both move along together"),
        (DROP, "baseline: {anchor: ./old/../baseline/}",
         "r.yaml:7:20: baseline.anchor: the anchor is the baseline itself, so that both move along together"),
        (DROP.replace("id: g", "id: " + "g" * 60), ANCHOR,
         f"r.yaml:6:14: gates[0].id: with an anchor there is a second gate '{'g' * 60}-anchor', which is "
         "too long; choose a shorter id"),
        (DROP[:-1] + ", {id: g-anchor, metric: j, min: 0.5}]", ANCHOR,
         "r.yaml:6:66: gates[1].id: 'g-anchor' is the name of the anchor's gate beside 'g'; choose another id"),
        # waivers
        (DROP, "waivers: [{gate: gg, who: a, why: b, until: 2026-12-31}]",
         "r.yaml:7:18: waivers[0].gate: there is no gate 'gg'; did you mean 'g'?"),
        (DROP, "waivers: [{gate: g-anchor, who: a, why: b, until: 2026-12-31}]",
         "r.yaml:7:18: waivers[0].gate: there is no gate 'g-anchor'"),
        (DROP, "waivers:\n- {gate: g, who: a, why: b, until: 2026-12-31}\n- {gate: g, who: c, why: d, until: 2026-12-30}",
         "r.yaml:9:10: waivers[1].gate: there are two waivers for the gate 'g'; keep one"),
        (DROP, "waivers: [{gate: g, who: ' ', why: b, until: 2026-12-31}]",
         "r.yaml:7:26: waivers[0].who: expected a text, found an empty one"),
        # quarantine
        (DROP, "quarantine: [{case: c1, judge: jj, owner: a, reason: b, until: 2026-12-31}]",
         "r.yaml:7:32: quarantine[0].judge: there is no judge 'jj'; did you mean 'j'?"),
        (DROP, "quarantine:\n- {case: c1, owner: a, reason: b, until: 2026-12-31}\n"
         "- {case: c1, owner: a, reason: b, until: 2026-12-30}",
         "r.yaml:9:10: quarantine[1].case: the case 'c1' is quarantined twice; keep one"),
        (DROP, "quarantine:\n- {case: c1, owner: a, reason: b, until: 2026-12-31}\n"
         "- {case: c1, judge: j, owner: a, reason: b, until: 2026-12-30}",
         "r.yaml:9:10: quarantine[1].case: the case 'c1' is quarantined twice; keep one"),
        (DROP, "quarantine: [{case: c1, owner: a, reason: '', until: 2026-12-31}]",
         "r.yaml:7:43: quarantine[0].reason: expected a text, found an empty one"),
    ],
)  # fmt: skip
def test_check_comparing__what_cannot_work(
    folder: Folder, gates: str, more: str, expected: str
) -> None:
    """Named with file, line, key and what to do."""
    assert folder.refused(config(judges=EXACT, gates=gates, more=more)) == [expected]


@pytest.mark.parametrize(
    ("gates", "more"),
    [
        (gate_of("max_drop: 0.1, decide: significant", "stat: sum, "), ""),
        (gate_of("decide: significant"), ""),
        (gate_of("max_drop: 0.01, decide: non-inferior, underpowered: refuse"), ""),
        (gate_of("max_drop: 5", "stat: p95, ").replace("metric: j", "metric: latency_ms"), ""),
        (gate_of("against: anchor"), ANCHOR),
        (DROP, ANCHOR),
        (DROP, ANCHOR + "\nwaivers: [{gate: g-anchor, who: a, why: b, until: 2026-12-31}]"),
        (DROP, "waivers: [{gate: g, who: a, why: b, until: '2026-12-31'}]"),
        (DROP, "quarantine: [{case: c1, judge: latency_ms, owner: a, reason: b, until: 2026-12-31}, "
         "{case: c1, judge: j, owner: a, reason: b, until: 2026-12-31}]"),
        (DROP, "correction: none\nstop_when_decided: true"),
        (DROP, "baseline: {rejudge_baseline: true}"),
    ],
)  # fmt: skip
def test_check_comparing__what_can(folder: Folder, gates: str, more: str) -> None:
    assert folder.load(config(judges=EXACT, gates=gates, more=more)).notes == ()


def test_check_comparing__a_bridge_to_nowhere_is_a_note(folder: Folder) -> None:
    loaded = folder.load(config(judges=EXACT, more="baseline: {rejudge_baseline: true}"))
    (note,) = loaded.notes
    assert note.message.startswith("no gate compares with a baseline")
    assert note.line == 7


@pytest.mark.parametrize("written", ["2026-12-31", "'2026-12-31'", '"2026-12-31"'])
def test_load_suite__the_last_day_needs_no_quotes(folder: Folder, written: str) -> None:
    """A day is the one thing that can be meant there."""
    more = (
        f"waivers: [{{gate: g, who: a, why: b, until: {written}}}]\n"
        f"quarantine: [{{case: c1, owner: a, reason: b, until: {written}}}]"
    )
    suite = folder.load(config(more=more)).suite
    assert (suite.waivers[0].until, suite.quarantine[0].until) == ("2026-12-31", "2026-12-31")


@pytest.mark.parametrize(
    "written",
    ["2026-02-30", "2026-12", "31.12.2026", "tomorrow", "20261231", "2026-12-31T00:00:00Z", "12"],
)
def test_load_suite__the_last_day_is_a_day(folder: Folder, written: str) -> None:
    """No waiver without an end, and none whose end nobody understands."""
    more = f"waivers: [{{gate: g, who: a, why: b, until: {written}}}]"
    (problem,) = folder.refused(config(more=more))
    assert problem.startswith("r.yaml:7:44: waivers[0].until: ")


@pytest.mark.parametrize("key", ["who", "why", "gate", "owner", "reason", "case"])
def test_load_suite__a_date_is_no_text_elsewhere(folder: Folder, key: str) -> None:
    """S0-01: without quotes YAML 1.1 makes a date of it, which is what nobody wrote."""
    fields = {"gate": "g", "who": "a", "why": "b"}
    place = "waivers"
    if key in {"owner", "reason", "case"}:
        fields, place = {"case": "c1", "owner": "a", "reason": "b"}, "quarantine"
    fields[key] = "2026-12-31"
    text = ", ".join(f"{name}: {value}" for name, value in fields.items())
    (problem, *_) = folder.refused(config(more=f"{place}: [{{{text}, until: 2026-12-31}}]"))
    assert f"{place}[0].{key}: " in problem
    assert "date" in problem


@pytest.mark.parametrize("missing", ["who", "why", "until", "gate"])
def test_load_suite__a_waiver_says_who_why_and_until_when(folder: Folder, missing: str) -> None:
    """Issue 5.8."""
    fields = {"gate": "g", "who": "a", "why": "b", "until": "2026-12-31"}
    del fields[missing]
    text = ", ".join(f"{name}: {value}" for name, value in fields.items())
    (problem,) = folder.refused(config(more=f"waivers: [{{{text}}}]"))
    assert missing in problem


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        ("min: 0.5, min_scored: 0", "min_scored"),
        ("min: 0.5, min_scored: 2.5", "min_scored"),
        ("min: 0.5, max_not_applicable: 1.5", "max_not_applicable"),
        ("min: 0.5, max_not_applicable: -0.1", "max_not_applicable"),
        ("no_regression: {max_drop: -0.1}", "max_drop"),
        ("no_regression: {max_drop: .nan}", "max_drop"),
        ("no_regression: {decide: sure}", "decide"),
        ("no_regression: {against: main}", "against"),
        ("no_regression: {max_drop: 0.1, underpowered: ignore}", "underpowered"),
        ("no_regression: {ratio: 0.9}", "ratio"),
    ],
)
def test_load_suite__what_no_gate_can_mean(folder: Folder, gate: str, words: str) -> None:
    """Ratio forms are not offered, and evidence rules only tighten."""
    (problem,) = folder.refused(config(gates=f"[{{id: g, metric: j, {gate}}}]"))
    assert problem.startswith("r.yaml:6:")
    assert words in problem
