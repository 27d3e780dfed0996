"""`regex`: found or not, in bounded time (issue step 1, item 4; B67)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from releasecheck.judges.outcome import LONGEST_TEXT
from tests.unit.judges.builders import answer, ask, opened, reason, said, spec_of


@pytest.mark.parametrize(
    ("settings", "output", "said_"),
    [
        ({"pattern": r"\d{4}-\d\d"}, "on 2024-05", 1.0),
        ({"pattern": r"\d{4}-\d\d"}, "on May 5", 0.0),
        ({"pattern": r"\d+", "match": "full"}, "42", 1.0),
        ({"pattern": r"\d+", "match": "full"}, "42 ", 0.0),
        ({"pattern": "paris", "flags": ["ignorecase"]}, "PARIS", 1.0),
        ({"pattern": "^b", "flags": ["multiline"]}, "a\nb", 1.0),
        ({"pattern": "^b"}, "a\nb", 0.0),
        ({"pattern": "a.b", "flags": ["dotall"]}, "a\nb", 1.0),
        ({"pattern": "^$"}, "", 1.0),
        ({"pattern": "0"}, 0, 1.0),  # B26: the text of a number
        ({"pattern": "a"}, ["a"], "not_text"),
        ({"pattern": "a"}, {"a": 1}, "not_text"),
        ({"pattern": r"\\1 and"}, "C:\\new\\1 and \\g<0>", 1.0),  # B35
    ],
)
def test_regex__matches(settings: dict[str, Any], output: Any, said_: float | str) -> None:
    assert said(answer("regex", output, **settings)) == said_


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"^(\w|\w\w)+$"])
def test_regex__that_explodes__fails(pattern: str) -> None:
    """B67: a judge failure, neither a match nor a mismatch."""
    found = answer("regex", "a" * 60 + "!", pattern=pattern, timeout="50ms")
    assert said(found) == "timeout"
    assert "50" not in reason(found).split("within")[0]
    assert "0.05 s" in reason(found)


@pytest.mark.parametrize(
    ("pattern", "output", "said_"),
    [
        (r"^(\w+\s?)*$", "a" * 40 + "!", 0.0),
        (r"^(\w+\s?)*$", "a" * 45 + "b", 1.0),
        (r"(a|aa)+$", "a" * 40 + "!", "timeout"),
        (r"(a|aa)+$", "a" * 45 + "b", "timeout"),
    ],
)
def test_regex__catalogue(pattern: str, output: str, said_: float | str) -> None:
    """B67, its two patterns on its two inputs: each comes to an end."""
    assert said(answer("regex", output, pattern=pattern, timeout="50ms")) == said_


def test_regex__that_explodes__leaves_the_loop_alone() -> None:
    """B67: other work goes on while a match takes its time."""
    judge = opened(spec_of("regex", pattern=r"(a|aa)+$", timeout="300ms"))

    async def ticks_meanwhile() -> int:
        judging = asyncio.ensure_future(judge.judge(ask("a" * 60 + "!")))
        ticks = 0
        while not judging.done():
            await asyncio.sleep(0.001)
            ticks += 1
        return ticks

    # A loop that was held for the whole match would have ticked once or twice.
    assert asyncio.run(ticks_meanwhile()) > 10


def test_regex__long_text__fails() -> None:
    """B67: an input cap; a text is searched whole or not at all."""
    assert said(answer("regex", "a" * LONGEST_TEXT, pattern="a$")) == 1.0
    assert said(answer("regex", "a" * (LONGEST_TEXT + 1), pattern="a$")) == "too_large"
