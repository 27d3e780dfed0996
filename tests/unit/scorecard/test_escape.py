"""One escape for each place that untrusted text can land in: G-25, B40, B107, B112, B113, B115."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from typing_extensions import override

from releasecheck.scorecard import xml
from releasecheck.scorecard.escape import (
    Markdown,
    html_text,
    markdown,
    markdown_code,
    markdown_fence,
    markdown_value,
    one_line,
    terminal_block,
    terminal_line,
    visible,
)
from tests.unit.scorecard.faults import ALL, COMMANDS, CONTROL, FENCES, MARKDOWN, name_of

ANY_TEXT = st.text(st.characters(codec=None, min_codepoint=0, max_codepoint=0x10FFFF), max_size=60)
HOSTILE = st.one_of(ANY_TEXT, st.sampled_from([text for text in ALL if len(text) < 1000]))
PARSER = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def test_visible__shows_what_has_no_glyph() -> None:
    assert (
        visible("\x1b[31m\x00a\r\n\u202eb\ud800\u200b")
        == "\\e[31m\\0a\\r\n\\u{202e}b\\u{d800}\\u{200b}"
    )


@pytest.mark.parametrize("text", ["plain", "tab\tand\nline", "ü 日本語 🚦 👩‍👩‍👧", "\\e stays"])
def test_visible__leaves_what_can_be_seen(text: str) -> None:
    assert visible(text) == text


@given(HOSTILE)
def test_visible__gives_utf8_that_every_sink_holds(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert visible(shown) == shown


def test_html_text__marks_nothing_safe() -> None:
    assert html_text("<b>\x00") == "<b>\\0"
    assert html_text(7) == 7


class _Marked:
    def __html__(self) -> str:
        return "<b>"


def test_html_text__leaves_our_own_markup() -> None:
    marked = _Marked()
    assert html_text(marked) is marked


@pytest.mark.parametrize("text", CONTROL, ids=name_of)
def test_xml__parses_back_in_text_and_attribute(text: str) -> None:
    found: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.buffer_size = 1 << 20
    parser.StartElementHandler = lambda _name, attributes: found.append(attributes["a"])
    parser.CharacterDataHandler = found.append
    document = xml.HEAD + xml.element("t", {"a": text}, xml.text(text))
    parser.Parse(document.encode("utf-8"), True)
    assert found[0] == visible(text)
    assert "".join(found[1:]) == visible(text)


class _Text(HTMLParser):
    """Text and tags of rendered Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not attrs or tag in ("td", "th"), (tag, attrs)

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


def _rendered(source: str) -> _Text:
    page = _Text()
    page.feed(PARSER.render(source))
    page.close()
    return page


@given(HOSTILE)
def test_markdown__is_one_plain_line_of_the_same_text(text: str) -> None:
    line = markdown(text)
    assert "\n" not in line
    page = _rendered(str(line))
    assert set(page.tags) <= {"p"}
    assert page.text.replace("\u200b", "").strip() == one_line(text).strip().replace("\u200b", "")


@given(HOSTILE, HOSTILE)
def test_markdown__stays_in_its_cell(first: str, second: str) -> None:
    page = _rendered(f"| a | b |\n| --- | --- |\n| {markdown(first)} | {markdown_code(second)} |\n")
    assert page.tags[:3] == ["table", "thead", "tr"]
    assert page.tags.count("tr") == 2
    assert page.tags.count("td") == 2
    assert set(page.tags) <= {"table", "thead", "tbody", "tr", "th", "td", "code", "i"}


@pytest.mark.parametrize("text", MARKDOWN, ids=name_of)
def test_markdown__calls_nobody_and_links_nothing(text: str) -> None:
    shown = _rendered(f"a {markdown(text)}").text
    assert not re.search(r"@[A-Za-z]", shown)
    assert not re.search(r"#\d|GH-\d", shown)
    assert "http" not in markdown(text) or "&#58;//" in markdown(text)
    assert "www." not in markdown(text)


def test_markdown_code__says_that_nothing_is_there() -> None:
    assert markdown_code("") == "<i>empty</i>"
    assert markdown_code(" \n") == "<code>⏎</code>"


@pytest.mark.parametrize("text", [*FENCES, *COMMANDS, "````\n`````\n``"], ids=name_of)
def test_markdown_fence__holds_the_text_and_nothing_leaves_it(text: str) -> None:
    tokens = PARSER.parse(f"before\n\n{markdown_fence(text)}\n\nafter\n")
    kinds = [token.type for token in tokens if token.level == 0]
    assert kinds == [
        "paragraph_open",
        "paragraph_close",
        "fence",
        "paragraph_open",
        "paragraph_close",
    ]
    fence = next(token for token in tokens if token.type == "fence")
    assert fence.content == visible(text) + "\n"


def test_markdown_value__escapes_all_but_what_is_marked() -> None:
    assert markdown_value("a|b") == "a&#124;b"
    assert markdown_value(Markdown("a|b")) == "a|b"
    assert markdown_value(3) == 3


@pytest.mark.parametrize("text", [*COMMANDS, *CONTROL[:9]], ids=name_of)
def test_terminal__obeys_nothing(text: str) -> None:
    for shown in (terminal_line(text), terminal_block(text)):
        for line in re.split(r"[\r\n]", shown):
            assert not line.lstrip().startswith("::")
            assert "##[" not in line
        assert "\x1b" not in shown
        assert "\r" not in shown
    assert "\n" not in terminal_line(text)


@pytest.mark.parametrize("hidden", ["", "\ufe0f", "\u034f", "\u200b", "\u00ad"], ids=ascii)
def test_terminal__obeys_no_command_with_what_cannot_be_seen_in_it(hidden: str) -> None:
    """Trap 15: the runner's comparison skips such characters, so a line holds a command without showing it."""
    start, anywhere = f"{hidden}:{hidden}:add-mask::x", f"said #{hidden}#{hidden}[error]x"
    for shown in (terminal_line(start), terminal_line(anywhere), terminal_block(anywhere)):
        skipped = "".join(c for c in shown if c not in "\ufe0f\u034f\u200b\u00ad")
        assert not skipped.lstrip().startswith("::")
        assert "##[" not in skipped
