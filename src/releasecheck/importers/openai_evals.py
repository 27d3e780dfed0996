"""openai/evals: samples with an eval class, a registry file that names them, or the log of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from releasecheck.config.rows import Row, read_jsonl
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.importers.imported import CONFIG, Imported, Mapped, config_bytes, lines_bytes
from releasecheck.importers.names import slug
from releasecheck.importers.openai_evals_chat import conversation, ideals
from releasecheck.importers.peek import start_of
from releasecheck.importers.recorded import (
    BASELINE,
    CASES,
    FIRST_RUN_NOTE,
    GATE_NOTE,
    case_problems,
    no_worse,
)
from releasecheck.importers.replay import WRITTEN
from releasecheck.importers.sections import WHOLE, chat_target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from releasecheck.canonical import Json

Kind: TypeAlias = Literal["match", "includes", "fuzzy-match"]
JUDGES: Final = "judges.py"
FUZZY_TOKENS: Final = 100
"""Tokens that FuzzyMatch lets the model write, unless its arguments say otherwise."""
_CLASSES: Final[dict[Kind, str]] = {
    "match": "Match",
    "includes": "Includes",
    "fuzzy-match": "FuzzyMatch",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """Which eval it is."""

    samples: Path
    kind: Kind
    name: str
    """Of the suite."""
    prefix: str
    """Of the ids of its samples, as a log of the eval has them: `name.split`."""
    ignore_case: bool = False
    max_tokens: int | None = None
    shots: tuple[Json, ...] = ()
    """Messages that go before the last one of every sample."""
    head: str = ""
    mapped: tuple[Mapped, ...] = ()


def import_samples(plan: Plan, target: dict[str, Json] | None) -> Imported:
    """A suite that asks a model and judges as the eval class does.

    Raises:
        ConfigError: every sample that is none, by its line.
    """
    rows = _rows(plan)
    expected: list[list[str]] = [row["expected"] for row in rows]
    judges, becoming = _judges(plan, expected)
    suite: dict[str, Json] = {
        "version": 1,
        "suite": plan.name,
        "cases": [{"path": CASES}],
        "expect_cases": len(rows),
        "target": target or chat_target(WHOLE, _params(plan)),
        "judges": judges,
        "gates": no_worse(str(judge["id"]) for judge in judges),
        "baseline": dict(BASELINE),
    }
    files = {CONFIG: config_bytes(suite, [plan.head]), CASES: lines_bytes(rows)}
    if any(judge["type"] == "python" for judge in judges):
        files[JUDGES] = (WRITTEN / "openai_evals.py").read_bytes()
    asked = (
        "the target named" if target else "the chat API that OPENAI_BASE_URL and OPENAI_MODEL name"
    )
    mapped = (
        *plan.mapped,
        Mapped("sample", f"case {plan.prefix}.N of {CASES}", len(rows)),
        *becoming,
        Mapped("completion function", f"target {suite['target'].get('id', 'target')}: {asked}"),
    )
    return Imported(files, mapped, (*_notes(plan, target), GATE_NOTE, FIRST_RUN_NOTE))


def _notes(plan: Plan, target: dict[str, Json] | None) -> list[str]:
    notes = []
    if target is None and plan.kind != "includes":
        notes.append("the model is asked with temperature 0, as this eval class does")
    if target is not None:
        notes.append(
            "a case's input is a list of messages ({role, content}); the target named must take that"
        )
    return notes


def _params(plan: Plan) -> dict[str, Json]:
    if plan.kind == "includes":
        return {}
    if plan.kind == "match":
        return {"temperature": 0}
    return {"temperature": 0, "max_tokens": plan.max_tokens or FUZZY_TOKENS}


def _judges(
    plan: Plan, expected: Sequence[list[str]]
) -> tuple[list[dict[str, Json]], list[Mapped]]:
    found = f"class {_CLASSES[plan.kind]}" + (" with ignore_case" if plan.ignore_case else "")
    if plan.kind == "includes" and not plan.ignore_case and all(len(one) == 1 for one in expected):
        # `contains` wants all of a list, which is the same where there is one.
        return [{"id": "includes", "type": "contains"}], [
            Mapped(found, "judge includes (contains)")
        ]
    function = plan.kind.replace("-", "_") + ("_ignore_case" if plan.ignore_case else "")
    functions = [function, "f1_score"] if plan.kind == "fuzzy-match" else [function]
    judges: list[dict[str, Json]] = []
    for name in functions:
        judge: dict[str, Json] = {
            "id": plan.kind if name == function else "f1-score",
            "type": "python",
            "function": f"judges:{name}",
            "scale": [0, 1],
        }
        judges.append({**judge, "pass_at": 1} if name == function else judge)
    became = ", ".join(
        f"judge {judge['id']} ({JUDGES}:{name})"
        for judge, name in zip(judges, functions, strict=True)
    )
    return judges, [Mapped(found, became)]


def _rows(plan: Plan) -> list[dict[str, Json]]:
    shown = plan.samples.as_posix()
    read = read_jsonl(read_text(plan.samples), shown)
    problems = list(read.problems)
    if not read.rows and not problems:
        problems.append(Problem(f"no samples: {read.empty}", shown))
    cases = []
    for number, row in enumerate(read.rows):
        case, wrong = _case(plan, row, number, shown)
        problems += wrong
        cases.append(case)
    if problems:
        raise ConfigError(sorted(problems, key=lambda problem: problem.line or 0))
    return cases


def _case(plan: Plan, row: Row, number: int, shown: str) -> tuple[dict[str, Json], list[Problem]]:
    problems = []
    for key in ("input", "ideal"):
        if key not in row.fields:
            others = ", ".join(sorted(row.fields)[:8]) or "nothing"
            problems.append(
                Problem(f"the sample has no `{key}`; found {others}", shown, row.line, key=key)
            )
    messages = conversation(row.fields.get("input", "-"))
    if isinstance(messages, str):
        problems.append(Problem(messages, shown, row.line, key="input"))
    elif plan.shots and isinstance(row.fields.get("input"), str):
        message = "num_few_shot needs a list of messages as input; found a text"
        problems.append(Problem(message, shown, row.line, key="input"))
    elif plan.shots:
        messages = [*messages[:-1], *plan.shots, *messages[-1:]]
    wanted = ideals(row.fields.get("ideal", "-"))
    if isinstance(wanted, str):
        problems.append(Problem(wanted, shown, row.line, key="ideal"))
    elif plan.kind != "fuzzy-match" and "" in wanted:
        message = "an empty ideal is in every completion: the eval would always be right"
        problems.append(Problem(message, shown, row.line, key="ideal"))
    extra = {key: value for key, value in row.fields.items() if key not in ("input", "ideal")}
    fields: dict[str, Json] = {
        "id": f"{plan.prefix}.{number}",
        "input": messages,
        "expected": wanted,
    }
    if extra:
        fields["metadata"] = extra
    return fields, problems or case_problems(fields, shown, row.line)


def samples_plan(path: Path, kind_: str, *, ignore_case: bool, suite: str | None) -> Plan:
    """Of a file of samples whose eval class the user names.

    Raises:
        ConfigError: the class takes no such option.
    """
    if ignore_case and kind_ != "includes":
        message = (
            f"only `includes` can ignore case in openai/evals; found --ignore-case with {kind_}"
        )
        raise ConfigError([Problem(message)])
    name = slug(suite or path.stem, "openai-evals")
    head = f"From {path.name}, samples of openai/evals, by `releasecheck import openai-evals`."
    return Plan(path, cast("Kind", kind_), name, name, ignore_case=ignore_case, head=head)


def is_log(path: Path) -> bool:
    """Whether the file is the log of a run: its first line names what was run."""
    start = start_of(path, 64).lstrip()
    return start.startswith((b'{"spec"', b'{ "spec"'))
