"""Shards that die, stay away or come again: what one attempt after another makes of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.e2e.site import SCORECARD, SHARD, artifacts, bundle, card, names, unpacked

if TYPE_CHECKING:
    from tests.e2e.site import Site


def test_run__passes_and_says_so(site: Site) -> None:
    """A gate that passes: one artifact for each stage, and the whole set of cases asked once."""
    play = site.push()
    ran = play.attempt()
    assert {name: one.result for name, one in ran.items()} == {
        "plan": "success", "shard (0)": "success", "shard (1)": "success",
        "finish": "success", "publish": "success",
    }, ran["finish"].log  # fmt: skip
    assert ran["finish"].outputs["verdict"] == "pass"
    assert site.asked() == {f"c{number}#t0": 1 for number in range(4)}
    assert card(play)["verdict"] == "pass"
