"""Lines of a merged ledger, read one at a time by the places that the merge kept."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from releasecheck.ledger.jsonl import read_line_at

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from releasecheck.pipeline.remaining import Recorded


class Lines:
    """Opens each file when a line of it is first needed; a context manager that closes them all."""

    def __init__(self, recorded: Recorded) -> None:
        """Nothing is opened yet."""
        self._paths = recorded.paths
        self._files: dict[int, IO[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.close()

    def at(self, place: Sequence[int]) -> Any:  # noqa: ANN401 - JSON
        """The line at (source, offset).

        Raises:
            CorruptLedger: it is no JSON that a writer of ours leaves.
        """
        source, offset = place
        if source not in self._files:
            self._files[source] = self._paths[source].open("rb")
        return read_line_at(self._files[source], offset)
