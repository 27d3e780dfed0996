"""The README's picture of a scorecard, from a real run without act: `python -m tests.pictures_of_pages`.

The starter's help desk forgets a word, and the run against its own baseline is drawn by Chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.browser import HOW_TO_GET, chromium, chromium_program

PICTURE: Final = Path(__file__).parent.parent / "docs/pictures/scorecard.png"
SIZE: Final = (1180, 1080)


def _program(folder: Path, *words: str, code: int = 0) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "releasecheck", *words], cwd=folder, check=False, capture_output=True
    )
    if done.returncode != code:
        sys.exit(done.stderr.decode())


def blocked_page(folder: Path) -> Path:
    """The scorecard of a run that its baseline blocks."""
    folder.mkdir()
    _program(folder, "init", ".")
    _program(folder, "run", "releasecheck.yaml", "--out", "../out")
    _program(folder, "baseline", "promote", "../out", "--to", "baseline")
    desk = folder / "helpdesk.py"
    known = desk.read_text(encoding="utf-8")
    desk.write_text(known.replace('"deliver", "arrive", ', ""), encoding="utf-8")
    _program(folder, "run", "releasecheck.yaml", "--out", "../worse", code=1)
    return folder.parent / "worse/scorecard.html"


def main() -> None:
    """Draw it as it looks on a light desktop."""
    program = chromium_program()
    if program is None:
        sys.exit(HOW_TO_GET)
    with tempfile.TemporaryDirectory() as folder, chromium(program) as browser:
        file = blocked_page(Path(folder) / "suite")
        width, height = SIZE
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(file.as_uri())
        page.screenshot(path=PICTURE)


if __name__ == "__main__":
    main()
