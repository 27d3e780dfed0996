"""Rules of a suite that need no cases: nothing that could not decide or be decided (B25, B28, B32)."""

from __future__ import annotations

import pytest

from tests.unit.config.folder import Folder, config

PYTHON = "[{id: j, type: python, function: 'm:f'}]"
SCALED = "[{id: j, type: python, function: 'm:f', scale: [1, 5]}]"
SIMILAR = "[{id: j, type: similarity}]"


@pytest.mark.parametrize(
    ("judges", "gate", "expected"),
    [
        # ids and metrics
        ("[{id: j, type: exact}, {id: j, type: regex, pattern: x}]", "metric: j, min: 0.5",
         "r.yaml:5:37: judges[1].id: the id 'j' is already used in line 5"),
        ("[{id: tokens, type: exact}]", "metric: tokens, max: 5",
         "r.yaml:5:15: judges[0].id: 'tokens' is a built-in metric; choose another id"),
        ("[{id: quality, type: exact}]", "metric: qualty, min: 0.5",
         "r.yaml:6:25: gates[0].metric: there is no metric 'qualty'; did you mean 'quality'? (judges: "
         "'quality'; built in: 'latency_ms', 'cost_usd', 'tokens', 'target_errors')"),
        ("[{id: j, type: exact}]", "metric: pass_rate, min: 0.5",
         "r.yaml:6:25: gates[0].metric: there is no metric 'pass_rate'; `pass_rate` is a stat: write "
         "{metric: JUDGE_ID, stat: pass_rate}"),
        ("[{id: j, type: exact}]", "metric: error_rate, max: 0",
         "r.yaml:6:25: gates[0].metric: there is no metric 'error_rate'; it is called target_errors"),
        # expressions
        ("[{id: j, type: regex, pattern: '('}]", "metric: j, min: 0.5",
         "r.yaml:5:40: judges[0].pattern: not a regular expression: missing ) at position 1: '('"),
        # direction
        ("[{id: j, type: exact, negate: true, better: lower}]", "metric: j, min: 0.5",
         "r.yaml:5:53: judges[0].better: `negate: true` already turns the judge round; leave out "
         "`better: lower`"),
        ("[{id: j, type: exact, better: lower}]", "metric: j, max: 0.5",
         "r.yaml:5:39: judges[0].better: with `better: lower` every answer passes at the default "
         "`pass_at` of 1; write `negate: true` instead, or `pass_at: 0`"),
        # pass marks
        ("[{id: j, type: similarity, pass_at: 80}]", "metric: j, min: 0.5",
         "r.yaml:5:45: judges[0].pass_at: expected a number from 0 to 1, the scale of 'similarity' "
         "judges; found 80"),
        ("[{id: j, type: python, function: 'm:f', scale: [1, 5], pass_at: 0.8}]", "metric: j, min: 2",
         "r.yaml:5:73: judges[0].pass_at: 0.8 is outside the judge's scale, 1 to 5"),
        (SIMILAR, "metric: j, stat: pass_rate, min: 0.5",
         "r.yaml:6:34: gates[0].stat: the judge 'j' has no pass mark; give it a `pass_at`"),
        (PYTHON, "metric: j, require: all",
         "r.yaml:6:37: gates[0].require: the judge 'j' has no pass mark; give it a `pass_at`"),
        (SIMILAR, "metric: j, no_regression: {max_new_failures: 0}",
         "r.yaml:6:62: gates[0].no_regression.max_new_failures: the judge 'j' has no pass mark; give "
         "it a `pass_at`"),
        ("[{id: j, type: exact, pass_rule: 3-of-2}]", "metric: j, min: 0.5",
         "r.yaml:5:42: judges[0].pass_rule: '3-of-2' can never pass; the first number is at most 2"),
        ("[{id: j, type: exact, pass_rule: 2-of-3}]", "metric: j, min: 0.5",
         "r.yaml:5:42: judges[0].pass_rule: '2-of-3' counts 3 trials, and `trials` is 1; they must "
         "agree"),
        # thresholds outside of the scale
        ("[{id: j, type: exact}]", "metric: j, min: 85",
         "r.yaml:6:33: gates[0].min: 'j' goes from 0 to 1, so that min 85 decides nothing; write 85 % "
         "as 0.85"),
        ("[{id: j, type: exact}]", "metric: j, min: -0.1",
         "r.yaml:6:33: gates[0].min: 'j' goes from 0 to 1, so that min -0.1 decides nothing"),
        ("[{id: j, type: exact}]", "metric: j, max: 1.5",
         "r.yaml:6:33: gates[0].max: 'j' goes from 0 to 1, so that max 1.5 decides nothing; write 85 % "
         "as 0.85"),
        (SCALED, "metric: j, min: 0.8",
         "r.yaml:6:33: gates[0].min: 'j' goes from 1 to 5, so that min 0.8 decides nothing"),
        (PYTHON[:-2] + ", pass_at: 3}]", "metric: j, stat: pass_rate, min: 3",
         "r.yaml:6:50: gates[0].min: 'j' goes from 0 to 1, so that min 3 decides nothing; write 85 % "
         "as 0.85"),
        ("[{id: j, type: exact}]", "metric: latency_ms, max: -1",
         "r.yaml:6:42: gates[0].max: 'latency_ms' goes from 0 upwards, so that max -1 decides nothing"),
        ("[{id: j, type: exact}]", "metric: target_errors, max: 2",
         "r.yaml:6:45: gates[0].max: 'target_errors' goes from 0 to 1, so that max 2 decides nothing; "
         "write 85 % as 0.85"),
        ("[{id: j, type: exact}]", "metric: j, no_regression: {max_drop: 2}",
         "r.yaml:6:54: gates[0].no_regression.max_drop: 'j' goes from 0 to 1, so that it can never drop "
         "by more than 2; write 2 % as 0.02"),
        # built-in metrics
        ("[{id: j, type: exact}]", "metric: tokens, require: all",
         "r.yaml:6:42: gates[0].require: 'tokens' is a built-in metric and has no pass or fail; use "
         "min or max"),
        ("[{id: j, type: exact}]", "metric: tokens, stat: pass_rate, max: 5",
         "r.yaml:6:39: gates[0].stat: 'tokens' is a built-in metric and has no pass or fail; use mean, "
         "min, max, p50, p90, p95, p99 or sum"),
        ("[{id: j, type: exact}]", "metric: tokens, no_regression: {max_new_failures: 1}",
         "r.yaml:6:67: gates[0].no_regression.max_new_failures: 'tokens' is a built-in metric and has "
         "no pass or fail; use max_drop"),
        ("[{id: j, type: exact}]", "metric: latency_ms, max: 5, on_target_failure: count_as_fail",
         "r.yaml:6:64: gates[0].on_target_failure: 'latency_ms' has no worst value to count a failure "
         "as; leave it out and add a gate on target_errors"),
        (PYTHON, "metric: j, min: 0.5, on_target_failure: count_as_fail",
         "r.yaml:6:57: gates[0].on_target_failure: the worst value of the python judge 'j' is not "
         "known; give it a `scale`, or use `stat: pass_rate` or `require: all` with it"),
        # a failure that would count in the gate's favour
        ("[{id: j, type: contains, value: sorry}]",
         "metric: j, max: 0.1, on_target_failure: count_as_fail",
         "r.yaml:6:57: gates[0].on_target_failure: a failed call would count as 0, the worst value of "
         "'j', and so help to stay below `max`: leave it out and add a gate on target_errors"),
        ("[{id: j, type: similarity}]", "metric: j, stat: p95, max: 0.1, on_target_failure: count_as_fail",
         "r.yaml:6:68: gates[0].on_target_failure: a failed call would count as 0, the worst value of "
         "'j', and so help to stay below `max`: leave it out and add a gate on target_errors"),
        ("[{id: j, type: similarity, better: lower}]",
         "metric: j, min: 0.1, on_target_failure: count_as_fail",
         "r.yaml:6:57: gates[0].on_target_failure: a failed call would count as 1, the worst value of "
         "'j', and so help to stay above `min`: leave it out and add a gate on target_errors"),
        ("[{id: j, type: similarity, better: lower, pass_at: 0.5}]",
         "metric: j, stat: pass_rate, max: 0.1, on_target_failure: count_as_fail",
         "r.yaml:6:74: gates[0].on_target_failure: a failed call would count as not passed, and so help "
         "to stay below `max`: leave it out and add a gate on target_errors"),
        ("[{id: j, type: exact}]", "metric: j, stat: p95, require: all",
         "r.yaml:6:34: gates[0].stat: `require` looks at every case by itself; leave out `stat`"),
    ],
)  # fmt: skip
def test_check_suite__what_could_decide_nothing(
    folder: Folder, judges: str, gate: str, expected: str
) -> None:
    text = config(judges=judges, gates=f"[{{id: g, {gate}}}]")

    assert folder.refused(text) == [expected]


