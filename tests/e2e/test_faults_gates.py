"""Real-world faults of gates, baselines and verdicts, through the command line (B73 to B92).

What they lack of section 7 is in `test_catalogue_gates.py`: B77, B79, B83, B91, and the catalogue's own inputs
of the others. Filters of B74 are `--ids`, `--ids-file`, `--preview` and a gate's tags here; relative
differences of B82 do not exist, `max_drop` is absolute.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.faulty import (
    EXACT,
    PYTHON,
    cli,
    decided,
    order,
    python,
    rows,
    suite_of,
)
from tests.e2e.suites import Suite, document, ledger, lines, noted, python_suite, scorecard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NO_REGRESSION = {"id": "no-worse", "metric": "exact", "no_regression": {}}
SAYS = 'return case["input"]'


def graded(
    folder: Path, judges: Mapping[str, Mapping[str, Any]], *gates: Mapping[str, Any], cases: int = 2
) -> Suite:
    """A suite in which judge `j` scores what `values.json` says under `j`: a number, or one per case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "grade.py").write_text('def judge(ask):\n    return ask["output"]\n', "utf-8")
    body = (
        "n = int(case['id'][1:])\n"
        "values = json.load(open('values.json'))\n"
        "time.sleep(values.pop('sleep', 0))\n"
        "if n in values.pop('broken', []):\n    raise OSError('told to')\n"
        "return {k: v[n] if isinstance(v, list) else v for k, v in values.items()}"
    )
    spec = {"type": "python", "function": "grade:judge", "interpreter": PYTHON}
    return suite_of(
        folder,
        [{"id": f"c{n}", "input": n} for n in range(cases)],
        python(folder, body),
        *({"id": name, "input": name, **spec, **judge} for name, judge in judges.items()),
        gates=list(gates),
        baseline={"on_missing": "bootstrap"},
    )


def values(suite: Suite, **found: Any) -> None:
    """What the target of `graded` answers from now on."""
    (suite.folder / "values.json").write_text(json.dumps(found), "utf-8")


def outcomes(card: Mapping[str, Any]) -> dict[str, str]:
    """Gate -> outcome."""
    return {gate["id"]: gate["outcome"] for gate in card["gates"]}


def no_worse(metric: str, max_drop: float = 0.0) -> dict[str, Any]:
    """A gate of the metric's name against the baseline."""
    return {
        "id": metric.replace("_", "-"),
        "metric": metric,
        "no_regression": {"max_drop": max_drop},
    }


def promoted(suite: Suite, *, code: int = 0) -> None:
    """Run the suite and make that run the baseline."""
    done = cli("run", suite.path, "--out", "before", cwd=suite.folder)
    assert done.code == code, done
    done = cli("baseline", "promote", "before", cwd=suite.folder)
    assert done.code == 0, done


