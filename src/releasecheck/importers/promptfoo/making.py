"""One assertion and its value to the check that a judge will make, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, parse_json
from releasecheck.config.nodes import plain
from releasecheck.importers.promptfoo.grading import grader_of
from releasecheck.importers.promptfoo.patterns import check_pattern
from releasecheck.importers.promptfoo.reading import entry
from releasecheck.importers.promptfoo.scripts import INLINE, read_script
from releasecheck.importers.promptfoo.templates import as_text
from releasecheck.importers.promptfoo.tests import number_of
from releasecheck.judges.schema import schema_problems

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.config.nodes import MapNode
    from releasecheck.importers.promptfoo.checks import Check
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.tests import Test

_LISTS: Final = ("contains-all", "icontains-all", "contains-any", "icontains-any")
_ALL: Final = {"contains-all": "contains", "icontains-all": "icontains"}
LEVENSHTEIN: Final = 5
"""Edits that promptfoo allows where none are named."""
G_EVAL: Final = 0.7
"""The pass mark of promptfoo's g-eval."""


class Making:
    """Makes the checks of one test."""

    def __init__(self, desk: Desk, test: Test) -> None:
        self._desk, self._test = desk, test

    def made(self, node: MapNode, made: Check, value: Json) -> Check | None:
        """The check, with what it looks for."""
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
            if most is not None and limit is not None and most < 0:
                self._desk.bad(
                    limit.place, f"no two texts are {most:g} edits apart; give 0 or more"
                )
                return None
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
        if isinstance(value, str) and value.isascii() and value.strip().isdigit():
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