@pytest.mark.parametrize(
    ("judges", "gate"),
    [
        ("[{id: j, type: exact, better: lower, pass_at: 0}]", "metric: j, max: 0.5"),
        ("[{id: j, type: similarity, pass_at: 0.8}]", "metric: j, require: all"),
        (PYTHON, "metric: j, min: 85"),
        (SCALED, "metric: j, min: 4"),
        (PYTHON, "metric: j, no_regression: {max_drop: 3}"),
        (PYTHON[:-2] + ", pass_at: 3}]", "metric: j, stat: pass_rate, min: 0.5, "
         "on_target_failure: count_as_fail"),
        (SCALED, "metric: j, min: 2, on_target_failure: count_as_fail"),
        ("[{id: j, type: similarity, better: lower}]",
         "metric: j, max: 0.5, on_target_failure: count_as_fail"),
        ("[{id: j, type: similarity, better: lower, pass_at: 0.5}]",
         "metric: j, stat: pass_rate, min: 0.5, on_target_failure: count_as_fail"),
        ("[{id: j, type: exact}]", "metric: j, stat: sum, min: 20"),
        ("[{id: j, type: exact}]", "metric: target_errors, stat: sum, max: 3"),
        ("[{id: j, type: exact}]", "metric: latency_ms, stat: p95, max: 2000"),
        ("[{id: j, type: exact}]", "metric: latency_ms, no_regression: {max_drop: 100}"),
        ("[{id: j, type: exact}]", "metric: j, min: 0.5, on_target_failure: count_as_fail"),
        ("[{id: j, type: exact}]", "metric: j, no_regression: {max_drop: 1, max_new_failures: 0}"),
    ],
)  # fmt: skip
def test_check_suite__what_decides(folder: Folder, judges: str, gate: str) -> None:
    loaded = folder.load(config(judges=judges, gates=f"[{{id: g, {gate}}}]"))

    assert loaded.notes == ()


