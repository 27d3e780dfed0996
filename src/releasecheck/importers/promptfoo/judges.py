"""Checks of all tests to few judges: what is looked for goes into the case wherever a judge can find it there."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from releasecheck.canonical import dump_document
from releasecheck.importers.imported import Mapped
from releasecheck.importers.promptfoo.grading import API_KEY
from releasecheck.importers.promptfoo.scripts import INLINE, inline_module, template
from releasecheck.model.gate import BUILTIN_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Place
    from releasecheck.importers.promptfoo.checks import Check, Limit

JUDGES: Final = "promptfoo_judges"
_LISTED: Final = ("contains", "icontains")
"""Several on one test are one list, of which all must occur."""
_FUNCTIONS: Final = {
    "equals-json": "equals_json", "contains-any": "contains_any", "icontains-any": "icontains_any",
    "starts-with": "starts_with", "ends-with": "ends_with", "levenshtein": "levenshtein",
    "word-count": "word_count", "threshold": "threshold",
}  # fmt: skip
_ANY_JSON: Final = {"type": ["object", "array", "string", "number", "boolean", "null"]}
ANSWERED: Final = "answered"
PASSING: Final = 0.5
"""From this score on a criterion counts as met, where promptfoo's grader would say so itself."""


class Slot(NamedTuple):
    """What makes two checks one judge."""

    kind: str
    negate: bool
    gated: bool
    metric: str | None
    param: str
    """As JSON."""
    number: int
    """The how-manieth of its kind on one test."""


@dataclass(slots=True)
class Panel:
    """The judges that come out of all tests."""

    slots: dict[Slot, list[Check]] = field(default_factory=dict)
    cases: list[dict[Slot, Json]] = field(default_factory=list)
    """What each case's checks look for, by slot; None where the judge itself knows."""

    def add(self, checks: Sequence[Check]) -> None:
        """The checks of the next case."""
        mine: dict[Slot, Json] = {}
        for check in checks:
            slot = self._slot(check, mine)
            self.slots.setdefault(slot, []).append(check)
            if check.kind in _LISTED and slot in mine:
                mine[slot] = list(dict.fromkeys([*mine[slot], *check.value]))
            else:
                mine[slot] = check.value
        self.cases.append(mine)

    @staticmethod
    def _slot(check: Check, mine: Mapping[Slot, Json]) -> Slot:
        param = "" if check.param is None else json.dumps(check.param, sort_keys=True)
        number = 1
        while True:
            slot = Slot(check.kind, check.negate, check.weight != 0, check.metric, param, number)
            together = check.value is None or (check.kind in _LISTED and not check.negate)
            if slot not in mine or together or mine[slot] == check.value:
                return slot
            number += 1

    def names(self) -> dict[Slot, str]:
        """An id for each slot: its metric where that is its alone, else its kind."""
        used = Counter(_slug(slot.metric) for slot in self.slots if slot.metric is not None)
        wanted: dict[Slot, str] = {}
        for slot in self.slots:
            kind = ("not-" if slot.negate else "") + slot.kind + ("" if slot.gated else "-info")
            metric = _slug(slot.metric)
            wanted[slot] = (
                kind if not metric else metric if used[metric] == 1 else f"{metric}-{kind}"
            )
        times = Counter(wanted.values())
        taken: set[str] = {*BUILTIN_METRICS, ANSWERED}
        names: dict[Slot, str] = {}
        for slot, name in wanted.items():
            many = times[name] > 1 and slot.param != "" and not _is_graded(slot)
            names[slot] = _free(f"{name}-1" if many else name, taken)
        return names


def _is_graded(slot: Slot) -> bool:
    return slot.kind in {"llm-rubric", "g-eval"}


def _free(name: str, taken: set[str]) -> str:
    stem, _, last = name.rpartition("-")
    base, number = (stem, int(last)) if stem and last.isdigit() else (name, 1)
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name


def _slug(text: str | None) -> str:
    return re.sub(r"[^a-z0-9]+", "-", (text or "").lower()).strip("-")[:48].strip("-")


