"""The badge of a finished run, made again: G-23, S2-61, P-14."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from releasecheck.canonical import digest_bytes
from releasecheck.errors import ReleaseCheckError, Untrusted, UsageError
from releasecheck.pipeline.badging import rebadge, write_badge
from releasecheck.pipeline.baselines import promote
from releasecheck.pipeline.bundle import complete_badge, read_decision
from releasecheck.pipeline.folders import Bundle
from releasecheck.pipeline.verify import verify
from tests.bundles import Made, contents, fake_world
from tests.e2e.forge import edit, seal

if TYPE_CHECKING:
    from pathlib import Path

SOON = "2026-01-06T09:00:00.000Z"
LATE = "2026-03-05T09:00:00.000Z"
MONTH = 30 * 86400.0


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pass in CI, to copy from."""
    return Made().write(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def out(finished: Path, tmp_path: Path) -> Path:
    shutil.copytree(finished, tmp_path / "out")
    return tmp_path / "out"


def test_rebadge__as_it_was_changes_nothing(out: Path) -> None:
    before = contents(out)
    made = rebadge(out, SOON, MONTH)
    assert (made.is_stale, made.no_claim, made.stale_after) == (False, None, "2026-02-04T09:00:00Z")
    assert write_badge(made, out) == ()
    assert contents(out) == before


def test_rebadge__stale_after_its_time_and_verified_all_the_same(out: Path, tmp_path: Path) -> None:
    """No byte that the manifest vouches for changes, and what says that it is old is no forgery."""
    before = contents(out)
    made = rebadge(out, LATE, MONTH)
    assert made.is_stale
    assert write_badge(made, out) == ("badge.json", "badge.svg")
    endpoint = json.loads((out / "badge.json").read_bytes())
    assert endpoint["message"].startswith("stale, was pass 2026-01-05 ccccccc manifest ")
    assert endpoint["color"] == "lightgrey"
    changed = {name for name, data in contents(out).items() if data != before[name]}
    assert changed == {"badge.json", "badge.svg"}
    digest = digest_bytes((out / "manifest.json").read_bytes())
    assert digest.encode() in (out / "badge.svg").read_bytes()
    world = fake_world(tmp_path)
    assert verify(out, world).differences == ()
    complete_badge(Bundle(out), *read_decision(Bundle(out)))
    assert json.loads((out / "badge.json").read_bytes()) == endpoint  # what is old stays old
    (out / "badge.svg").write_bytes(before["badge.svg"])
    assert any("badge.svg" in line for line in verify(out, world).differences)


@pytest.mark.parametrize(
    "edit", [{"message": "pass"}, {"color": "brightgreen"}, {"isError": False}]
)
def test_verify__no_other_badge_passes_for_a_stale_one(
    out: Path, tmp_path: Path, edit: dict[str, object]
) -> None:
    write_badge(rebadge(out, LATE, MONTH), out)
    path = out / "badge.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **edit}))
    assert any("badge.json" in line for line in verify(out, fake_world(tmp_path)).differences)


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("2031-01-01T00:00:00.000Z", "later than now"),
        ("9999-12-31T23:59:59.999Z", "later than now"),
        ("0001-01-01T00:00:00+23:00", "expected a time"),
    ],
)
def test_rebadge__no_time_lets_a_claim_outlive_its_limit(out: Path, at: str, says: str) -> None:
    """G-23: a manifest with every digest right that names a time to come stays green for ever otherwise."""
    edit(out / "manifest.json", lambda manifest: manifest.update(finalized_at=at))
    seal(out)
    with pytest.raises(ReleaseCheckError, match=says):
        rebadge(out, LATE, 1.0)


def test_rebadge__a_clock_a_little_ahead_is_no_forgery(out: Path) -> None:
    assert not rebadge(out, "2026-01-05T08:30:00.000Z", MONTH).is_stale


def test_rebadge__of_a_baseline(out: Path, tmp_path: Path) -> None:
    promote(out, tmp_path / "baseline", accept=None, now=SOON)
    made = rebadge(tmp_path / "baseline", SOON, MONTH)
    assert made.files["badge.json"] == (out / "badge.json").read_bytes()
    assert made.files["badge.svg"] == (out / "badge.svg").read_bytes()


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (Made(preview=2), "partial run"),
        (Made(cases={"c0": "good", "c1": "..."}), "not final"),
    ],
)
def test_rebadge__none_for_a_run_that_makes_none(tmp_path: Path, made: Made, says: str) -> None:
    """It says what the badge could claim at most."""
    bundle = made.write(tmp_path)
    assert not (bundle / "badge.json").exists()
    with pytest.raises(UsageError, match=says):
        rebadge(bundle, SOON, MONTH)


def test_rebadge__a_local_run_claims_nothing(tmp_path: Path) -> None:
    made = rebadge(Made(provenance="local").write(tmp_path), SOON, MONTH)
    assert (made.endpoint["message"], made.endpoint["color"]) == ("local run", "lightgrey")
    assert made.no_claim == "local run"


@pytest.mark.parametrize("name", ["scorecard.json", "results.jsonl", "manifest.json"])
def test_rebadge__nothing_from_documents_that_contradict_each_other(out: Path, name: str) -> None:
    """S2-61: a claim follows from what is behind it, or is not made."""
    path = out / name
    data = path.read_bytes()
    path.write_bytes(
        data.replace(b'"pass"', b'"block"')
        .replace(b"1.0", b"0.0")
        .replace(b'"value":1', b'"value":0')
    )
    assert path.read_bytes() != data
    with pytest.raises(ReleaseCheckError):
        rebadge(out, SOON, MONTH)
    path.unlink()
    with pytest.raises((UsageError, Untrusted), match=name):
        rebadge(out, SOON, MONTH)
