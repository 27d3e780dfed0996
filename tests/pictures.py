"""Comment and summary in the README, made from a real run of the workflow: `python -m tests.pictures` (needs Chromium).

A pull request makes the starter's help desk forget a word and lowers the gate that would notice. act runs
the real workflow, and what GitHub would show is drawn by Chromium.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt

from tests.acting import ROOT, action_alone, repository
from tests.e2e.test_workflows import CALLER, pull_request
from tests.githubfake import FakeGitHub

if TYPE_CHECKING:
    from tests.acting import Repository

PICTURES: Final = ROOT / "docs/pictures"
STYLE: Final = """
body { font: 15px/1.5 -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; color: #1f2328; margin: 0; background: #fff }
main { width: 830px; margin: 24px; border: 1px solid #d1d9e0; border-radius: 6px; padding: 4px 24px 16px }
h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em }
table { border-collapse: collapse } td, th { border: 1px solid #d1d9e0; padding: 5px 11px }
code { background: #eff1f3; border-radius: 6px; padding: .15em .4em; font-size: 85% }
blockquote { color: #59636e; border-left: 4px solid #d1d9e0; margin: 0; padding: 0 1em }
"""


def _suite(repo: Repository) -> tuple[str, str]:
    """Base and head of the pull request."""
    run = [sys.executable, "-m", "releasecheck"]
    subprocess.run([*run, "init", "."], cwd=repo.folder, check=True, capture_output=True)
    subprocess.run(
        [*run, "run", "releasecheck.yaml", "--out", "../out"], cwd=repo.folder, check=False,
        capture_output=True,
    )  # fmt: skip
    subprocess.run(
        [*run, "baseline", "promote", "../out", "--to", "baseline"], cwd=repo.folder, check=True,
        capture_output=True,
    )  # fmt: skip
    base = repo.commit("base")
    repo.git("checkout", "-q", "-b", "topic")
    desk, config = repo.folder / "helpdesk.py", repo.folder / "releasecheck.yaml"
    desk.write_text(desk.read_text().replace('"deliver", "arrive", ', ""), encoding="utf-8")
    config.write_text(config.read_text().replace("min: 0.8", "min: 0.2"), encoding="utf-8")
    return base, repo.commit("forget")


def _shot(page: Path, picture: Path, width: int, height: int) -> None:
    subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--window-size={width},{height}", f"--screenshot={picture}", page.as_uri(),
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def main() -> None:
    """Draw them."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        artifacts = folder / "artifacts"
        with FakeGitHub("octo/app", act_folder=artifacts) as github:
            repo = repository(folder / "repo", github, artifacts, action_alone(folder / "action"))
            repo.write(".github/workflows/check.yml", CALLER)
            base, head = _suite(repo)
            done = repo.act("pull_request", pull_request(repo, base, head))
            (comment,) = github.repository.comments
        archive = next(
            path
            for path in artifacts.glob("*/*/*.zip")
            if "-scorecard-" in path.stem and not path.stem.endswith(".html")
        )
        with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as bundle:
            summary = bundle.read("summary.md").decode()
        sys.stdout.write(done.job("finish")[-1500:] + "\n")
        renderer = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
        for what, text, height in (("summary", summary, 1120), ("comment", comment.body, 1120)):
            page = folder / f"{what}.html"
            page.write_text(
                f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><main>{renderer.render(text)}</main>",
                encoding="utf-8",
            )
            _shot(page, PICTURES / f"{what}.png", 930, height)


if __name__ == "__main__":
    main()
