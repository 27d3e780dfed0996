"""A rubric's sentinels as a judge will look at them: through its own `input` and `contexts`.

A rubric cannot know where a suite's outputs have the answer and the passages. A plain path says it, so
that an output can be made in which the path finds what the sentinel means; of any other expression it is tried
and held against what it finds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import jmespath
from jmespath.exceptions import JMESPathError

from releasecheck.model.judge import Sentinel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.model.judge import LlmJudge

_STEP: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[\*?\])?")
_ANSWER: Final = "answer"
"""Where an output has its answer when the judge looks at the whole of it and contexts stand beside."""


def shown_through(sentinel: Sentinel, contexts: Sequence[str], judge: LlmJudge) -> Sentinel | None:
    """The sentinel with output and metadata in which the judge finds its parts; None when none can be made."""
    output: Json = sentinel.output
    if judge.input is not None:
        output = _placed(judge.input, sentinel.output)
    where = judge.contexts if contexts else None
    named = {"output": output, "metadata": dict(sentinel.metadata)}
    if where is not None:
        root, _, rest = where.partition(".")
        if root not in named or not rest:
            return None
        if root == "output" and judge.input is None:
            named["output"] = {_ANSWER: output}
        named[root] = _merged(named[root], _placed(rest, list(contexts)))
    if contexts and judge.contexts is None:
        return None
    if not _finds(judge.input, named["output"], sentinel.output):
        return None
    whole = {**named, "input": sentinel.input, "expected": sentinel.expected}
    if where is not None and not _finds(where, whole, list(contexts)):
        return None
    kept = {name: getattr(sentinel, name) for name in Sentinel.model_fields}
    return Sentinel.model_validate({**kept, **named})


def _placed(path: str, value: Json) -> Json:
    """An object in which a plain path finds `value`; None when the path is not plain."""
    step, _, rest = path.partition(".")
    found = _STEP.fullmatch(step)
    if found is None:
        return None
    if found[2] is None:
        inner = _placed(rest, value) if rest else value
        return None if inner is None else {found[1]: inner}
    if not isinstance(value, list):
        return None
    items = [_placed(rest, one) if rest else one for one in value]
    return None if None in items else {found[1]: items}


def _merged(one: Json, other: Json) -> Json:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return None
    both: dict[str, Any] = dict(one)
    for key, value in other.items():
        both[key] = _merged(both[key], value) if key in both else value
    return both


def _finds(expression: str | None, shown: Json, wanted: Json) -> bool:
    if expression is None:
        return shown is not None
    try:
        return bool(jmespath.search(expression, shown) == wanted)
    except (JMESPathError, LookupError, TypeError, ValueError):
        return False
