"""What a pull request may not choose for itself, through the stages of the Action (G-27)."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tests.e2e.site import bundle, card

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.site import Site


def keep_baseline(site: Site, files: dict[str, bytes], folder: Path) -> None:
    """What `baseline promote` would keep of a bundle."""
    folder.mkdir(exist_ok=True)
    for name in ("scorecard.json", "results.jsonl", "manifest.json"):
        (folder / name).write_bytes(files[name])


def test_baseline_path__is_read_at_the_base_commit(site: Site) -> None:
    """A change that swaps the folder it is compared with is compared with the base's all the same."""
    first = site.push(baseline="none")
    assert first.attempt()["finish"].result == "success"
    accepted = site.checkout / "accepted"
    keep_baseline(site, bundle(first), accepted)
    base = site.repository.commit("accepted")
    shutil.rmtree(accepted)
    site.repository.commit("compare me with nothing")
    play = site.pull(base, baseline="accepted")
    ran = play.attempt()
    assert ran["plan"].result == "success", ran["plan"].log
    assert card(play)["baseline"]["run_id"] == card(first)["run_id"]