@pytest.mark.parametrize("where", ["target", "judge"])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('import os\nKEY = os.environ["RC_DOES_NOT_EXIST"]\n', "RC_DOES_NOT_EXIST"),
        ("import no_such_module_anywhere\n", "no_such_module_anywhere"),
        ("def f(:\n", "SyntaxError"),
        ("import sys\nsys.exit(0)\n", "exit"),
        ("import os\nos._exit(0)\n", ""),
        ("x = 1\n", "answer"),
    ],
    ids=["variable", "module", "syntax", "exit 0", "hard exit 0", "name"],
)
def test_b73__what_does_not_load_stops_everything(
    tmp_path: Path, where: str, text: str, says: str
) -> None:
    """B73: before the first call, named, exit 3; nothing that looks like a run is left."""
    loads = python(tmp_path, 'open("called", "w").close()\nreturn case["input"]')
    (tmp_path / "broken.py").write_text(text, "utf-8")
    broken = {"type": "python", "function": "broken:answer", "interpreter": PYTHON}
    suite = suite_of(
        tmp_path,
        [{"id": "c1", "input": "x", "expected": "x"}],
        broken if where == "target" else loads,
        EXACT,
        *([{"id": "own", **broken}] if where == "judge" else []),
    )
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 3, done
    assert says.lower() in done.err.lower()
    assert "cannot be loaded" in done.err or "broken" in done.err
    assert not (tmp_path / "called").exists()
    assert not list(suite.out.rglob("*.json*"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--ids", "refnud-1"], "refund-1"),
        (["--ids", "refund-1,c99"], "c99"),
        (["--ids", "refund-*"], "refund-"),
        (["--ids", ""], "id"),
        (["--ids", ","], "id"),
        (["--ids-file", "ids.txt"], "id"),
        (["--ids-file", "nowhere.txt"], "nowhere.txt"),
        (["--preview", "0"], "1"),
        (["--preview", "-1"], "1"),
        (["--mode", "delta"], "ids"),
        (["--mode", "full", "--ids", "refund-1"], "delta"),
        (["--profile", "nightly"], "nightly"),
        (["--filter", "refund-*"], "--filter"),
    ],
    ids=" ".join,
)
def test_b74__filter_that_matches_nothing(tmp_path: Path, options: list[str], says: str) -> None:
    """B74: a usage error with the nearest names, never a clean run."""
    cases = [{"id": f"refund-{n}", "input": "x", "expected": "x"} for n in range(3)]
    body = 'open("called", "w").close()\nreturn "x"'
    suite = suite_of(tmp_path, cases, python(tmp_path, body))
    (tmp_path / "ids.txt").write_text("\n  \n", "utf-8")
    done = cli("run", suite.path, *options, cwd=tmp_path)
    assert done.code == 3, done
    assert says in done.err
    assert not (tmp_path / "called").exists()
    assert not (suite.out / "scorecard.json").exists()


def test_b74__tag_that_no_case_has(tmp_path: Path) -> None:
    """B74: in a gate or a judge it would choose nothing; refused with the tag it may have meant."""
    cases = [{"id": "c1", "input": "x", "expected": "x", "tags": ["night"]}]
    suite = suite_of(tmp_path, cases, python(tmp_path, SAYS))
    for changes in (
        {
            "gates": [
                {"id": "g", "metric": "exact", "require": "all", "cases": {"tags": ["nightly"]}}
            ]
        },
        {"judges": [EXACT, EXACT | {"id": "j", "when": {"tags": ["nightly"]}}]},
    ):
        changed = Suite(suite.folder, suite.config | changes, suite.cases).write()
        done = cli("run", changed.path, cwd=tmp_path)
        assert done.code == 3, done
        assert "nightly" in done.err
        assert "'night'" in done.err


@pytest.mark.parametrize("options", [["--ids", "c1"], ["--preview", "2"]], ids=" ".join)
def test_b74__filtered_run_says_so_and_is_no_baseline(tmp_path: Path, options: list[str]) -> None:
    """B74: marked everywhere; never promoted, never a green badge."""
    suite = python_suite(tmp_path, 4)
    done = cli("run", suite.path, *options, cwd=tmp_path)
    assert done.code == 0, done
    mode = "delta" if "--ids" in options else "preview"
    card = scorecard(suite.out)
    assert card["mode"] == document(suite.out / "manifest.json")["mode"] == mode
    assert mode in (suite.out / "summary.md").read_text("utf-8")
    assert mode in (suite.out / "scorecard.html").read_text("utf-8")
    assert not (suite.out / "badge.json").exists()
    for accept in ((), ("--accept", "it is fine")):
        promoted = cli("baseline", "promote", "out", *accept, cwd=tmp_path)
        assert promoted.code == 3, promoted
        assert mode in promoted.err
    assert not (tmp_path / "baseline").exists()


