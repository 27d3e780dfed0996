"""The page read again: what its articles and its data say of cases, held against the scorecard (B104)."""

from __future__ import annotations

import codecs
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from typing_extensions import override

from releasecheck.scorecard.cases import KINDS
from releasecheck.scorecard.differs import STATES, Differs, outcomes, same, same_states

if TYPE_CHECKING:
    from releasecheck.model.scorecard import Scorecard
    from releasecheck.scorecard.differs import Reader

_KINDS: Final = list(KINDS)
_Tally: TypeAlias = tuple[int, int, int, int, int, int]
"""Trials, then scores in each state."""
_ATTRIBUTES: Final = ("data-trials", *(f"data-{state.replace('_', '-')}" for state in STATES))


class _Held(msgspec.Struct):
    """What is counted of a case in the page's data; `case_data` says what else is there."""

    n: int
    k: int
    c: _Tally


class _Names(msgspec.Struct):
    """The last block of data."""

    kinds: list[tuple[str, str, str]]


_BLOCK: Final = msgspec.json.Decoder(list[_Held])
_LAST_BLOCK: Final = msgspec.json.Decoder(_Names)


class _Page(HTMLParser):
    """Reads the attributes and the data of our page."""

    def __init__(self) -> None:
        super().__init__()
        self.main: dict[str, str | None] = {}
        self.body = ""
        self.gates: Counter[str] = Counter()
        self.waived = 0
        self.quarantined = 0
        self.states: Counter[str] = Counter()
        self.cases = 0
        self.trials = 0
        self.shown = 0
        self.read = 0
        self.articles: dict[str, tuple[str, _Tally]] = {}
        self.held: set[str] = set()
        self.ended = False
        self.names: _Names | None = None
        self._block: list[str] | None = None

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "main":
            self.main = found
        elif tag == "body":
            self.body = str(found.get("class"))
        elif tag == "tr" and "data-gate" in found:
            self.gates[str(found["data-outcome"])] += 1
            self.waived += found["data-waived"] == "yes"
        elif "data-quarantined" in found or found.get("id") == "more-quarantined":
            self.quarantined += int(str(found["data-more"])) if "data-more" in found else 1
        elif tag == "article":
            self.read += 1
            self.articles[str(found["id"])] = (str(found["data-kind"]), _tally(found))
        elif found.get("id") == "left-out":
            self.shown = int(str(found["data-shown"]))
            self._count(int(str(found["data-cases"])), _tally(found))
        elif tag == "script" and found.get("class") == "case-data":
            self._block = []

    @override
    def handle_data(self, data: str) -> None:
        if self._block is not None:
            self._block.append(data)

    @override
    def handle_endtag(self, tag: str) -> None:
        self.ended = self.ended or tag == "html"
        if tag == "script" and self._block is not None:
            text, self._block = "".join(self._block), None
            if text.startswith("{"):
                self.names = _LAST_BLOCK.decode(text)
            else:
                for case in _BLOCK.decode(text):
                    self._hold(case)

    def _hold(self, case: _Held) -> None:
        anchor = f"case-{case.n}"
        if anchor in self.held:
            message = f"its data has {anchor} twice"
            raise Differs(message)
        self.held.add(anchor)
        self._count(1, case.c)
        article, record = self.articles.pop(anchor, None), (_KINDS[case.k], case.c)
        if article not in (None, record):
            message = f"it shows {anchor} as {article}, and its data says {record}"
            raise Differs(message)

    def _count(self, cases: int, tally: _Tally) -> None:
        self.cases += cases
        self.trials += tally[0]
        self.states.update(dict(zip(STATES, tally[1:], strict=True)))


def _tally(found: dict[str, str | None]) -> _Tally:
    trials, scored, outside, failed, missing, pending = (
        int(str(found[name])) for name in _ATTRIBUTES
    )
    return trials, scored, outside, failed, missing, pending


def check_html(read: Reader, scorecard: Scorecard) -> None:
    """Every case stands once in the data or is counted as left out, and each article is that of its record.

    Raises:
        Differs: the page is damaged, or says something else than the scorecard.
    """
    page = _Page()
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in read():
            page.feed(decoder.decode(piece))
        page.feed(decoder.decode(b"", final=True))
        page.close()
    except (UnicodeDecodeError, ValueError, KeyError, IndexError) as error:
        message = f"it cannot be read ({type(error).__name__})"
        raise Differs(message) from None
    same("whole page", page.ended, expected=True)
    same("run", page.main.get("data-run"), scorecard.run_id)
    same("verdict", page.main.get("data-verdict"), scorecard.verdict or "waiting")
    overridden = "yes" if scorecard.overridden else "no"
    same("overridden", page.main.get("data-overridden"), overridden)
    same("green", "tone-good" in page.body.split(), scorecard.verdict == "pass")
    same("exit code", page.main.get("data-exit-code"), str(scorecard.exit_code))
    same("gates", dict(page.gates), outcomes(scorecard))
    same("waived gates", page.waived, sum(gate.waived for gate in scorecard.gates))
    same("cases in quarantine", page.quarantined, len(scorecard.quarantine))
    same("cases", page.cases, scorecard.counts.cases)
    same("trials", page.trials, scorecard.counts.trials)
    same_states(page.states, scorecard)
    _check_articles(page)


def _check_articles(page: _Page) -> None:
    if page.read != page.shown:
        message = f"it has {page.read} articles of cases and says {page.shown}"
        raise Differs(message)
    if page.articles:
        message = f"its data has no {min(page.articles)}, which it shows"
        raise Differs(message)
    if page.names is None:
        message = "its data has no names"
        raise Differs(message)
    said = [(kind, *look) for kind, look in KINDS.items()]
    same("of kinds", page.names.kinds, said)
