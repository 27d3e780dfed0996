"""Assertions of one test to checks: what is looked for, filled in, and whatever cannot be converted refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.config.nodes import MapNode, Node, Place, plain
from releasecheck.config.text import read_text
from releasecheck.importers.promptfoo.grading import Grader, grader_of
from releasecheck.importers.promptfoo.grammar import Misspelt, read_cell
from releasecheck.importers.promptfoo.kinds import KNOWN, OF_RUN, REFUSED, SET
from releasecheck.importers.promptfoo.patterns import check_pattern
from releasecheck.importers.promptfoo.reading import FILE, Desk, entry, items_of, node_of, text_at
from releasecheck.importers.promptfoo.scripts import INLINE, Script, read_script
from releasecheck.importers.promptfoo.templates import (
    Unset,
    Untranslatable,
    as_text,
    parse,
    render,
)
from releasecheck.importers.promptfoo.tests import number_of
from releasecheck.judges.schema import schema_problems
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.importers.promptfoo.tests import Test

_KEYS: Final = ("type", "value", "threshold", "weight", "metric", "provider", "config")
_KEYS_REFUSED: Final = (
    "transform",
    "contextTransform",
    "rubricPrompt",
    "normalizeUnicode",
    "metricOnly",
)
_LISTS: Final = ("contains-all", "icontains-all", "contains-any", "icontains-any")
_TEXTS: Final = (
    "contains",
    "icontains",
    "starts-with",
    "ends-with",
    "levenshtein",
    "llm-rubric",
    "g-eval",
)
_GROUPED: Final = (
    "equals", "equals-json", "contains", "icontains", "contains-any", "icontains-any", "starts-with",
    "ends-with", "levenshtein", "word-count", "is-json", "regex",
)  # fmt: skip
"""What can be weighed against each other inside of one judge."""
_ALL: Final = {"contains-all": "contains", "icontains-all": "icontains"}
LEVENSHTEIN: Final = 5
"""Edits that promptfoo allows where none are named."""
G_EVAL: Final = 0.7
"""The pass mark of promptfoo's g-eval."""


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion of one test."""

    kind: str
    """In promptfoo's words; `contains-all` is `contains` with several texts."""
    place: Place
    found: str
    """The type as it was written."""
    negate: bool = False
    value: Json = None
    """What is looked for in this test."""
    param: Json = None
    """What the judge itself must know; another one is another judge."""
    metric: str | None = None
    weight: float = 1.0
    script: Script | None = None
    grader: Grader | None = None
    unseated: bool = False
    """Left to a recorded score: it stands in the case, as in the suite of the config, and has no judge."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on what the runner measures: a gate."""

    metric: str
    most: float
    place: Place
    found: str


@dataclass(slots=True)
class Checks:
    """What one test asserts."""

    checks: list[Check] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    recorded: list[tuple[str, str | None]] = field(default_factory=list)
    """Type and metric of those whose recorded scores are taken instead, in a file of results."""


def checks_of(desk: Desk, test: Test, *, recorded: bool = False) -> Checks:
    """Every assertion of a test; with `recorded` those that only promptfoo can judge are left to its scores."""
    reader = _Reader(desk, test, recorded=recorded)
    threshold = number_of(desk, test.threshold, "the threshold of a test")
    if test.threshold is not None and threshold is not None:
        if threshold <= 0:
            desk.bad(
                test.threshold.place,
                "a threshold of 0 passes whatever comes, so that nothing would be measured; remove it, or give a share above 0",
            )
        reader.group(test.asserts, threshold, test.threshold.place, "threshold", None)
    else:
        for node in test.asserts:
            reader.take(node, None)
    return reader.found


