"""Pages besides the scorecard: one file, its style and script allowed by hash and nothing else."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from releasecheck.assets import templates_dir
from releasecheck.scorecard.templating import html_environment

if TYPE_CHECKING:
    from collections.abc import Sequence


def render_page(
    template: str, styles: Sequence[str], scripts: Sequence[str], **context: object
) -> bytes:
    """A page from a template, with files of `templates/scorecard/` as its only style and script."""
    from markupsafe import Markup

    style, script = _joined(styles), _joined(scripts)
    text = (
        html_environment()
        .get_template(template)
        .render(
            **context,
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )
    return text.encode("utf-8")


def _joined(names: Sequence[str]) -> str:
    folder = templates_dir() / "scorecard"
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
