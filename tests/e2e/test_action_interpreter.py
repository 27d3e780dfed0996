"""The scripts with the interpreter that the action would use: the harness stands in for nothing else."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.site import SHARD, bundle, card, names
from tests.staging import ACTION, ROOT

if TYPE_CHECKING:
    from tests.e2e.site import Site


@pytest.mark.soak
def test_stages__with_a_python_of_their_own(site: Site) -> None:
    """Each stage is a process of its own, isolated, with the modules of this checkout (trap 22)."""
    site.interpreter.path = site.folder / "real"
    site.interpreter.path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    site.interpreter.path.chmod(0o755)
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert card(play)["verdict"] == "pass"
    assert len(names(play, SHARD)) == 2
    assert json.loads(bundle(play)["manifest.json"])["provenance"] == "ci"


def test_scripts__are_those_of_the_action() -> None:
    """What is played is what is shipped."""
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    for name in ("install", "stage", "end"):
        assert f'bash "$GITHUB_ACTION_PATH/action/{name}.sh"' in scripts
        assert (ROOT / f"action/{name}.sh").is_file()
