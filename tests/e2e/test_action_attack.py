"""Ways to a green check that nobody earned (G-26, G-27; traps 6, 10, 23, 28): each of them once worked."""

from __future__ import annotations

import io
import json
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forge import rewrite_ledger
from tests.e2e.site import SCORECARD, SHARD, artifacts, ready, unpacked
from tests.e2e.test_action_rules import prepared, shallow
from tests.staging import Fate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.site import Site
    from tests.staging import Play, Ran


def archive(files: dict[str, bytes]) -> bytes:
    """A zip file of these."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return buffer.getvalue()


# Rules of the base commit that seem not to be there.


def below(site: Site, folder: str) -> None:
    """Move the whole suite into a folder."""
    to = site.checkout / folder
    to.mkdir()
    for path in list(site.checkout.iterdir()):
        if path.name not in (".git", folder):
            path.rename(to / path.name)


def behind_a_link(site: Site, play_inputs: dict[str, Any]) -> Play:
    """The change moves the suite and leaves a link in its place, with other gates behind it."""
    prepared(site)
    below(site, "suite")
    base = site.repository.commit()
    (site.checkout / "suite").rename(site.checkout / "moved")
    (site.checkout / "suite").symlink_to("moved", target_is_directory=True)
    config = site.checkout / "moved" / "releasecheck.yaml"
    config.write_text(config.read_text("utf-8").replace("0.9", "0.01"), "utf-8")
    site.repository.commit()
    play = site.pull(base, **play_inputs)
    shallow(site, play)
    return play


@pytest.mark.parametrize(
    "inputs", [{"config": "suite/releasecheck.yaml"}, {"working-directory": "suite"}], ids=str
)
def test_linked_folder__does_not_hide_the_rules_of_the_base(
    site: Site, inputs: dict[str, Any]
) -> None:
    """G-27: the config is looked for where the workflow names it, not where a link of the change leads."""
    play = behind_a_link(site, inputs)
    ran = play.attempt()
    assert ran["finish"].outputs.get("verdict") == "block", ran["plan"].log + ran["finish"].log


def export_ignored(site: Site) -> None:
    (site.checkout / ".gitattributes").write_text("releasecheck.yaml export-ignore\n", "utf-8")


def a_link(site: Site) -> None:
    (site.checkout / "releasecheck.yaml").rename(site.checkout / "real.yaml")
    (site.checkout / "releasecheck.yaml").symlink_to("real.yaml")


def below_a_link(site: Site) -> None:
    below(site, "real")
    (site.checkout / "suite").symlink_to("real", target_is_directory=True)


def lowered(path: Path) -> None:
    """Put a weak config of its own there."""
    text = path.read_text("utf-8").replace("0.9", "0.01")
    if path.is_symlink():
        path.unlink()
    path.write_text(text, "utf-8")


@pytest.mark.parametrize("how", [export_ignored, a_link, below_a_link])
def test_config_of_the_base__that_git_keeps_out_of_archives(
    site: Site, how: Callable[[Site], None]
) -> None:
    """G-27: a config that is there but cannot be read is not "no config"; its change does not decide."""
    prepared(site)
    how(site)
    base = site.repository.commit()
    config = "suite/releasecheck.yaml" if how is below_a_link else "releasecheck.yaml"
    lowered(site.checkout / config)
    site.repository.commit()
    play = site.pull(base, config=config)
    shallow(site, play)
    ran = play.attempt()
    assert ran["finish"].result == "failure", ran["plan"].log + ran["finish"].log
    if how is export_ignored:
        assert ran["finish"].outputs["verdict"] == "block"
    else:
        assert "symbolic link" in ran["plan"].log


# Records that no job of ours wrote.


def lost_shard(site: Site) -> tuple[Play, bytes, str]:
    """A run without shard 1, the file of that shard in another run, and the name of shard 0's artifact."""
    play = site.push()
    play.attempt(shard_1=Fate(never=True), finish=Fate(never=True), publish=Fate(never=True))
    donor = site.push()
    donor.attempt()
    one = next(one for one in artifacts(donor, SHARD) if "-1-a1" in one.name)
    (data,) = unpacked(one).values()
    return play, data, artifacts(play, SHARD)[0].name


def as_run(play: Play, data: bytes, path: Path, attempt: int = 1) -> bytes:
    """A ledger file as if it were of another run and attempt."""
    plan = json.loads(unpacked(artifacts(play, "releasecheck-plan-")[0])["plan.json"])
    path.write_bytes(data)

    def change(row: dict[str, Any]) -> None:
        if row["record"] == "shard":
            row |= {"run_id": plan["run_id"], "plan_digest": plan["plan_digest"]}
        if "attempt" in row:
            row["attempt"] = attempt

    rewrite_ledger(path, change)
    return path.read_bytes()


def decided(play: Play) -> Ran:
    return play.rerun("failed", shard_1=Fate(never=True))["finish"]