def tagged(folder: Path, tags: Sequence[str], *gates: Mapping[str, Any]) -> Suite:
    """A suite of cases in these splits, answered right unless `wrong.json` names them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "wrong.json").write_text("[]", "utf-8")
    body = 'wrong = json.load(open("wrong.json"))\nreturn "no" if case["id"] in wrong else "yes"'
    return suite_of(
        folder,
        [
            {"id": f"{tag}-{n}", "input": "q", "expected": "yes", "split": tag}
            for n, tag in enumerate(tags)
        ],
        python(folder, body, concurrency=4),
        gates=list(gates),
    )


def test_b76__empty_group_is_refused_before_money_is_spent(tmp_path: Path) -> None:
    """B76: a gate over a split without cases; in a partial plan it has nothing to say, and no mean."""
    hard = {"id": "hard", "metric": "exact", "split": "hard", "min": 0.5}
    suite = tagged(tmp_path, ["easy", "odd"], hard)
    done = cli("run", suite.path, cwd=tmp_path)
    assert done.code == 3, done
    assert "hard" in done.err
    assert not (suite.out / "results").exists()
    suite = tagged(tmp_path, ["easy", "odd", "hard"], hard)
    done = cli("run", suite.path, "--ids", "easy-0", "--out", "part", cwd=tmp_path)
    assert done.code == 2, done  # nothing was decided, so nothing is green
    card = scorecard(tmp_path / "part")
    assert card["verdict"] == "not_comparable"
    assert card["gates"][0]["outcome"] == "not_selected"
    assert card["gates"][0]["value"] is None
    assert order(tmp_path / "part") == ["easy-0"]
    assert all(m["value"] is None for m in card["metrics"] if not m["n_scored"])
    # Beside a gate that has cases it is neutral.
    suite.write(gates=[hard, {"id": "any", "metric": "exact", "min": 0.5}])
    done = cli("run", suite.path, "--ids", "easy-0", "--out", "both", cwd=tmp_path)
    assert done.code == 0, done
    assert [gate["outcome"] for gate in scorecard(tmp_path / "both")["gates"]] == [
        "not_selected",
        "pass",
    ]


BROKEN: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 3, "nothing is in it"),
    "page": (b"<!doctype html>404", 3, "JSON"),
    "truncated": (b'{"schema": "releasecheck/scorecard@1", "metrics": [', 3, "JSON"),
    "null": (b"null", 3, "object"),
    "list": (b"[]", 3, "object"),
    "nan": (b'{"schema": "releasecheck/scorecard@1", "value": NaN}', 3, "NaN"),
    "future": (b'{"schema": "releasecheck/scorecard@99"}', 3, "@99"),
    "old": (b'{"schema": 1, "metrics": {"pass_rate": 1}}', 3, "schema"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", 3, "LFS"),
    "incomplete": (b'{"schema": "releasecheck/scorecard@1"}', 4, "complete"),
}


@pytest.fixture(scope="module")
def with_baseline(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A suite with a promoted baseline; tests copy it."""
    suite = python_suite(tmp_path_factory.mktemp("baseline"), 3, gates=[NO_REGRESSION])
    suite.write(baseline={"on_missing": "bootstrap"})
    promoted(suite)
    return suite


def copied(suite: Suite, folder: Path) -> Suite:
    """The same suite in another folder."""
    shutil.copytree(suite.folder, folder, dirs_exist_ok=True)
    (folder / "calls.txt").unlink(missing_ok=True)
    return Suite(folder, dict(suite.config), [dict(case) for case in suite.cases])


@pytest.mark.parametrize("name", ["scorecard.json", "manifest.json"])
@pytest.mark.parametrize("broken", BROKEN)
def test_b80__baseline_that_cannot_be_read_is_not_absent(
    tmp_path: Path, with_baseline: Suite, name: str, broken: str
) -> None:
    """B13, B80: even with `on_missing: bootstrap`; before the first call, with the file's name."""
    suite = copied(with_baseline, tmp_path)
    data, code, says = BROKEN[broken]
    (tmp_path / "baseline" / name).write_bytes(
        data.replace(b"scorecard@", name[:-5].encode() + b"@")
    )
    done = cli("run", suite.path, "--out", "after", cwd=tmp_path)
    assert done.code == code, done
    assert "baseline" in done.err
    assert says in done.err
    assert not noted(suite)
    assert not (tmp_path / "after" / "scorecard.json").exists()


