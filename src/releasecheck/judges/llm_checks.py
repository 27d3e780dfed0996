"""What is wrong with an `llm` judge whatever its surroundings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jmespath
from jmespath.exceptions import JMESPathError

from releasecheck.errors import Problem
from releasecheck.judges.llm_api import OURS
from releasecheck.model.judge import Rubric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.model.judge import LlmJudge


def llm_problems(spec: LlmJudge) -> Iterator[Problem]:
    """Problems whose `key` is the key inside the judge."""
    for name in OURS:
        if name in spec.params:
            where = "is set by the judge itself"
            if name in type(spec).model_fields:
                where = "stands beside `params`, as a key of the judge"
            yield Problem(f"`{name}` {where}; take it out of `params`", key="params")
    if not math.isfinite(spec.scale[1] - spec.scale[0]):
        yield Problem("the scale is too wide to be measured on", key="scale")
    if spec.contexts is not None:
        try:
            jmespath.compile(spec.contexts)
        except (JMESPathError, RecursionError, ValueError) as error:
            yield Problem(f"not a JMESPath: {' '.join(str(error).split())}", key="contexts")
    elif isinstance(spec.rubric, Rubric) and "contexts" in spec.rubric.needs:
        yield Problem(
            f"the rubric {spec.rubric.name!r} judges against passages: name where they are, such as "
            "`contexts: output.contexts` or `contexts: metadata.documents[].text`",
            key="rubric",
        )