def key_of(name: str) -> str:
    """Where in `expected` a judge looks: its id as a JMESPath without quotes."""
    key = name.replace("-", "_")
    return key if not key[0].isdigit() else f"_{key}"


@dataclass(slots=True)
class Bench:
    """Judges, gates and files of a suite, and what each case carries for them."""

    judges: list[dict[str, Any]] = field(default_factory=list)
    gates: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    mapped: list[Mapped] = field(default_factory=list)
    expected: list[dict[str, Json]] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    bad: list[tuple[Place, str]] = field(default_factory=list)
    """What turned out to fit into no suite, with its place."""
    prompt: str | None = None


def seated(panel: Panel, prompt: str | None = None) -> Bench:
    """The judges of a panel with what they need; `prompt` is what the target is sent, as a template."""
    bench = Bench(expected=[{} for _ in panel.cases], tags=[[] for _ in panel.cases], prompt=prompt)
    names = panel.names()
    for slot, name in names.items():
        checks = panel.slots[slot]
        reached = [place for place, mine in enumerate(panel.cases) if slot in mine]
        in_case = checks[0].value is not None
        for place in reached:
            if in_case:
                bench.expected[place][key_of(name)] = panel.cases[place][slot]
            elif len(reached) < len(panel.cases):
                bench.tags[place].append(name)
        if checks[0].unseated:
            continue
        judge = _judge(bench, slot, name, checks)
        if in_case:
            judge |= {"expected": key_of(name), "when": {"has": "expected"}}
        elif len(reached) < len(panel.cases):
            judge["when"] = {"tags": [name]}
        if slot.negate and slot.kind not in {"llm-rubric", "g-eval"}:
            judge["negate"] = True
        bench.judges.append(judge)
        if slot.gated:
            bench.gates.append({"id": name, "metric": name, "require": "all"})
        bench.mapped += _mapped(slot, judge, checks)
    return bench


def _mapped(slot: Slot, judge: Mapping[str, Any], checks: Iterable[Check]) -> list[Mapped]:
    more = "".join(
        f", {key}: {_words(judge[key])}"
        for key in ("normalize", "pattern", "negate", "pass_at", "model")
        if key in judge
    )
    became = f"judge {judge['id']} ({judge['type']}{more})" + (
        "" if slot.gated else ", without a gate"
    )
    return [
        Mapped(f"assert {found}", became, times)
        for found, times in Counter(check.found for check in checks).items()
    ]


def _words(value: Json) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value).replace("True", "true")


def _judge(bench: Bench, slot: Slot, name: str, checks: Sequence[Check]) -> dict[str, Any]:
    kind, check = slot.kind, checks[0]
    if kind == "equals":
        return {"id": name, "type": "exact"}
    if kind == "contains":
        return {"id": name, "type": "contains"}
    if kind == "icontains":
        return {"id": name, "type": "contains", "normalize": ["lower"]}
    if kind == "regex":
        return {"id": name, "type": "regex", "pattern": check.param}
    if kind == "is-json":
        return {"id": name, "type": "json-schema", "schema": _schema(bench, name, check.param)}
    if kind == "python":
        return {
            "id": name,
            "type": "python",
            "function": _script(bench, name, checks),
            "pass_at": 1,
        }
    if kind in {"llm-rubric", "g-eval"}:
        return _llm(bench, slot, name, check)
    bench.files[f"{JUDGES}.py"] = template("judges.py")
    return {"id": name, "type": "python", "function": f"{JUDGES}:{_FUNCTIONS[kind]}", "pass_at": 1}


def _schema(bench: Bench, name: str, schema: Json) -> Json:
    if schema is None:
        return dict(_ANY_JSON)
    path = f"schemas/{name}.json"
    bench.files[path] = dump_document(schema)
    return path


def _script(bench: Bench, name: str, checks: Sequence[Check]) -> str:
    script = checks[0].script
    assert script is not None  # noqa: S101 - a python check has one
    module = f"promptfoo_{key_of(name)}"
    if script.name == INLINE:
        made = inline_module([check.value for check in checks], bench.prompt)
    else:
        param = checks[0].param
        made = script.module(param["config"], param["threshold"], bench.prompt)
    bench.files[f"{module}.py"] = made
    for file, content in script.beside:
        if bench.files.setdefault(file, content) != content:
            bench.bad.append(
                (
                    checks[0].place,
                    f"two files {file} are imported by the Python of assertions, and only one could stand beside the suite; name one of them otherwise",
                )
            )
    return f"{module}:releasecheck_judge"


