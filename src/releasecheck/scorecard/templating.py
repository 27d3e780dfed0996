"""The Jinja2 environments of the reports: everything is escaped unless a type says it is safe."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from releasecheck.assets import templates_dir
from releasecheck.scorecard.escape import (
    Markdown,
    html_text,
    markdown,
    markdown_code,
    markdown_fence,
    markdown_value,
    one_line,
    visible,
)
from releasecheck.scorecard.texts import shorten

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_TICKS: Final = re.compile(r"`([^`\n]{1,200})`")
"""Commands and names inside our own sentences."""


def _html_prose(text: str) -> Markup:
    """A sentence with its `ticks` as code; everything is escaped."""
    from markupsafe import Markup, escape

    parts = [escape(visible(part)) for part in _TICKS.split(text)]
    parts[1::2] = [Markup("<code>{}</code>").format(part) for part in parts[1::2]]
    return Markup().join(parts)


def _markdown_prose(text: str) -> Markdown:
    """A sentence with its `ticks` as code; everything is escaped."""
    # A space that stands beside a code part would be stripped with the line's own.
    pieces = _TICKS.split(one_line(text).strip())
    words = [re.split(r"(^\s*|\s*$)", piece) for piece in pieces[::2]]
    plain = ["".join(part if part.isspace() else markdown(part) for part in word) for word in words]
    code = [markdown_code(piece) for piece in pieces[1::2]]
    return Markdown("".join(itertools.chain(*itertools.zip_longest(plain, code, fillvalue=""))))


@cache
def html_environment() -> Environment:
    """For pages and pictures: autoescape over texts whose unseen characters were made visible."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=html_text,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["prose"] = _html_prose
    environment.filters["short"] = shorten
    return environment


@cache
def markdown_environment() -> Environment:
    """For Markdown: every text is one escaped line; `code` and `fence` show values."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(templates_dir()),
        autoescape=False,  # noqa: S701 - not HTML; `finalize` escapes every expression
        undefined=StrictUndefined,
        finalize=markdown_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["code"] = markdown_code
    environment.filters["fence"] = markdown_fence
    environment.filters["prose"] = _markdown_prose
    return environment
