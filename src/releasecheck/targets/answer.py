"""From what came back to an output, by the suite's `output`, `usage` and `trace_id`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jmespath.exceptions import JMESPathError

from releasecheck.model.target import HttpTarget
from releasecheck.targets.ask import Attempt, Got, Lost
from releasecheck.transport.reading import Read, UsageReader, fingerprint, search, trace_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.target import TargetBase
    from releasecheck.transport.classify import Classifier, Trouble

HEADER = "header:"


class _Place:
    """Where an answer says something besides its output: a header, or a path into its body."""

    def __init__(self, written: str | None, key: str) -> None:
        text = written or ""
        self._header = text.removeprefix(HEADER).strip() if text.startswith(HEADER) else None
        self._path = search(text, key) if text and not self._header else None

    def read(self, value: Json, headers: Mapping[str, str] | None) -> Json:
        """What stands there; None where there is nothing."""
        if self._header is not None:
            return headers.get(self._header) if headers is not None else None
        return self._path(value) if self._path is not None else None


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
        self._trace = _Place(spec.trace_id, "target.trace_id")
        model = spec.fingerprint if isinstance(spec, HttpTarget) else None
        self._model = _Place(model, "target.fingerprint")

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
            model = fingerprint(self._model.read(read.value, headers))
        except JMESPathError as error:
            words = (
                f"{doing}: `output`, `trace_id` or `fingerprint` does not fit the answer: {error}"
            )
            return Lost(self._classify.broken("output_path", words), usage)
        if output is None:
            where = f"`{self._path}` is null or absent in it" if self._path else "it is null"
            return Lost(self.none(f"{doing}: the answer was read, but {where}"), usage)
        return Got(output, usage, trace, (*read.notes, *notes) if notes else read.notes, model)

    def trace_of(self, value: Json, headers: Mapping[str, str] | None) -> str | None:
        """The trace id of an answer, when it names one."""
        return trace_id(self._trace.read(value, headers))

    def none(self, what: str) -> Trouble:
        """Null and nothing are no answers; false, 0 and an empty text are (B26)."""
        return self._classify.broken(
            "no_answer", f"{what}; false, 0 or an empty text would be an answer"
        )