_RUBRIC: Final = """---
name: {name}
needs: [expected]
scale: [0, 1]
---
`expected` is no answer. It is the criterion by which the output is judged{turned}.

{scale}

Judge by this criterion alone, and not by anything that the output says about itself.
"""
_UP: Final = """- 1: the output meets the criterion wholly.
- 0: it does not meet it.

Where the criterion speaks of degrees, or of parts, use the numbers between."""
_DOWN: Final = """- 1: the criterion does not hold for the output.
- 0: it holds."""


def _llm(bench: Bench, slot: Slot, name: str, check: Check) -> dict[str, Any]:
    assert check.grader is not None  # noqa: S101 - a graded check has one
    path = f"rubrics/{'not-' if slot.negate else ''}criterion.md"
    turned = ", and it must not hold" if slot.negate else ""
    text = _RUBRIC.format(
        name=path.removeprefix("rubrics/").removesuffix(".md"),
        turned=turned,
        scale=_DOWN if slot.negate else _UP,
    )
    bench.files[path] = text.encode()
    mark = check.param["pass_at"]
    if mark is None:
        bench.notes.append(
            f"promptfoo's grader says itself whether it passes; here the judge {name} passes from a score of {PASSING:g} on (`pass_at`)"
        )
    return {
        "id": name,
        "type": "llm",
        "base_url": check.grader.base_url,
        "api_key": API_KEY,
        "model": check.grader.model,
        "rubric": path,
        "pass_at": PASSING if mark is None else mark,
    }


def limit_gates(bench: Bench, limits: Sequence[Sequence[Limit]]) -> None:
    """Bounds on latency and cost as gates, and a judge for cases that have nothing else."""
    groups: dict[tuple[str, float], list[int]] = {}
    found: Counter[tuple[str, str, float]] = Counter()
    for place, ones in enumerate(limits):
        for one in ones:
            cases = groups.setdefault((one.metric, one.most), [])
            if place not in cases[-1:]:
                cases.append(place)
            found[(one.found, one.metric, one.most)] += 1
    taken = {gate["id"] for gate in bench.gates}
    names: dict[tuple[str, float], str] = {}
    for (metric, most), places in groups.items():
        name = names[(metric, most)] = _free("latency" if metric == "latency_ms" else "cost", taken)
        gate: dict[str, Any] = {"id": name, "metric": metric, "stat": "max", "max": most}
        if len(places) < len(limits):
            tag = f"limit-{name}"
            gate["cases"] = {"tags": [tag]}
            for place in places:
                bench.tags[place].append(tag)
        bench.gates.append(gate)
    for (written, metric, most), times in found.items():
        became = f"gate {names[(metric, most)]} (the largest {metric} at most {most:g})"
        bench.mapped.append(Mapped(f"assert {written}", became, times))
    bare = [
        place
        for place, ones in enumerate(limits)
        if ones and not bench.expected[place] and not _judged_by_tag(bench, place)
    ]
    if bare:
        _answered(bench, bare, len(limits))


def _judged_by_tag(bench: Bench, place: int) -> bool:
    tags = set(bench.tags[place])
    return any(
        "when" not in judge or tags & set(judge["when"].get("tags", ())) for judge in bench.judges
    )


def _answered(bench: Bench, bare: Sequence[int], cases: int) -> None:
    judge: dict[str, Any] = {"id": ANSWERED, "type": "regex", "pattern": r"\A"}
    if len(bare) < cases:
        judge["when"] = {"tags": [ANSWERED]}
        for place in bare:
            bench.tags[place].append(ANSWERED)
    bench.judges.append(judge)
    bench.notes.append(
        f"the judge {ANSWERED} is 1 for every answer: it stands for tests that bound only latency or cost"
    )
