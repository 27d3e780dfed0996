"""Assertions of one test to checks; whatever cannot be converted is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode
from releasecheck.importers.promptfoo.checks import Check, Checks, Limit
from releasecheck.importers.promptfoo.grammar import Misspelt, read_cell
from releasecheck.importers.promptfoo.kinds import KNOWN, OF_RUN, REFUSED, SET
from releasecheck.importers.promptfoo.making import Making
from releasecheck.importers.promptfoo.reading import FILE, Desk, entry, items_of, node_of, text_at
from releasecheck.importers.promptfoo.tests import number_of
from releasecheck.importers.promptfoo.values import Bad, Values
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Node, Place
    from releasecheck.importers.promptfoo.tests import Test

_PASSES_ALL: Final = "a threshold of 0 passes whatever comes, so that nothing would be measured; remove it, or give a share above 0"
_KEYS: Final = ("type", "value", "threshold", "weight", "metric", "provider", "config")
_KEYS_REFUSED: Final = (
    "transform",
    "contextTransform",
    "rubricPrompt",
    "normalizeUnicode",
    "metricOnly",
)
_GROUPED: Final = (
    "equals", "equals-json", "contains", "icontains", "contains-any", "icontains-any", "starts-with",
    "ends-with", "levenshtein", "word-count", "is-json", "regex",
)  # fmt: skip
"""What can be weighed against each other inside of one judge."""


def checks_of(desk: Desk, test: Test, *, recorded: bool = False) -> Checks:
    """Every assertion of a test; with `recorded` those that only promptfoo can judge are left to its scores."""
    reader = _Reader(desk, test, recorded=recorded)
    threshold = number_of(desk, test.threshold, "the threshold of a test")
    if test.threshold is not None and threshold is not None:
        if threshold <= 0:
            desk.bad(
                test.threshold.place,
                _PASSES_ALL,
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
        limit, threshold = entry(node, "threshold"), self._share(node)
        if limit is not None and threshold is not None:
            self.group(items_of(entry(node, "assert")), threshold, node.place, SET, own)
            return
        for one in items_of(entry(node, "assert")):
            self.take(one, own)

    def _share(self, node: Node) -> float | None:
        """The threshold of an assert-set, if it has one."""
        limit = entry(node, "threshold")
        found = number_of(self._desk, limit, "the threshold of an assert-set")
        if limit is not None and found is not None and found <= 0:
            self._desk.bad(limit.place, _PASSES_ALL)
        return found

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
            limit = self._share(node)
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
        value = Values(self._desk, self._test).of(node, kind)
        if isinstance(value, Bad):
            return None
        return Making(self._desk, self._test).made(node, made, value)

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