@pytest.mark.parametrize("gone", ["scorecard.json", "results.jsonl", "manifest.json"])
def test_b80__baseline_with_a_part_missing_is_not_absent(
    tmp_path: Path, with_baseline: Suite, gone: str
) -> None:
    """B80: some of its files are a broken baseline, not a first run."""
    suite = copied(with_baseline, tmp_path)
    (tmp_path / "baseline" / gone).unlink()
    done = cli("run", suite.path, "--out", "after", cwd=tmp_path)
    assert done.code in (3, 4), done
    assert gone in done.err
    assert not noted(suite)


def test_b80__no_baseline_is_said(tmp_path: Path) -> None:
    """B80: without one there is no verdict, unless the suite bootstraps; then nothing is green."""
    suite = python_suite(tmp_path, 3, gates=[NO_REGRESSION])
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=2)
    assert (card["verdict"], card["gates"][0]["outcome"]) == ("not_comparable", "not_comparable")
    assert card["gates"][0]["delta"] is None
    suite.write(baseline={"on_missing": "bootstrap"})
    done = cli("run", suite.path, "--out", "first", cwd=tmp_path)
    assert done.code == 0, done
    card = scorecard(tmp_path / "first")
    assert (card["verdict"], card["gates"][0]["outcome"]) == ("bootstrap", "bootstrap")
    assert "pass" not in done.out.splitlines()[0]
    badge = tmp_path / "first" / "badge.json"
    assert not badge.exists() or "green" not in document(badge)["color"]
    typo = cli("run", suite.path, "--baseline", "basline", "--out", "typo", cwd=tmp_path)
    assert typo.code == 3, typo
    assert "basline" in typo.err


def test_b80__sliver_of_the_cases_is_no_comparison(tmp_path: Path, with_baseline: Suite) -> None:
    """B80: a baseline that covers little of today's cases, or of which little is left."""
    suite = copied(with_baseline, tmp_path)
    suite.cases = suite.cases[:1] + [
        {"id": f"new{n}", "input": f"q{n}-new", "expected": f"Q{n}-NEW"} for n in range(9)
    ]
    card = decided(
        cli("run", suite.write().path, "--out", "after", cwd=tmp_path),
        suite,
        tmp_path / "after",
        code=2,
    )
    assert card["gates"][0]["outcome"] == "not_comparable"
    assert "1 of" in card["gates"][0]["reason"]
    assert card["gates"][0]["delta"] is None


def test_b82__baseline_zero(tmp_path: Path) -> None:
    """B82: differences are absolute, so that zero is a number like others; -0.0 is 0."""
    pairs = {
        "same": (0, 0), "minus": (0.0, -0.0), "plus": (-0.0, 0.0), "up": (0, 1), "down": (0, -0.1),
    }  # fmt: skip
    suite = graded(tmp_path, {name: {} for name in pairs}, *map(no_worse, pairs))
    values(suite, **{name: before for name, (before, _) in pairs.items()})
    promoted(suite)
    values(suite, **{name: after for name, (_, after) in pairs.items()})
    done = cli("run", suite.path, cwd=tmp_path)
    card = decided(done, suite, code=1)
    assert outcomes(card) == dict.fromkeys(pairs, "pass") | {"down": "block"}
    assert {gate["id"]: gate["delta"] for gate in card["gates"]} == {
        "same": 0, "minus": 0, "plus": 0, "up": 1, "down": -0.1,
    }  # fmt: skip
    scorecard_text = (suite.out / "scorecard.json").read_text("utf-8")
    assert not re.search(r"-0(\.0+)?[,\s]", scorecard_text + done.out)
    assert not re.search(r"\b(NaN|Infinity|nan|inf)\b", scorecard_text + done.out)


