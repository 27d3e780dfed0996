"""Artifacts that somebody else made: refused by name, and nothing of them counts (G-26; traps 4, 6, 8)."""

from __future__ import annotations

import copy
import io
import json
import stat
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.forge import rewrite_ledger
from tests.e2e.site import SCORECARD, SHARD, Site, artifacts, bundle, names, ready, unpacked
from tests.staging import Fate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.githubfake import Stored
    from tests.staging import Play

LEDGER = "shard-0000.attempt-1.jsonl"


def archive(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """A zip file, with whatever names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in entries:
            made.writestr(name, data)
    return buffer.getvalue()


def exchange(one: Stored, data: bytes) -> None:
    """Put other bytes in, with a digest that fits: whoever uploads says both."""
    from hashlib import sha256

    one.data, one.digest = data, "sha256:" + sha256(data).hexdigest()


def refused(play: Play, *words: str) -> None:
    """The check is red with exit code 4, names what it refused, and nothing is claimed."""
    ran = play.rerun("failed")
    log = ran["finish"].log
    assert ran["finish"].steps["stage"].outputs["exit-code"] == "4", log
    assert ran["finish"].result == "failure"
    assert not ran["finish"].outputs.get("verdict")
    for word in words:
        assert word in log, (word, log)
    left = bundle(play)
    assert "failure.json" in left
    assert "scorecard.json" not in left
    assert ran["publish"].result == "failure"
    assert not names(play, "releasecheck-baseline-")


def first_shard(play: Play) -> Stored:
    """The artifact of shard 0."""
    return next(one for one in artifacts(play, SHARD) if one.name.endswith("-0-a1"))


def link() -> zipfile.ZipInfo:
    """An entry that is a symbolic link."""
    info = zipfile.ZipInfo(LEDGER)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


TRICKS: dict[str, Callable[[bytes], bytes]] = {
    "climbs out": lambda ledger: archive((LEDGER, ledger), ("../../bundle/scorecard.json", b"{}")),
    "absolute": lambda ledger: archive((LEDGER, ledger), ("/releasecheck-owned", b"x")),
    "backslash": lambda ledger: archive((LEDGER, ledger), ("..\\owned.log", b"x")),
    "link": lambda _: archive((link(), b"/etc/passwd")),
    "bomb": lambda _: archive((LEDGER, b"\0" * 300 * 2**20)),
    "twice": lambda ledger: archive((LEDGER, ledger), (LEDGER.upper(), ledger)),
    "stranger": lambda ledger: archive((LEDGER, ledger), ("scorecard.json", b"{}")),
    "code": lambda ledger: archive((LEDGER, ledger), ("sitecustomize.py", b"raise SystemExit")),
    "no archive": lambda _: b"PK\x05\x06 nothing",
}


@pytest.mark.soak  # each trick by itself is in tests/unit/github
@pytest.mark.parametrize("trick", TRICKS)
def test_zip_trick__is_refused_by_name(site: Site, trick: str) -> None:
    """G-26: paths that leave, links, bombs, doubled and unexpected names; nothing of the archive is kept."""
    play = ready(site)
    one = first_shard(play)
    (ledger,) = unpacked(one).values()
    exchange(one, TRICKS[trick](ledger))
    refused(play, one.name)
    outside = [
        path for path in play.folder.rglob("*") if path.name in ("owned.log", "sitecustomize.py")
    ]
    assert not outside


def test_bytes__that_are_not_those_uploaded(site: Site) -> None:
    """G-26: what arrives is held against the digest that GitHub tells of it."""
    play = ready(site)
    one = first_shard(play)
    (ledger,) = unpacked(one).values()
    one.data = archive((LEDGER, ledger + b"\n"))
    refused(play, one.name)


def forge(play: Play, folder: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of shard 0's file; counts and digests in it are made to fit."""
    one = first_shard(play)
    path = folder / LEDGER
    path.write_bytes(next(iter(unpacked(one).values())))
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    change(rows)
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    rewrite_ledger(path, lambda _: None)
    exchange(one, archive((LEDGER, path.read_bytes())))


def foreign_digest(rows: list[dict[str, Any]]) -> None:
    rows[0]["plan_digest"] = "sha256:" + "a" * 64


def foreign_run(rows: list[dict[str, Any]]) -> None:
    rows[0]["run_id"] = "rc-" + "a" * 12 + "-1"


def other_index(rows: list[dict[str, Any]]) -> None:
    rows[0]["shard"] = 1


def other_attempt(rows: list[dict[str, Any]]) -> None:
    rows[0]["attempt"] = 7


def extra_case(rows: list[dict[str, Any]]) -> None:
    more = [copy.deepcopy(row) | {"case": "c99"} for row in rows[1:3]]
    rows[3:3] = more


def case_of_another_shard(rows: list[dict[str, Any]]) -> None:
    more = [copy.deepcopy(row) | {"case": "c1"} for row in rows[1:3]]
    rows[3:3] = more


def unplanned_judge(rows: list[dict[str, Any]]) -> None:
    rows.insert(3, copy.deepcopy(rows[2]) | {"judge": "generous"})


def unplanned_trial(rows: list[dict[str, Any]]) -> None:
    more = [copy.deepcopy(row) | {"trial": 5} for row in rows[1:3]]
    rows[3:3] = more


FORGERIES = {
    change.__name__: change
    for change in (
        foreign_digest, foreign_run, other_index, other_attempt, extra_case, case_of_another_shard,
        unplanned_judge, unplanned_trial,
    )
}  # fmt: skip


@pytest.mark.parametrize("forgery", FORGERIES)
def test_forged_records__are_refused_by_name(site: Site, tmp_path: Path, forgery: str) -> None:
    """G-26: a file of another plan, run, shard or attempt, and records that nobody planned."""
    play = ready(site)
    forge(play, tmp_path, FORGERIES[forgery])
    refused(play, LEDGER)


def test_second_upload__with_other_bytes(site: Site, tmp_path: Path) -> None:
    """Contract, Merge; traps 4 and 6: one shard and attempt says two things; nobody chooses between them."""

    def better(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if row["record"] == "score":
                row["value"] = 0.0

    play = ready(site)
    one = first_shard(play)
    honest = one.data
    forge(play, tmp_path, better)
    play.run.add_artifact(f"{one.name}-u2", honest)
    refused(play, LEDGER)


def test_second_upload__with_the_same_bytes(site: Site) -> None:
    """C-09: an equal file under another name is the same file."""
    play = ready(site)
    play.run.add_artifact(f"{first_shard(play).name}-u2", first_shard(play).data)
    assert play.rerun("failed")["finish"].outputs["verdict"] == "pass"


@pytest.mark.parametrize("index", [7, 255])
def test_shard__that_nobody_planned(site: Site, tmp_path: Path, index: int) -> None:
    """G-26: an index beyond the plan's is no more evidence."""
    play = ready(site)
    forge_index = first_shard(play)
    path = tmp_path / f"shard-{index:04d}.attempt-1.jsonl"
    path.write_bytes(next(iter(unpacked(forge_index).values())))

    def change(row: dict[str, Any]) -> None:
        if row["record"] == "shard":
            row |= {"shard": index}

    rewrite_ledger(path, change)
    name = forge_index.name.replace("-0-a1", f"-{index}-a1")
    play.run.add_artifact(name, archive((path.name, path.read_bytes())))
    refused(play, path.name)


def test_names__that_are_not_quite_ours_count_for_nothing(site: Site) -> None:
    """Traps 2, 6 and 8: artifacts of other suites, plans and tools lie in the same run."""
    play = ready(site)
    one = first_shard(play)
    plan12 = one.name.split("-")[3]
    for name in (
        f"releasecheck-shard-smaller-{plan12}-0-a1", "releasecheck-shard-small-bbbbbbbbbbbb-0-a1",
        f"{one.name}-u1", f"{one.name}.html", f"{one.name} ", one.name.upper(), "shard-0", "logs",
    ):  # fmt: skip
        play.run.add_artifact(name, {"x": "rubbish"})
    ran = play.rerun("failed")
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert not any("-u1" in name for name in bundle(play))


def test_scorecard__forged_between_finish_and_publish(site: Site, tmp_path: Path) -> None:
    """C-35: publish recomputes; a verdict that does not follow is called unverifiable, and is no badge."""
    base = site.head
    site.answers.wrong = {"q0", "q1", "q2", "q3"}
    site.change(5)
    play = site.pull(base)

    def swap() -> None:
        one = artifacts(play, SCORECARD)[0]
        files = unpacked(one)
        scorecard = json.loads(files["scorecard.json"])
        scorecard |= {"verdict": "pass", "exit_code": 0}
        files["scorecard.json"] = json.dumps(scorecard).encode()
        exchange(one, archive(*files.items()))

    ran = play.attempt(publish=Fate(before={"stage": swap}))
    assert ran["finish"].outputs["verdict"] == "block"
    assert ran["publish"].result == "failure"
    assert not ran["publish"].outputs.get("verdict")
    (comment,) = site.comments
    assert "nverifiable" in comment
    assert "Verdict <code>" not in comment
    assert "Passed" not in comment
