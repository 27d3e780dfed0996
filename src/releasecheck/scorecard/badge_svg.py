"""`badge.svg`: the badge as a picture that any reader can parse and any screen reader can say (B118)."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any, Final

from releasecheck.scorecard.escape import one_line
from releasecheck.scorecard.templating import html_environment
from releasecheck.scorecard.texts import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

COLORS: Final = {
    "brightgreen": "#257a2c",
    "red": "#c0392b",
    "orange": "#b35900",
    "yellow": "#8a6d00",
    "blue": "#1f6fb2",
    "lightgrey": "#6b7280",
}
"""Of the names that shields knows, those we use, dark enough for white text (contrast 4.5 and more)."""
_LONGEST: Final = 80
_PADDING: Final = 6.0
# Advance widths of Verdana at 11 pixels, rounded up; what is not named is as wide as a digit.
_NARROW: Final = frozenset("ijl|!.,:;'`I ()[]{}ftr/\\-")
_WIDE: Final = frozenset("mwMWOQGDHNU@%#&+=<>~")


def _width(text: str) -> float:
    total = 0.0
    for char in text:
        if unicodedata.combining(char):
            continue
        if unicodedata.east_asian_width(char) in "WF":
            total += 12.0
        elif char in _NARROW:
            total += 4.8
        else:
            total += 10.0 if char in _WIDE else 7.2
    return round(total, 1)


def render_badge_svg(badge: Mapping[str, Any], manifest_digest: str | None = None) -> bytes:
    """The picture of a badge; `manifest_digest` says what the claim rests on."""
    label = shorten(one_line(str(badge["label"])).strip(), _LONGEST)
    message = shorten(one_line(str(badge["message"])).strip(), _LONGEST)
    left, right = _width(label) + 2 * _PADDING, _width(message) + 2 * _PADDING
    text = (
        html_environment()
        .get_template("badge.svg.j2")
        .render(
            label=label,
            message=message,
            color=COLORS[badge["color"]],
            left=left,
            right=right,
            padding=_PADDING,
            manifest_digest=manifest_digest,
            # Several badges may stand in one page, where ids must not be the same.
            key=(manifest_digest or "none").removeprefix("sha256:")[:12],
        )
    )
    return str(text).encode("utf-8")
