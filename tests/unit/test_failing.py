"""`failure.json` of a bundle, also before there is a plan: C-01, S2-46, S2-60."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.canonical import parse_json
from releasecheck.errors import ConfigError, NotResumable, Problem
from releasecheck.pipeline.failing import failure_recorded
from releasecheck.pipeline.folders import Bundle
from releasecheck.pipeline.world import World
from tests.fakes import FakeClock, HeardProgress

if TYPE_CHECKING:
    from pathlib import Path

BUSY = "another process is at work"
GONE = "gone"


def world(folder: Path) -> World:
    return World(FakeClock(), {}, folder, HeardProgress(), "releasecheck/test")


def test_failure_recorded__without_a_plan_the_stage_is_plan(tmp_path: Path) -> None:
    """C-01: a suite that cannot be planned leaves a record of why."""
    bundle = Bundle(tmp_path / "out")
    with (
        pytest.raises(ConfigError),
        failure_recorded(bundle, None, world(tmp_path)),
    ):
        raise ConfigError([Problem("expected a number", "releasecheck.yaml", 3)])
    said: Any = parse_json((bundle.path / "failure.json").read_bytes())
    assert (said["stage"], said["code"], said["exit_code"]) == ("plan", "config_invalid", 3)
    assert said["run_id"] is None
    assert said["plan_digest"] is None
    assert said["recorded"] == {}
    assert "releasecheck.yaml:3" in said["message"]


def test_failure_recorded__a_folder_that_is_not_this_runs_is_left_alone(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "out")
    with pytest.raises(NotResumable), failure_recorded(bundle, None, world(tmp_path)):
        raise NotResumable(BUSY)
    assert not bundle.path.exists()


def test_failure_recorded__what_was_decided_stands(tmp_path: Path) -> None:
    bundle = Bundle(tmp_path)
    (tmp_path / "manifest.json").write_text('{"finalized_at": "2026-01-01T00:00:00Z"}', "utf-8")
    with pytest.raises(OSError, match="gone"), failure_recorded(bundle, None, world(tmp_path)):
        raise OSError(GONE)
    assert not (tmp_path / "failure.json").exists()