@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 0), (1, 0)])
def test_b82__baseline_without_errors(tmp_path: Path, before: int, after: int) -> None:
    """B82: the first error after none is a rise, and shown as one."""
    suite = graded(tmp_path, {"a": {}}, no_worse("target_errors"))
    values(suite, a=1, broken=[1] * before)
    promoted(suite)
    values(suite, a=1, broken=[1] * after)
    worse = after > before
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=int(worse))
    assert outcomes(card) == {"target-errors": "block" if worse else "pass"}
    assert card["gates"][0]["delta"] == (after - before) / 2


def test_b85__average_hides_no_collapse(tmp_path: Path) -> None:
    """B85: 14 of 20 before and after; the split's own gate and the new failures both block."""
    mean = {"id": "mean", "metric": "exact", "no_regression": {"max_drop": 0}}
    multi = {"id": "multi", "metric": "exact", "split": "multi", "no_regression": {"max_drop": 0.1}}
    flips = {
        "id": "flips",
        "metric": "exact",
        "no_regression": {"max_drop": 1, "max_new_failures": 0},
    }
    suite = tagged(tmp_path, ["single"] * 10 + ["multi"] * 10, mean, multi, flips)
    suite.write(baseline={"on_missing": "bootstrap"})
    ids = [case["id"] for case in suite.cases]
    (tmp_path / "wrong.json").write_text(json.dumps([*ids[6:10], *ids[18:]]), "utf-8")
    promoted(suite)
    (tmp_path / "wrong.json").write_text(json.dumps(ids[14:]), "utf-8")
    done = cli("run", suite.path, cwd=tmp_path)
    card = decided(done, suite, code=1)
    found = {gate["id"]: gate for gate in card["gates"]}
    assert {name: gate["outcome"] for name, gate in found.items()} == {
        "mean": "pass", "multi": "block", "flips": "block",
    }  # fmt: skip
    assert (found["mean"]["value"], found["mean"]["baseline_value"]) == (0.7, 0.7)
    assert (found["multi"]["value"], found["multi"]["baseline_value"]) == (0.4, 0.8)
    assert card["flips"]["exact"]["new_failures"] == ids[14:18]
    assert card["flips"]["exact"]["new_passes"] == ids[6:10]
    summary = (suite.out / "summary.md").read_text("utf-8")
    assert "multi" in summary
    assert ids[14] in summary + done.out


def test_b86__which_way_is_better_is_declared(tmp_path: Path) -> None:
    """B86: by the judge's own word, never by its name; built-in metrics all measure badness."""
    judges: dict[str, dict[str, Any]] = {
        "hallucination": {"better": "lower"}, "rmsd": {"better": "lower"},
        "error-rate": {"better": "higher"}, "accuracy": {"better": "higher"}, "unsaid": {},
    }  # fmt: skip
    judges = {name.replace("-", "_"): judge for name, judge in judges.items()}
    suite = graded(
        tmp_path, judges, *(no_worse(name, 0.1) for name in judges), no_worse("latency_ms", 150)
    )
    values(suite, **dict.fromkeys(judges, 0.5))
    promoted(suite)
    falls = {
        "hallucination": "pass", "rmsd": "pass", "error-rate": "block", "accuracy": "block",
        "unsaid": "block", "latency-ms": "pass",
    }  # fmt: skip
    values(suite, **dict.fromkeys(judges, 0.3))
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert outcomes(card) == falls
    # Everything up by more than is allowed, the time too.
    values(suite, sleep=0.6, **dict.fromkeys(judges, 0.7))
    done = cli("run", suite.path, "--out", "up", cwd=tmp_path)
    card = decided(done, suite, tmp_path / "up", code=1)
    assert outcomes(card) == {
        name: "block" if outcome == "pass" else "pass" for name, outcome in falls.items()
    }
    assert all(
        " rise of " in gate["reason"] for gate in card["gates"] if gate["outcome"] == "block"
    )


