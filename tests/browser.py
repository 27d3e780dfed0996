"""Chromium for tests that look at pages as a reader does."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_ELSEWHERE: Final = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
)
"""Where installers of other systems put it, which is on no PATH."""
_FLAGS: Final = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip
HOW_TO_GET: Final = (
    "no Chromium on this machine, so that its pages were not looked at; get one (Debian: apt-get install chromium; "
    "macOS: brew install --cask chromium) or name its program in RELEASECHECK_CHROMIUM"
)


def chromium_program() -> str | None:
    """Where the browser of this machine is."""
    named = os.environ.get("RELEASECHECK_CHROMIUM")
    return named or next(filter(None, map(shutil.which, (*_NAMES, *_ELSEWHERE))), None)


@contextmanager
def chromium(program: str) -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright  # takes a second, and few tests look at pages

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield browser
        browser.close()
