"""From what came back to an output, by the suite's `output`, `usage` and `trace_id`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jmespath.exceptions import JMESPathError

from releasecheck.targets.ask import Attempt, Got, Lost
from releasecheck.transport.reading import Read, UsageReader, search, trace_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.target import TargetBase
    from releasecheck.transport.classify import Classifier, Trouble

HEADER = "header:"


class AnswerReader:
    """Takes the output out of an answer; compiled once."""

    def __init__(self, spec: TargetBase, classify: Classifier) -> None:
        """Compile the paths of the suite.

        Raises:
            ConfigError: a path is no JMESPath expression.
        """
        self._classify = classify
        self._path = spec.output
        self._output = search(spec.output, "target.output") if spec.output else None
        self.usage = UsageReader(spec.usage)
        trace = spec.trace_id or ""
        self._header = trace.removeprefix(HEADER).strip() if trace.startswith(HEADER) else None
        self._trace = search(trace, "target.trace_id") if trace and not self._header else None

    @property
    def whole(self) -> bool:
        """Whether the output is the whole answer."""
        return self._output is None

    def take(self, read: Read, doing: str, headers: Mapping[str, str] | None = None) -> Attempt:
        """The output of an answer that was read; null or an absent part is none."""
        usage, notes = self.usage.read(read.value)
        try:
            output = read.value if self._output is None else self._output(read.value)
            trace = self.trace_of(read.value, headers)
        except JMESPathError as error:
            words = f"{doing}: `output` or `trace_id` does not fit the answer: {error}"
            return Lost(self._classify.broken("output_path", words), usage)
        if output is None:
            where = f"`{self._path}` is null or absent in it" if self._path else "it is null"
            return Lost(self.none(f"{doing}: the answer was read, but {where}"), usage)
        return Got(output, usage, trace, (*read.notes, *notes) if notes else read.notes)

    def trace_of(self, value: Json, headers: Mapping[str, str] | None) -> str | None:
        """The trace id of an answer, when it names one."""
        if self._header is not None:
            return trace_id(headers.get(self._header)) if headers is not None else None
        return trace_id(self._trace(value)) if self._trace is not None else None

    def none(self, what: str) -> Trouble:
        """Null and nothing are no answers; false, 0 and an empty text are (B26)."""
        return self._classify.broken(
            "no_answer", f"{what}; false, 0 or an empty text would be an answer"
        )
