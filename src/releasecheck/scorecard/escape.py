"""Untrusted text made safe, once for each place it can land in (G-25, B40, B107, B112, B113, B115).

Case ids, model outputs, judge reasons and error messages are all hostile until they passed one of these:

- `visible`: what has no glyph or turns the reading direction becomes a readable escape; the others start here
- `html_text`: for Jinja2's autoescape, which does the rest
- `xml_text`: only characters that XML 1.0 allows
- `markdown`, `markdown_code`, `markdown_fence`: prose or table cell, value in a cell, block of lines
- `terminal_line`, `terminal_block`: no control sequence and no workflow command
"""

from __future__ import annotations

import re
from typing import Final

# C0 but tab and newline, DEL, C1, line and paragraph separators, direction marks and overrides, invisible
# characters that make two texts look the same, half surrogate pairs, and the noncharacters.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufdd0-\ufdef"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0001-\U000e007f]"
)
_NAMED: Final = {"\r": "\\r", "\x00": "\\0", "\x1b": "\\e"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"


def visible(text: str) -> str:
    r"""Show what cannot be seen: `\e[31m`, `\r`, `\u{202e}`. Newlines and tabs stay."""
    return _UNSEEN.sub(_escape, text)


def one_line(text: str) -> str:
    """`visible`, with line breaks and tabs shown too."""
    return visible(text).replace("\n", "⏎").replace("\t", "⇥")


def html_text(value: object) -> object:
    """Every value on its way into a page: texts made visible, safe markup and numbers untouched."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value)
    return value


def xml_text(text: str) -> str:
    """Text for an XML writer, which escapes `<`, `&` and quotes itself: characters of XML 1.0 only."""
    return visible(text)


class Markdown(str):
    """Text that already is safe Markdown."""

    __slots__ = ()


# Character references can never be structure in CommonMark, where a backslash before `|` or a digit can.
# Hosts look for mentions and issue numbers in the rendered text, so only a character between stops those.
_MARKUP: Final = re.compile(
    r"(?P<mention>@|#(?=\w)|(?i:\bGH-)(?=\d))|[\\`|<>&\[\]!*~^$]|:(?=//)|(?<=(?i:www))\."
    # Inside a word an underscore marks nothing up, and names are easier to read without a reference.
    r"|(?<![^\W_])_|_(?![^\W_])"
)
_BLOCK_START: Final = re.compile(r"^(?:[-+=#](?=[-=#\s]|$)|\d(?=\d{0,8}[.)](?:\s|$)))")
_REFERENCES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}


def _disarm(match: re.Match[str]) -> str:
    text = match[0]
    if match["mention"]:
        return f"{text}&#8203;"
    return _REFERENCES.get(text, f"&#{ord(text)};")


def markdown(text: str) -> Markdown:
    """One line of prose or a table cell: no markup, no link, no image, no mention, no new cell."""
    line = _MARKUP.sub(_disarm, one_line(text).strip())
    return Markdown(_BLOCK_START.sub(lambda match: f"&#{ord(match[0])};", line))


def markdown_code(text: str) -> Markdown:
    """A value as inline code, in a cell or in prose; code is where hosts look for no mention or link."""
    line = markdown(text)
    return Markdown(f"<code>{line}</code>") if line else Markdown("<i>empty</i>")


def markdown_fence(text: str) -> Markdown:
    """A block of lines as they are, in a fence that nothing inside can close."""
    body = visible(text)
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}text\n{body}\n{fence}")


def markdown_value(value: object) -> object:
    """Every value on its way into a Markdown template: texts are escaped unless marked safe."""
    if isinstance(value, str) and not isinstance(value, Markdown):
        return markdown(value)
    return value


# The runner of GitHub takes commands out of a log: `::name::` at the start of a line, `##[name]` anywhere. It
# compares texts by the rules of a language, which skip what cannot be seen: a variation selector between
# two colons hides the command from us, not from it.
_AT_START: Final = re.compile(r"^([^\x21-\x7e]*:)(?=[^\x20-\x7e]*:)")
_ANYWHERE: Final = re.compile(r"(#[^\x20-\x7e]*#[^\x20-\x7e]*)\[")


def no_command(line: str) -> str:
    """One line of a build log without a workflow command: a space stands in each that it held (trap 15)."""
    return _ANYWHERE.sub(r"\1 [", _AT_START.sub(r"\1 ", line))


def terminal_line(text: str) -> str:
    """One line for a terminal or a build log; never a control sequence, never a workflow command."""
    return no_command(one_line(text))


def terminal_block(text: str, prefix: str = "  | ") -> str:
    """Lines for a terminal or a build log, each behind `prefix`, which must not be blank."""
    return "\n".join(no_command(prefix + one_line(line)) for line in text.split("\n"))
