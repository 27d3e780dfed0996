"""`judge calibrate` over judges on loopback: figures, what is missing, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from releasecheck.cli.calibrate import command
from releasecheck.errors import ConfigError, EnvironmentMissing, UsageError
from tests.judgeserver import Fault, JudgeServer, answer
from tests.openaistub import OpenAiStub, serving, verdict
from tests.stubs import reply

SUITE = """\
version: 1
suite: s
cases: [{{path: none.jsonl}}]
target: {{id: t, type: command, run: [cat]}}
judges:
  - id: helpful
    type: llm
    base_url: {url}
    model: m
    rubric: relevance
    timeout: 5s
    {more}
gates: [{{id: g, metric: helpful, min: 0.5}}]
"""


def score_in_text(body: dict[str, Any]) -> Any:
    """The outputs of these tests say what they are worth."""
    text = body["messages"][1]["content"].split("begin output]\n")[1].split("\n")[0]
    return "hm" if text == "unclear" else verdict(float(text), f"worth {text}")


@pytest.fixture
def stub() -> Iterator[OpenAiStub]:
    with serving(OpenAiStub(say=score_in_text)) as served:
        yield served


def wrote(
    folder: Path, rows: list[dict[str, Any]], url: str, more: str = "pass_at: 0.7"
) -> list[str]:
    (folder / "r.yaml").write_text(SUITE.format(url=url, more=more), encoding="utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "labels.jsonl").write_text(lines, encoding="utf-8")
    return [str(folder / "r.yaml"), "helpful", "--labels", str(folder / "labels.jsonl")]


def run(arguments: list[str]) -> int:
    code: int = command.main(arguments, standalone_mode=False)
    return code


def rows(*pairs: tuple[object, object]) -> list[dict[str, Any]]:
    return [
        {"id": f"c{n}", "input": "q", "output": str(value), "label": label}
        for n, (value, label) in enumerate(pairs)
    ]


MIXED = rows(
    *[(0.9, True)] * 10, *[(0.1, False)] * 8, (0.95, False), (0.65, True), (0.6, True), (0.2, True)
)


def test_calibrate__reports_figures_and_disagreements(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "report.json"
    arguments = wrote(tmp_path, MIXED, stub.url)
    assert run([*arguments, "--json", "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert json.loads(out.read_bytes()) == found
    assert found["labels"] == {"n": 22, "pass": 13, "fail": 9}
    assert found["scores"] == {"scored": 22, "failed": 0, "missing": 0, "not-applicable": 0}
    assert found["confusion"] == {
        "judge_pass_human_pass": 10,
        "judge_pass_human_fail": 1,
        "judge_fail_human_pass": 3,
        "judge_fail_human_fail": 8,
    }
    assert found["agreement"]["agreed"] == 18
    assert found["agreement"]["ci_low"] == pytest.approx(0.6148, abs=1e-3)
    chance = (11 * 13 + 11 * 9) / 22**2
    assert found["kappa"]["value"] == pytest.approx((18 / 22 - chance) / (1 - chance))
    assert found["best_pass_at"] == {"value": 0.2, "agreed": 21, "n": 22}
    assert [one["id"] for one in found["disagreements"]] == ["c21", "c18", "c20", "c19"]
    assert found["usage"]["tokens"] == 22 * 25
    assert found["warnings"] == []


def test_calibrate__the_report_fits_80_columns_and_escapes(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b[31m::error::" + "x" * 90
    given = [*MIXED, {"id": evil, "output": "0.99", "label": False}]
    assert run(wrote(tmp_path, given, stub.url)) == 0
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "agreement   18 of 23" in text
    assert "pass_at 0.2 agrees with 21 of 23, 3 more than now" in text
    assert "judge 0.95 passes, human fails: worth 0.95" in text


def test_calibrate__what_got_no_score_is_counted_and_named(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            [
                *wrote(
                    tmp_path,
                    [*MIXED, *rows(), {"id": "x", "output": "unclear", "label": True}],
                    stub.url,
                )
            ]
        )
        == 2
    )
    text = capsys.readouterr().out
    assert "scored      22 of 23; 1 failed" in text
    assert "x  failed: unreadable_verdict" in text


def test_calibrate__few_labels_and_one_class_are_said(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*wrote(tmp_path, rows((0.9, True), (0.8, True)), stub.url), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kappa"], found["best_pass_at"]) == (None, None)
    assert found["agreement"]["agreed"] == 2
    assert "only 2 scored labels" in found["warnings"][0]
    assert "kappa is undefined: all scored labels pass" in found["warnings"][1]


def test_calibrate__a_judge_that_passes_everything_has_no_kappa(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*wrote(tmp_path, rows((0.9, True), (0.8, False)), stub.url), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kappa"] is None
    assert any("the judge passes every output" in one for one in found["warnings"])
    assert found["best_pass_at"]["value"] == 0.9


def test_calibrate__numbers_are_held_against_the_same_mark(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    given = rows((0.9, 0.8), (0.9, 0.2), (0.1, 0.3))
    given[2]["human"] = given[2].pop("label")
    assert run([*wrote(tmp_path, given, stub.url), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["labels"] == {"n": 3, "pass": 1, "fail": 2}
    (split,) = found["disagreements"]
    assert (split["id"], split["label"], split["distance"]) == ("c1", 0.2, pytest.approx(0.7))


def test_calibrate__a_batch_is_collected_within_its_deadline(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    more = "mode: batch\n    interval: 100ms\n    deadline: 5s"
    assert run([*wrote(tmp_path, MIXED, stub.url, more), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"]["scored"] == 22
    assert len(stub.batches) == 1


def test_calibrate__what_does_not_come_in_time_is_missing(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub.at_once = False
    more = "mode: batch\n    interval: 50ms\n    deadline: 200ms"
    assert run([*wrote(tmp_path, MIXED, stub.url, more), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["missing"] == 22
    assert found["agreement"] is None
    assert found["unscored"][0] == {"id": "c0", "state": "missing", "reason": "deadline"}


class OneTicket(JudgeServer):
    """Gives each output the same ticket."""

    @override
    def on_judge(self, body: bytes) -> Fault:
        super().on_judge(body)
        return answer({"state": "pending", "ticket": "the-only-one"}, 202)


@pytest.mark.parametrize(
    ("server", "code", "scored", "part"),
    [
        (JudgeServer(after=2), 0, 3, None),
        (OneTicket(), 2, 0, "each output needs a ticket of its own"),
    ],
    ids=["later", "one ticket for all"],
)
def test_calibrate__tickets_are_settled_as_in_a_run(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    server: JudgeServer,
    code: int,
    scored: int,
    part: str | None,
) -> None:
    with server:
        arguments = wrote(
            tmp_path, rows(("a", True), ("b", False), ("c", True)), "http://unused/v1"
        )
        config = (
            "version: 1\nsuite: s\ncases: [{path: none.jsonl}]\n"
            "target: {id: t, type: command, run: [cat]}\n"
            f"judges: [{{id: helpful, type: http, url: '{server.url}', interval: 50ms, deadline: 5s, pass_at: 1}}]\n"
            "gates: [{id: g, metric: helpful, min: 0.5}]\n"
        )
        (tmp_path / "r.yaml").write_text(config, encoding="utf-8")
        assert run([*arguments, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    assert found["scores"]["scored"] == scored
    assert all(part is not None and part in one["reason"] for one in found["unscored"])
    assert len(found["unscored"]) == 3 - scored


def test_calibrate__a_judge_that_cannot_be_reached_is_exit_4(
    tmp_path: Path, stub: OpenAiStub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub.lose = lambda _: reply(401, {"error": "no"})
    assert run(wrote(tmp_path, rows((0.9, True)), stub.url)) == 2
    assert run(wrote(tmp_path, rows((0.9, True)), "http://127.0.0.1:9/v1")) == 4
    assert "the judge cannot be reached" in capsys.readouterr().err


def test_calibrate__a_judge_or_a_variable_that_is_not_there(tmp_path: Path) -> None:
    arguments = wrote(tmp_path, rows((0.9, True)), "http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="did you mean 'helpful'"):
        run([arguments[0], "helpfull", *arguments[2:]])
    arguments = wrote(tmp_path, rows((0.9, True)), "http://x/v1", "api_key: ${NOT_SET_ANYWHERE}")
    with pytest.raises(EnvironmentMissing, match="NOT_SET_ANYWHERE"):
        run(arguments)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("", "expected one label on each line"),
        ("[1]", "expected a JSON object"),
        ('{"id": "a", "output": "x"}', "needs one of `label` and `human`; found neither"),
        ('{"id": "a", "output": "x", "label": true, "human": true}', "found both"),
        ('{"id": "a", "output": "x", "label": "yes"}', "true, false or a number"),
        ('{"id": "a", "output": "x", "label": null}', "found neither"),
        ('{"id": "a", "label": true}', "needs the `output`"),
        ('{"output": "x", "label": true}', "needs an `id`"),
        ('{"id": "a", "output": "x", "label": true, "expcted": 1}', "did you mean 'expected'?"),
        ('{"id": "a", "output": "x", "label": true, "tags": "x"}', "a list of texts"),
        ('{"id": "a", "output": "x", "label": true, "metadata": []}', "must be an object"),
        ('{"id": "a", "output": "x", "label": NaN}', "NaN"),
        (
            '{"id": "a", "output": 1, "label": true}\n{"id": "a", "output": 2, "label": true}',
            "already used in line 1",
        ),
    ],
)
def test_labels__a_line_that_is_none_is_refused(tmp_path: Path, line: str, part: str) -> None:
    arguments = wrote(tmp_path, [], "http://127.0.0.1:9/v1")
    (tmp_path / "labels.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        run(arguments)
    assert part in str(caught.value)
