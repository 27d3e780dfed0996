"""Read `results.csv` and `results.sarif` back and hold them against the scorecard (B104)."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.scorecard.csv_file import read_csv
from releasecheck.scorecard.differs import Differs, same, same_states
from releasecheck.scorecard.results_csv import COLUMNS
from releasecheck.scorecard.sarif import DECIDED, MOST_RESULTS
from releasecheck.scorecard.sarif_results import TOLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.differs import Reader

_STATES: Final = frozenset({"scored", "not-applicable", "failed", "missing", "pending"})
_NUMBERS: Final = ("value", "latency_ms", "tokens", "cost_usd")


def check_csv(read: Reader, scorecard: Scorecard) -> int:
    """Gives how many scores do not pass.

    Raises:
        Differs: it is damaged, or says something else than the scorecard.
    """
    states: Counter[str] = Counter()
    trials = failing = 0
    last = None
    rows = read_csv(codecs.iterdecode(read(), "utf-8"))
    try:
        same("the columns", tuple(next(rows, ())), COLUMNS)
        for number, fields in enumerate(rows, start=1):
            row = dict(zip(COLUMNS, fields, strict=True))
            _check_row(row, number)
            states[row["state"].replace("-", "_")] += 1
            # All judges of one trial stand together.
            trials += (row["case"], row["trial"]) != last
            last = row["case"], row["trial"]
            failing += row["state"] == "scored" and row["passed"] == "false"
    except (csv.Error, ValueError) as error:
        message = f"it is no CSV file of ours ({error})"
        raise Differs(message) from None
    same_states(states, scorecard)
    if scorecard.counts.pairs:
        same("trials", trials, scorecard.counts.trials)
    return failing


def _check_row(row: Mapping[str, str], number: int) -> None:
    if row["state"] not in _STATES or row["passed"] not in ("", "true", "false"):
        message = f"row {number} has no state of a score"
        raise Differs(message)
    for name in _NUMBERS:
        if row[name]:
            float(row[name])
    if (row["state"] == "scored") != bool(row["value"]):
        message = f"row {number} is {row['state']}, and its value is {row['value']!r}"
        raise Differs(message)


def check_sarif(read: Reader, scorecard: Scorecard) -> int:
    """Gives how many scores do not pass, those that it leaves out included.

    Raises:
        Differs: it is damaged, or says something else than the scorecard.
    """
    try:
        log: dict[str, Any] = parse_json(b"".join(read()))
        (run,) = log["runs"]
        return _check_run(run, scorecard)
    except JsonProblem as error:
        message = f"it is no JSON ({error})"
        raise Differs(message) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"it is no SARIF file of ours ({type(error).__name__}: {error})"
        raise Differs(message) from None


def _check_run(run: Mapping[str, Any], scorecard: Scorecard) -> int:
    (invocation,) = run["invocations"]
    said = run["properties"]
    same("run", said["runId"], scorecard.run_id)
    same("verdict", said["verdict"], scorecard.verdict)
    same("overridden", said["overridden"], scorecard.overridden)
    same("exit code", invocation["exitCode"], scorecard.exit_code)
    decided = scorecard.verdict in DECIDED
    same("successful", invocation["executionSuccessful"], decided)
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    found: Counter[str] = Counter()
    for result in run["results"]:
        same("a rule", result["ruleId"] in known, expected=True)
        found += _tally(result["properties"])
    left_out = Counter(said["leftOut"])
    if left_out.pop("results", 0) and len(run["results"]) > MOST_RESULTS:
        message = (
            f"it has {len(run['results'])} results, and at most {MOST_RESULTS} are to be shown"
        )
        raise Differs(message)
    counted = found + left_out
    same("results", dict(counted), dict(+Counter(said["counts"])))
    _against(counted, scorecard)
    return counted["not_passed"]


def _tally(properties: Mapping[str, Json]) -> Counter[str]:
    if "gate" in properties:
        return Counter({f"gates_{properties['outcome']}": 1})
    return Counter(properties["trials"]) + Counter(new_failures=int(properties["newFailure"]))


def _against(counted: Counter[str], scorecard: Scorecard) -> None:
    for state in ("failed", "missing", "pending"):
        same(f"{state} scores", counted[state], getattr(scorecard.counts, state))
    flipped = sum(len(set(flips.new_failures)) for flips in scorecard.flips.values())
    same("new failures", counted["new_failures"], flipped)
    gates = Counter(gate.outcome for gate in scorecard.gates)
    for outcome in sorted(TOLD):
        same(f"gates that are {outcome}", counted[f"gates_{outcome}"], gates[outcome])