class _Reader:
    def __init__(self, desk: Desk, test: Test, *, recorded: bool) -> None:
        self._desk, self._test, self._recorded = desk, test, recorded
        self.found = Checks()

    def take(self, node: Node, metric: str | None) -> None:
        """One assertion, or a set of them."""
        kind = text_at(entry(node, "type"))
        if kind == SET:
            assert isinstance(node, MapNode)  # noqa: S101 - it has a key
            self._set(node, metric)
            return
        found = self._one(node, metric)
        if isinstance(found, Check):
            self.found.checks.append(found)
        elif found is not None:
            self.found.limits.append(found)

    def _set(self, node: MapNode, metric: str | None) -> None:
        self._desk.keys(
            node, ("type", "assert", "threshold", "weight", "metric"), "an assert-set", ("config",)
        )
        if not items_of(entry(node, "assert")):
            self._desk.bad(
                node.place, "the assert-set holds no assertion, so that it measures nothing"
            )
        own = text_at(entry(node, "metric")) or metric
        limit = entry(node, "threshold")
        threshold = number_of(self._desk, limit, "the threshold of an assert-set")
        if limit is not None and threshold is not None:
            self.group(items_of(entry(node, "assert")), threshold, node.place, SET, own)
            return
        for one in items_of(entry(node, "assert")):
            self.take(one, own)

    def group(
        self,
        nodes: tuple[Node, ...],
        threshold: float,
        place: Place,
        found: str,
        metric: str | None,
    ) -> None:
        """Assertions of which a share must hold: one check that weighs them."""
        if self._recorded and any(self._left(one) for one in nodes):
            self.found.recorded.append((found, metric))
            return
        members = [one for node in nodes for one in self._member(node)]
        if members:
            value: dict[str, Json] = {"threshold": threshold, "asserts": members}
            self.found.checks.append(Check("threshold", place, found, value=value, metric=metric))

    def _left(self, node: Node) -> bool:
        if text_at(entry(node, "type")) == SET:
            return any(self._left(one) for one in items_of(entry(node, "assert")))
        kind = (text_at(entry(node, "type")) or "").removeprefix("not-")
        in_file = (text_at(entry(node, "value")) or "").startswith(FILE)
        return in_file or kind in REFUSED or kind in {"llm-rubric", "g-eval", "python", *OF_RUN}

    def _member(self, node: Node) -> list[dict[str, Json]]:
        if text_at(entry(node, "type")) == SET:
            members = [
                one for item in items_of(entry(node, "assert")) for one in self._member(item)
            ]
            inner: dict[str, Json] = {
                "asserts": members,
                "weight": self._number(node, "weight", 1.0),
            }
            limit = number_of(
                self._desk, entry(node, "threshold"), "the threshold of an assert-set"
            )
            return [inner if limit is None else {**inner, "threshold": limit}]
        found = self._one(node, None)
        if found is None:
            return []
        if (
            not isinstance(found, Check)
            or found.kind not in _GROUPED
            or (found.kind == "is-json" and found.param)
        ):
            self._desk.bad(
                found.place,
                f"{found.found} under a threshold cannot be weighed against others here; those that can are {', '.join(_GROUPED)}. Take it out of the threshold",
            )
            return []
        value = found.param if found.kind == "regex" else found.value
        member = {
            "type": found.kind,
            "value": value,
            "negate": found.negate,
            "weight": found.weight,
        }
        return [{key: one for key, one in member.items() if one is not None and one is not False}]

    def _number(self, node: Node, key: str, default: float) -> float:
        found = number_of(self._desk, entry(node, key), f"`{key}` of an assertion")
        if found is not None and found < 0:
            self._desk.bad(node.place, f"`{key}` of an assertion is {found:g}; expected 0 or more")
        return default if found is None else found

    def _one(self, node: Node, metric: str | None) -> Check | Limit | None:
        node = self._object(node)
        if not isinstance(node, MapNode):
            self._desk.bad(node.place, "expected an assertion, a mapping with `type`")
            return None
        kind_node = entry(node, "type")
        written = text_at(kind_node)
        if written is None or kind_node is None:
            self._desk.bad(node.place, "the assertion has no `type`")
            return None
        negate = written.startswith("not-")
        kind = written.removeprefix("not-")
        own = text_at(entry(node, "metric")) or metric
        if self._recorded and self._left(node):
            self.found.recorded.append((written, own))
            return self._shadow(node, metric)
        if kind in REFUSED:
            self._desk.bad(
                kind_node.place, f"the assertion {written!r} cannot be converted: {REFUSED[kind]}"
            )
            return None
        if kind not in KNOWN:
            self._desk.bad(
                kind_node.place,
                f"unknown assertion {written[:60]!r}{did_you_mean(written, [*KNOWN, *(f'not-{one}' for one in KNOWN)])}",
            )
            return None
        self._desk.keys(node, _KEYS, f"the assertion {written}", _KEYS_REFUSED)
        weight = self._number(node, "weight", 1.0)
        if own is not None and "{{" in own:
            self._desk.note(f"metric {own!r}: a name with variables in it is not taken over")
            own = None
        made = Check(kind, kind_node.place, written, negate, metric=own, weight=weight)
        if kind in OF_RUN:
            return self._limit(node, made)
        value = self._value(node, kind)
        if isinstance(value, _Bad):
            return None
        return self._made(node, made, value)

    def _shadow(self, node: Node, metric: str | None) -> Check | None:
        """What the case of the imported config would hold for it: else the two could not be compared."""
        scratch = Desk(self._desk.base)
        found = _Reader(scratch, self._test, recorded=False)._one(node, metric)  # noqa: SLF001 - its own class
        if not isinstance(found, Check) or found.value is None or scratch.problems:
            return None
        return replace(found, unseated=True)

    def _object(self, node: Node) -> Node:
        """An assertion in its short form as one in its long form."""
        short = text_at(node)
        if short is None:
            return node
        try:
            return node_of(read_cell(short), node.place)
        except Misspelt as error:
            self._desk.bad(node.place, str(error))
            return node_of({"type": "equals", "value": short}, node.place)

    def _limit(self, node: MapNode, made: Check) -> Limit | None:
        most = number_of(self._desk, entry(node, "threshold"), f"the threshold of {made.found}")
        if made.negate:
            self._desk.bad(
                made.place,
                f"{made.found}: a gate here holds what is measured below a bound, not above one; remove it",
            )
        elif most is None:
            self._desk.bad(
                made.place,
                f"{made.found} without a threshold only records; the runner measures it anyway: remove the assertion",
            )
        elif made.weight == 0:
            self._desk.bad(
                made.place,
                f"{made.found} with weight 0 only records; the runner measures it anyway: remove the assertion",
            )
        else:
            return Limit(
                "latency_ms" if made.kind == "latency" else "cost_usd", most, made.place, made.found
            )
        return None

    def _value(self, node: MapNode, kind: str) -> Json | _Bad:
        """The value with the test's variables in it, and what a `file://` holds in its place."""
        found = entry(node, "value")
        if found is None:
            return None
        value = plain(found)
        if isinstance(value, str) and value.startswith(FILE) and kind != "python":
            value = self._file(value, found.place)
        if isinstance(value, str) and kind == "python":
            return self._filled(value, found.place)
        return self._rendered(value, found.place)

    def _file(self, name: str, place: Place) -> Json:
        paths = self._desk.found(name, place)
        if not paths:
            return _BAD
        suffix = paths[0].suffix.lower()
        if suffix in {".json", ".yaml", ".yml"}:
            return plain(self._desk.document(paths[0]))
        if suffix in {".txt", ".md", ""}:
            return read_text(paths[0])
        self._desk.bad(
            place,
            f"{name}: a value is read from .txt, .md, .json and .yaml; a program that gives one is not run",
        )
        return _BAD

    def _rendered(self, value: Json, place: Place) -> Json | _Bad:
        if isinstance(value, _Bad):
            return value
        if isinstance(value, str):
            return self._filled(value, place)
        if isinstance(value, list):
            parts = [self._rendered(one, place) for one in value]
            return _BAD if any(isinstance(one, _Bad) for one in parts) else parts
        if isinstance(value, dict):
            made = {key: self._rendered(one, place) for key, one in value.items()}
            return _BAD if any(isinstance(one, _Bad) for one in made.values()) else made
        return value

    def _filled(self, text: str, place: Place) -> str | _Bad:
        try:
            return render(parse(text), self._test.variables)
        except Untranslatable as error:
            self._desk.bad(place, f"the value of an assertion: {error.message}")
        except Unset as error:
            at = "" if place == self._test.place else f", used in {place.path}:{place.line}"
            self._desk.bad(
                self._test.place,
                f"the test sets no variable {error.name!r}{at}{did_you_mean(error.name, self._test.variables)}",
            )
        return _BAD

    def _made(self, node: MapNode, made: Check, value: Json) -> Check | None:
        kind = made.kind
        if kind == "python":
            return self._python(node, made, value)
        for key in ("config", "provider"):
            if entry(node, key) is not None and not (
                key == "provider" and kind in {"llm-rubric", "g-eval"}
            ):
                self._desk.bad(
                    made.place, f"`{key}` of {made.found} has no meaning there; remove it"
                )
        limit = entry(node, "threshold")
        if limit is not None and kind not in {"levenshtein", "llm-rubric", "g-eval"}:
            self._desk.note(
                f"threshold of {made.found}: it answers yes or no, so that a threshold changes nothing"
            )
        if kind == "regex":
            return self._regex(made, value)
        if kind == "is-json":
            return self._schema(made, value)
        if kind == "word-count":
            return self._words(made, value)
        if kind == "equals" and entry(node, "value") is None:
            self._desk.bad(made.place, f"{made.found} has no `value` to equal")
            return None
        found = self._looked_for(made, value)
        if found is None:
            return None
        if kind == "equals":
            return (
                replace(made, value=value) if isinstance(value, str) else self._equal(made, value)
            )
        if kind == "levenshtein":
            most = number_of(self._desk, limit, "the threshold of levenshtein")
            return replace(
                made, value={"text": found, "most": int(LEVENSHTEIN if most is None else most)}
            )
        if kind in {"llm-rubric", "g-eval"}:
            return self._graded(node, made, found)
        if kind in {"contains", "icontains", *_LISTS}:
            listed = found if isinstance(found, list) else [found]
            return replace(made, kind=_ALL.get(kind, kind), value=listed)
        return replace(made, value=found)

    def _equal(self, made: Check, value: Json) -> Check:
        if isinstance(value, dict | list):
            return replace(made, kind="equals-json", value=value)
        return replace(made, value=as_text(value) if value is not None else "null")

    def _looked_for(self, made: Check, value: Json) -> Json:
        """A text that is not empty, or a list of them; None after saying why it is neither."""
        kind = made.kind
        if kind == "equals":
            return True
        if kind in _LISTS and isinstance(value, str):
            value = [one.strip() for one in value.split(",")]
        if kind in _LISTS:
            listed = [as_text(one) for one in value] if isinstance(value, list) else []
            if listed and all(listed):
                return listed
        elif (
            isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and (text := as_text(value))
        ):
            return text
        what = (
            "a list of texts that are not empty" if kind in _LISTS else "a text that is not empty"
        )
        self._desk.bad(
            made.place,
            f"{made.found} needs {what} as `value` (what is empty is in every answer); found {str(value)[:40]!r}",
        )
        return None

    def _regex(self, made: Check, value: Json) -> Check | None:
        if not isinstance(value, str) or not value:
            self._desk.bad(made.place, f"{made.found} needs a pattern as `value`")
            return None
        pattern, problem = check_pattern(value)
        if problem:
            self._desk.bad(made.place, f"{made.found}: {problem}")
            return None
        return replace(made, param=pattern)

    def _schema(self, made: Check, value: Json) -> Check | None:
        if isinstance(value, str) and value.strip():
            try:
                value = parse_json(value)
            except JsonProblem as error:
                self._desk.bad(made.place, f"{made.found}: its schema is not JSON: {error.message}")
                return None
        if value in (None, "", True) or value == {}:
            return made
        if not isinstance(value, dict):
            self._desk.bad(made.place, f"{made.found} needs a JSON Schema as `value`, or nothing")
            return None
        # promptfoo's validator reads a schema without this as draft 7, ours as the newest.
        value = {"$schema": "http://json-schema.org/draft-07/schema#", **value}
        wrong = list(schema_problems(value))
        for problem in wrong:
            self._desk.bad(made.place, f"{made.found}: {problem}")
        return None if wrong else replace(made, param=value)

    def _words(self, made: Check, value: Json) -> Check | None:
        if isinstance(value, str) and value.strip().isdigit():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool):
            value = {"min": value, "max": value}
        known = isinstance(value, Mapping) and value and set(value) <= {"min", "max"}
        if not known or not all(isinstance(one, int | float) for one in value.values()):
            self._desk.bad(
                made.place, f"{made.found} needs a number as `value`, or a mapping with min or max"
            )
            return None
        return replace(made, value=dict(value))

    def _python(self, node: MapNode, made: Check, value: Json) -> Check | None:
        if not isinstance(value, str) or not value.strip():
            self._desk.bad(
                made.place, f"{made.found} needs code, or `file://` with a file, as `value`"
            )
            return None
        config = entry(node, "config")
        threshold = number_of(
            self._desk, entry(node, "threshold"), f"the threshold of {made.found}"
        )
        found = entry(node, "value")
        place = made.place if found is None else found.place
        script = read_script(self._desk, value, place)
        if script is None:
            return None
        kept = None if config is None else plain(config)
        more = {
            key: one for key, one in (("config", kept), ("threshold", threshold)) if one is not None
        }
        if script.name == INLINE:
            return replace(made, value={"code": value, **more} if more else value, script=script)
        param: dict[str, Any] = {"script": script.digest, "function": script.function}
        param |= {"config": kept, "threshold": threshold}
        return replace(made, param=param, script=script)

    def _graded(self, node: MapNode, made: Check, criterion: Json) -> Check | None:
        if made.negate and (made.kind == "g-eval" or entry(node, "threshold") is not None):
            self._desk.bad(
                made.place,
                f"{made.found}: a grade turned round has no pass mark here; write the criterion the other way round",
            )
            return None
        named = entry(node, "provider") or self._test.option("provider")
        grader = grader_of(self._desk, named)
        if grader is None:
            return None
        mark = number_of(self._desk, entry(node, "threshold"), f"the threshold of {made.found}")
        if mark is not None and not 0 < mark <= 1:
            self._desk.bad(
                made.place,
                f"{made.found}: expected a threshold above 0 and at most 1, found {mark:g}",
            )
        if mark is None:
            mark = G_EVAL if made.kind == "g-eval" else None
        param = {"pass_at": mark, "model": grader.model, "base_url": grader.base_url}
        return replace(made, value=criterion, param=param, grader=grader)


class _Bad:
    """Stands for a value that could not be had; why has been said."""


_BAD: Final = _Bad()
