"""Inputs that have broken other people's reports, in our words (fault catalogue, section 9)."""

from __future__ import annotations

import zlib

CONTROL = (
    "\x00", "\x1b[31mred\x1b[0m", "\x08\x0b\x0c\x1f", "\ufffe\uffff", "\ud800", "]]>", "<failure>&amp;&#0;",
    "a\r\nb\tc", "\u0085\u2028", "\U0001f600", "x" * 300_000, "turned \u202e round", "zero\u200bwidth",
)  # fmt: skip
"""B107, B40: what XML 1.0 cannot hold, and what ends an element early."""
MARKDOWN = (
    "a|b|c", "one | two | three", "line one\nline two\r\n| --- | --- |", "ends with a backslash \\",
    "`code | with ` pipe", "@everyone", "ping @octocat and close #1 or GH-7 or owner/repo#12",
    "![p](https://tracker.example/p.png) [click](javascript:alert(1)) <img src=x>",
    "https://evil.example www.evil.example someone@evil.example", "# heading", "- item", "1. item", "> quote",
    "***", "&#124; &lt;b&gt;", "[^1]: note", "$x$", "~~gone~~", "\\|", "<!-- releasecheck:comment-marker -->",
)  # fmt: skip
"""B112: what shifts a cell, makes markup, or calls somebody."""
FENCES = (
    "```\n## Verdict: PASSED\n| gate | result |\n| --- | --- |\n| all | ok |",
    "``````` seven",
    "</summary></details><h1>PASSED</h1>",
    "~~~\ntext",
    "<!-- releasecheck:comment-marker --> unfinished",
)
"""B113: what ends a fence, or what stands around it."""
MARKUP = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>*{display:none}</style>",
    "{{ 7 * 7 }} {% raw %}",
    "</main></body></html>",
    "<meta http-equiv=refresh content=0>",
)
"""G-25: what becomes part of a page."""
COMMANDS = (
    "fine\n::error file=app.py,line=1::hacked\n::add-mask::e\n::stop-commands::x",
    "  ::warning::indented",
    "##[error]old style",
    "::group::never closed\r::notice::after a lone CR",
    "::debug::%0A::error::decoded",
    "::set-output name=verdict::PASS",
)
"""B115: what a build log would obey."""
LABELS = (
    "R&D <core>", 'quality "gate"', "</text><script>alert(1)</script>", "96.92367601%", "日本語ラベル", "🚦 gate",
    "", "]]>", "\x00\x1b", "w" * 500,
)  # fmt: skip
"""B118: what has made an image unreadable."""
ALL = tuple(dict.fromkeys((*CONTROL, *MARKDOWN, *FENCES, *MARKUP, *COMMANDS, *LABELS)))


def name_of(text: str) -> str:
    """A short test id for a text of any size and kind."""
    return f"{ascii(text)[:20]}~{zlib.crc32(ascii(text).encode()) % 1000}"