def test_b88__almost_all_is_not_all(tmp_path: Path) -> None:
    """B88: nowhere is 2499 of 2500 shown as all of them, nor 1 of 2500 as none; counts decide."""
    most = {"id": "most", "metric": "exact", "min": 0.99999}
    none = {"id": "none", "metric": "never", "max": 0}
    suite = tagged(tmp_path, ["main"] * 2500, most, none)
    suite.config["judges"].append(EXACT | {"id": "never", "negate": True})
    suite.config["target"]["concurrency"] = 16
    suite.cases[7]["expected"] = "another"
    done = cli("run", suite.write().path, cwd=tmp_path)
    card = decided(done, suite, code=1)
    found = {gate["id"]: gate for gate in card["gates"]}
    assert (found["most"]["value"], found["none"]["value"]) == (2499 / 2500, 1 / 2500)
    shown = [done.out, *(gate["reason"] for gate in card["gates"])]
    shown += [(suite.out / name).read_text("utf-8") for name in ("summary.md", "scorecard.html")]
    shown.append((suite.out / "junit.xml").read_text("utf-8"))
    for text in shown:
        assert "mean 1 " not in text
        assert "mean 0 " not in text
        assert not re.search(r"(exact|most)[^\n]{0,80}?\b(1\.0+|100(\.0+)? ?%)", text)
        untimed = re.sub(r' time="[0-9.]+"', "", text)  # how long an answer took may be nought
        assert not re.search(r"(never|none)[^\n]{0,80}?[^0-9.](0\.0+|0(\.0+)? ?%)[^0-9]", untimed)
    assert "0.9996" in shown[1]
    assert "0.0004" in shown[2]


@pytest.mark.parametrize(("wrong", "value"), [(0, 1.0), (3, 0.0), (1, 2 / 3), (2, 1 / 3)])
def test_b88__all_and_none_and_thirds(tmp_path: Path, wrong: int, value: float) -> None:
    """B88: 1 only when all, 0 only when none, and the full double in the file."""
    suite = tagged(tmp_path, ["main"] * 3, {"id": "all", "metric": "exact", "min": 1})
    ids = [case["id"] for case in suite.cases]
    (tmp_path / "wrong.json").write_text(json.dumps(ids[:wrong]), "utf-8")
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=int(wrong > 0))
    assert card["gates"][0]["value"] == value
    assert (" 1 over" in card["gates"][0]["reason"]) == (wrong == 0)
    assert (" 0 over" in card["gates"][0]["reason"]) == (wrong == 3)


MEANS: dict[str, tuple[list[float], float, str]] = {
    "up": ([0.7, 0.8, 0.9], 0.8, "pass"),
    "down": ([0.9, 0.8, 0.7], 0.8, "pass"),
    "same": ([0.7, 0.7, 0.7], 0.7, "pass"),
    "tenths": ([0.1, 0.1, 0.1], 0.1, "pass"),
    "hair_below": ([0.7, 0.8, 0.8999999999999999], 0.8, "block"),
    "higher_mark": ([0.7, 0.8, 0.9], 0.8000000000000002, "block"),
}


def test_b89__mean_at_its_mark_passes(tmp_path: Path) -> None:
    """B89: exact arithmetic, in any order, without a tolerance that would pass what is below."""
    gates = [
        {"id": name.replace("_", "-"), "metric": name, "min": least}
        for name, (_, least, _) in MEANS.items()
    ]
    suite = graded(tmp_path, {name: {} for name in MEANS}, *gates, cases=3)
    values(suite, **{name: scores for name, (scores, _, _) in MEANS.items()})
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert outcomes(card) == {
        name.replace("_", "-"): outcome for name, (_, _, outcome) in MEANS.items()
    }