def test_shard_artifact__with_a_file_of_another_shard(site: Site, tmp_path: Path) -> None:
    """G-26: what runs in one shard's job can write into that job's folder; it speaks for no other shard."""
    play, data, name = lost_shard(site)
    file = "shard-0001.attempt-1.jsonl"
    forged = as_run(play, data, tmp_path / file)
    one = artifacts(play, SHARD)[0]
    play.run.artifacts.remove(one)
    play.run.add_artifact(name, archive({**unpacked(one), file: forged}))
    ran = decided(play)
    assert ran.result == "failure", ran.log
    assert not ran.outputs.get("verdict")
    assert name in ran.log
    assert file in ran.log


def test_shard_artifact__with_a_file_of_finish(site: Site, tmp_path: Path) -> None:
    """G-26: a shard's job does not speak for `finish` either."""
    play, data, name = lost_shard(site)
    forged = as_run(play, data, tmp_path / "shard-0001.attempt-1.jsonl")
    rows = [json.loads(line) for line in forged.splitlines()]
    rows[0]["shard"] = None
    path = tmp_path / "finish.attempt-1.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    rewrite_ledger(path, lambda _: None)
    one = artifacts(play, SHARD)[0]
    play.run.artifacts.remove(one)
    play.run.add_artifact(name, archive({**unpacked(one), path.name: path.read_bytes()}))
    ran = decided(play)
    assert ran.result == "failure", ran.log
    assert not ran.outputs.get("verdict")
    assert name in ran.log
    assert path.name in ran.log


def test_shard_artifact__of_an_attempt_to_come(site: Site, tmp_path: Path) -> None:
    """Trap 6: nobody honest has uploaded for an attempt that did not begin."""
    play, data, name = lost_shard(site)
    file = "shard-0001.attempt-9.jsonl"
    forged = as_run(play, data, tmp_path / file, attempt=9)
    future = name.replace("-0-a1", "-1-a9")
    play.run.add_artifact(future, archive({file: forged}))
    ran = decided(play)
    assert ran.result == "failure", ran.log
    assert not ran.outputs.get("verdict")
    assert future in ran.log


@pytest.mark.parametrize(("ending", "attempts"), [("a1", 1), ("a9", 1), ("a1-u2", 2)])
def test_scorecard_artifact__that_no_finish_uploaded(
    site: Site, tmp_path: Path, ending: str, attempts: int
) -> None:
    """C-17, G-26: `finish` starts from what it decided, and takes what a shard lost from nobody else."""
    play = site.push()
    made: list[str] = []

    def plant() -> None:
        # All that a target of shard 0 could have uploaded: a whole, consistent, decided bundle.
        shards: dict[str, bytes] = {}
        for one in artifacts(play, SHARD):
            shards |= unpacked(one)
        donor = site.push()
        donor.attempt()
        (lost,) = unpacked(next(o for o in artifacts(donor, SHARD) if "-1-a1" in o.name)).values()
        forged = as_run(play, lost, tmp_path / "shard-0001.attempt-1.jsonl")
        files = {f"results/{name}": data for name, data in shards.items()}
        files["results/shard-0001.attempt-1.jsonl"] = forged
        plan = unpacked(artifacts(play, "releasecheck-plan-")[0])
        files |= {f"plan/{name}": data for name, data in plan.items()}
        plan12 = artifacts(play, SHARD)[0].name.split("-")[3]
        made.append(f"{SCORECARD}small-{plan12}-{ending}")
        play.run.add_artifact(made[0], archive(files))

    forging = Fate(before={"stage": plant})
    lost, silent = Fate(never=True), Fate(never=True)
    ran = play.attempt(shard_1=lost, finish=forging if attempts == 1 else Fate(), publish=silent)
    if attempts == 2:
        ran = play.rerun("failed", shard_1=lost, finish=forging, publish=silent)
    finish = ran["finish"]
    assert finish.result == "failure", finish.log
    assert finish.outputs.get("verdict") != "pass"
    assert made[0] in finish.log


def test_plan__of_another_suite_is_not_taken_for_a_lost_name(site: Site) -> None:
    """Traps 10 and 13: the name of the plan got lost, and only the plan of another suite is there."""
    other = ready(site)
    plan = artifacts(other, "releasecheck-plan-")[0]
    site.change(suite="mine")
    ran = other.act("finish", {"stage": "finish", "plan-result": "success"}, other.folder / "lost")
    assert ran.result == "failure", ran.log
    assert plan.name in ran.log


def test_adopted_plan__is_the_one_that_its_name_says(site: Site) -> None:
    """G-26: that a plan took somebody's cases excuses its run id, not its suite and digest."""
    play = ready(site)
    one = artifacts(play, "releasecheck-plan-")[0]
    files = unpacked(one)
    plan = json.loads(files["plan.json"])
    plan["adopted"] = {"run_id": plan["run_id"], "plan_digest": plan["plan_digest"]}
    files["plan.json"] = json.dumps(plan).encode()
    one.data = archive(files)
    one.digest = "sha256:" + sha256(one.data).hexdigest()
    one.name = one.name.replace("-small-", "-other-")
    ran = play.act(
        "finish",
        {"stage": "finish", "plan-artifact": one.name, "plan-result": "success"},
        play.folder / "adopted",
    )
    assert ran.result == "failure", ran.log
    assert "it was exchanged" in ran.log