@pytest.mark.parametrize(
    ("judges", "gate", "note"),
    [
        ("[{id: j, type: exact}]", "metric: j, min: 0", "no score can fall outside min 0"),
        ("[{id: j, type: exact}]", "metric: j, max: 1", "no score can fall outside max 1"),
        ("[{id: j, type: exact}]", "metric: target_errors, max: 1", "no score can fall outside max 1"),
        ("[{id: j, type: exact}]", "metric: tokens, min: 0", "no score can fall outside min 0"),
        ("[{id: j, type: exact, pass_at: 0}]", "metric: j, min: 0.5", "every value of 'j' passes at 0"),
        ("[{id: j, type: similarity, better: lower, pass_at: 1}]", "metric: j, max: 0.5",
         "every value of 'j' passes at 1"),
        ("[{id: j, type: exact}]", "metric: j, no_regression: {max_drop: 1}", "no drop can exceed 1"),
    ],
)  # fmt: skip
def test_check_suite__the_end_of_a_scale_is_a_note(
    folder: Folder, judges: str, gate: str, note: str
) -> None:
    """B26: `min: 0` runs and means what it says: every score must be there."""
    loaded = folder.load(config(judges=judges, gates=f"[{{id: g, {gate}}}]"))

    (found,) = loaded.notes
    assert found.message.startswith(note)
    assert found.line in {5, 6}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("{type: http, url: x, output: 'a['}", "r.yaml:4:38: target.output: expected a JMESPath "
         "expression, found 'a['"),
        ("{type: http, url: x, usage: {tokens: '?'}}", "r.yaml:4:46: target.usage.tokens: expected a "
         "JMESPath expression"),
        ("{type: http, url: x, trace_id: 'a b'}", "r.yaml:4:40: target.trace_id: expected a JMESPath "
         "expression"),
        ("{type: http, url: '${SEARCH-URL}'}", "r.yaml:4:27: target.url: expected ${NAME} or "
         "${NAME:-default}, found '${SEARCH-URL}'; write $${ for a literal ${"),
        ("{type: http, url: x, headers: {a: 'Bearer ${}'}}", "r.yaml:4:43: target.headers.a: expected "
         "${NAME} or ${NAME:-default}, found '${}'"),
        ("{type: http, url: 'http://127.0.0.1:${RELEASECHECK_PORT}/'}", "r.yaml:4:1: target: "
         "${RELEASECHECK_PORT} is the port of a target that we start; add `start`, or name the port"),
    ],
)  # fmt: skip
def test_check_suite__targets_that_cannot_work(folder: Folder, target: str, expected: str) -> None:
    """B29, S0-C5: before the first call."""
    (problem,) = folder.refused(config(target=target))

    assert problem.startswith(expected)


@pytest.mark.parametrize(
    "target",
    [
        "{type: http, url: '${URL:-http://x}/y', trace_id: 'header:x-trace', body: '$${literal'}",
        "{type: http, url: x, body: {price: '${{ input }}'}, output: 'docs[].text'}",
        "{type: http, url: '${RELEASECHECK_PORT}', start: {run: [x, '${RELEASECHECK_PORT}']}}",
    ],
)
def test_check_suite__targets_that_can(folder: Folder, target: str) -> None:
    assert folder.load(config(target=target)).notes == ()