DROPS: dict[str, tuple[float, float, float, str]] = {
    "hundredth": (0.95, 0.94, 0.01, "pass"),
    "two": (0.90, 0.88, 0.02, "pass"),
    "beyond": (0.95, 0.9399999999999, 0.01, "block"),
}


def test_b89__drop_at_its_limit_passes(tmp_path: Path) -> None:
    """B89: 0.95 to 0.94 is a drop of 0.01, whatever binary fractions say."""
    gates = [no_worse(name, drop) for name, (_, _, drop, _) in DROPS.items()]
    suite = graded(tmp_path, {name: {} for name in DROPS}, *gates)
    values(suite, **{name: before for name, (before, *_) in DROPS.items()})
    promoted(suite)
    values(suite, **{name: after for name, (_, after, *_) in DROPS.items()})
    card = decided(cli("run", suite.path, cwd=tmp_path), suite, code=1)
    assert outcomes(card) == {name: outcome for name, (*_, outcome) in DROPS.items()}


def test_b92__resume_takes_exact_matches_only(tmp_path: Path) -> None:
    """B92: 1 trial of 1 case on record is not 3 trials of 2, and changed text is another run."""
    suite = python_suite(tmp_path, 1)
    assert cli("plan", suite.path, "--out", "plan-1", cwd=tmp_path).code == 0
    shard = ("shard", "--index", "0", "--plan")
    assert cli(*shard, "plan-1", "--out", "one", cwd=tmp_path).code == 0
    suite.cases = [
        {"id": "c0", "input": "changed text", "expected": "CHANGED TEXT"},
        {"id": "c1", "input": "y", "expected": "Y"},
    ]
    suite.write(trials=3)
    assert cli("plan", suite.path, "--out", "plan-2", cwd=tmp_path).code == 0
    (tmp_path / "calls.txt").unlink()
    # The old records are another run's: refused by name, not counted.
    refused = cli(*shard, "plan-2", "--out", "two", "--resume", "one", cwd=tmp_path)
    assert refused.code == 4, refused
    assert "another" in refused.err
    assert not noted(suite)
    assert cli(*shard, "plan-2", "--out", "two", cwd=tmp_path).code == 0
    assert noted(suite) == {f"c{case}#t{trial}": 1 for case in (0, 1) for trial in (0, 1, 2)}
    done = cli("finish", "--plan", "plan-2", "--results", "two", cwd=tmp_path)
    card = decided(done, suite, code=0)
    assert card["counts"]["scored"] == 6


def test_b92__resume_asks_the_rest_and_says_how_many(tmp_path: Path) -> None:
    """B92: of 3 trials of 2 cases, what has its record is reused and nothing else."""
    suite = python_suite(tmp_path, 2, trials=3)
    assert cli("plan", suite.path, "--out", "plan", cwd=tmp_path).code == 0
    shard = ("shard", "--plan", "plan", "--index", "0")
    assert cli(*shard, cwd=tmp_path).code == 0
    path = tmp_path / "results" / "shard-0000.attempt-1.jsonl"
    held = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(held[:5]))  # as after a kill: two outputs with their scores
    kept = {
        (r["case"], r["trial"]) for r in ledger(tmp_path / "results") if r["record"] == "output"
    }
    (tmp_path / "calls.txt").unlink()
    # The suite on disk has changed meanwhile; the plan has not.
    suite.cases[0] |= {"input": "changed"}
    suite.write(trials=1)
    done = cli(*shard, cwd=tmp_path)
    assert done.code == 0, done
    asked = {(name[:2], int(name[-1])) for name in noted(suite)}
    assert asked.isdisjoint(kept)
    assert len(asked) + len(kept) == 6
    assert f"{len(asked)} of {len(asked)} trials done" in done.out
    assert cli("finish", "--plan", "plan", "--results", "results", cwd=tmp_path).code == 0
    assert len(lines(suite.out / "results.jsonl")) == 6
    assert rows(suite.out)["c0"]["output"] == "Q0"
