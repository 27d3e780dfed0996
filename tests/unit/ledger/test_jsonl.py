"""Ledger files: what is written is read back, whatever happened to the process or the file."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from releasecheck.canonical import dump_line
from releasecheck.errors import (
    CorruptLedger,
    DigestMismatch,
    InfrastructureError,
    Untrusted,
    UsageError,
)
from releasecheck.ledger.jsonl import (
    JsonlWriter,
    LedgerReader,
    finish_file_name,
    purge_file,
    read_line_at,
    shard_file_name,
    stable_file_digest,
)
from releasecheck.model.failure import failure
from releasecheck.model.record import (
    FileHeader,
    OutputRecord,
    Record,
    ScoreRecord,
    lines_of,
    purge_stable,
)
from releasecheck.model.score import JudgeFailed, NotApplicable, Scored
from tests.builders import (
    DEADLINE,
    deadline,
    header,
    judge_failed,
    late,
    no_output,
    output,
    score,
)
from tests.fakes import FakeClock
from tests.strategies import headers, records

MANY: list[Record] = [
    output("c0", {"answer": "caf\u00e9 \U0001f600", "numbers": [1.0, -0.0, 1e21, 5e-324]}),
    score("c0", 1.0),
    no_output("c1", attempt=2),
    output("c2", "x", stored=False, notes=("redacted",)),
    score("c2", 0.1, of="x"),
    score("c2", judge_failed(), of="x", judge="cites"),
    score("c0", NotApplicable("because"), judge="cites"),
    score("c0", DEADLINE, ticket="t1", judge="tone"),
    deadline("tone", "t1", "t2"),
    late("c0", judge="tone"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shard-0000.attempt-1.jsonl"


def write(
    path: Path, *content: Record, head: FileHeader | None = None, stopped: str | None = None
) -> bytes:
    writer = JsonlWriter(path, head or header(), FakeClock())
    for record in content:
        writer.append(record)
    writer.close(stopped)
    return path.read_bytes()


def read(path: Path) -> list[Record]:
    return [record for _, record in LedgerReader(path)]


def parsed(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def reference_digest(lines: list[dict[str, Any]]) -> str:
    """By the contract: over every line but the texts that purging removes, end counts included."""
    state = hashlib.sha256()
    for line in lines:
        kept: dict[str, Any] = {
            key: None if key in ("output", "reason") else value for key, value in line.items()
        }
        if line["record"] == "end":
            del kept["digest"]
        if line.get("failure"):
            kept["failure"] = {**line["failure"], "message": None}
        text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        state.update(text.encode() + b"\n")
    return "sha256:" + state.hexdigest()


def rewritten(lines: list[dict[str, Any]]) -> bytes:
    """Lines with an end digest that holds."""
    lines[-1]["digest"] = reference_digest(lines)
    return b"".join(dump_line(line) for line in lines)


# Writing and reading back


@given(headers, st.lists(records, max_size=6), st.none() | st.text(max_size=5))
def test_ledger__round_trip(head: FileHeader, content: list[Record], stopped: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        data = write(path, *content, head=head, stopped=stopped)
        reader = LedgerReader(path)
        assert reader.header == head
        found = list(reader)
        assert [record for _, record in found] == content
        assert (reader.torn, reader.ended, reader.stopped) == (False, True, stopped)
        assert reader.digest == parsed(data)[-1]["digest"] == reference_digest(parsed(data))
        with path.open("rb") as file:
            assert [read_line_at(file, at) for at, _ in found] == parsed(data)[1:-1]
        assert list(reader) == found  # a second time the same


def test_ledger__end_counts_outputs_and_scores(path: Path) -> None:
    end = parsed(write(path, *MANY, stopped="time_budget"))[-1]
    assert (end["record"], end["outputs"], end["scores"], end["stopped"]) == (
        "end",
        3,
        5,
        "time_budget",
    )


def test_ledger__lines_have_the_fields_of_the_contract(path: Path) -> None:
    first, one_output, one_score, *_ = parsed(write(path, *MANY))
    assert (
        first.items()
        >= {
            "record": "shard",
            "schema": "releasecheck/results@1",
            "run_id": "rc-0123456789ab-test",
            "plan_digest": "sha256:" + "1" * 64,
            "shard": 0,
            "shards": 1,
            "attempt": 1,
            "started_at": "2026-01-05T09:00:00.000Z",
            "tool": "releasecheck/0.0.0",
        }.items()
    )
    assert set(one_output) >= {
        "record", "case", "trial", "attempt", "output", "output_digest", "failure", "latency_ms",
        "usage", "trace_id", "at",
    }  # fmt: skip
    assert set(one_score) >= {
        "record", "case", "trial", "judge", "output_digest", "state", "value", "reason", "failure",
        "ticket", "usage", "revision", "at",
    }  # fmt: skip


def test_file_names() -> None:
    assert shard_file_name(3, 12) == "shard-0003.attempt-12.jsonl"
    assert finish_file_name(2) == "finish.attempt-2.jsonl"


def test_writer__creates_its_file_and_never_another_ones(path: Path) -> None:
    before = write(path, *MANY)
    with pytest.raises(UsageError, match="recorded already"):
        JsonlWriter(path, header(), FakeClock())
    assert path.read_bytes() == before


def test_writer__makes_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "ledger.jsonl"
    write(path)
    assert LedgerReader(path).header == header()


def test_writer__a_folder_that_cannot_be_made_is_no_recorded_attempt(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(InfrastructureError, match="cannot write the ledger"):
        JsonlWriter(tmp_path / "results" / "ledger.jsonl", header(), FakeClock())


def test_writer__every_record_is_readable_before_the_next(path: Path) -> None:
    writer = JsonlWriter(path, header(), FakeClock())
    assert LedgerReader(path).header == header()
    for count, record in enumerate(MANY, start=1):
        writer.append(record)
        assert read(path) == MANY[:count]
    writer.abandon()
    reader = LedgerReader(path)
    assert list(reader)
    assert (reader.ended, reader.torn) == (False, False)


def test_writer__closing_twice_writes_one_end(path: Path) -> None:
    writer = JsonlWriter(path, header(), FakeClock())
    writer.close(None)
    before = path.read_bytes()
    writer.close("interrupted")
    writer.abandon()
    assert path.read_bytes() == before
    with pytest.raises(InfrastructureError, match="closed"):
        writer.append(MANY[0])


def test_writer__half_surrogate_pairs_do_not_stop_the_run(path: Path) -> None:
    """B40: in a reason, in a trace id, and in an output that is not judged."""
    write(
        path,
        score(result=Scored(1.0, "ok \ud83d")),
        score(result=JudgeFailed(failure("judge", "judge", "x\udc00", "m\ud83d"))),
    )
    assert read(path) == [
        score(result=Scored(1.0, "ok \ufffd")),
        score(result=JudgeFailed(failure("judge", "judge", "x\ufffd", "m\ufffd"))),
    ]


def test_writer__a_record_no_ledger_can_hold_leaves_the_file_whole(path: Path) -> None:
    writer = JsonlWriter(path, header(), FakeClock())
    writer.append(MANY[0])
    with pytest.raises(ValueError, match="not JSON"):
        writer.append(output("c9", latency_ms=float("nan")))
    with pytest.raises(ValueError, match="not JSON"):
        writer.append(output("c9")._replace(output=[1e999]))
    writer.append(MANY[1])
    writer.close(None)
    assert read(path) == MANY[:2]


# A kill

_WRITE_FOREVER = """
import sys
from pathlib import Path
from releasecheck.ledger.jsonl import JsonlWriter
from tests.builders import header, output
from tests.fakes import FakeClock

writer = JsonlWriter(Path(sys.argv[1]), header(), FakeClock())
index = 0
while True:
    writer.append(output(f"c{index}", "x" * (index * 37 % 5000)))
    sys.stdout.write(f"{index}\\n")
    sys.stdout.flush()
    index += 1
"""


@pytest.mark.parametrize("after", [1, 30, 300])
def test_writer__what_was_appended_survives_a_kill(path: Path, after: int) -> None:
    """C-05: everything that `append` returned for is readable after SIGKILL."""
    child = subprocess.Popen(
        [sys.executable, "-c", _WRITE_FOREVER, str(path)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    acknowledged = -1
    while acknowledged < after:
        acknowledged = int(child.stdout.readline())
    child.kill()
    rest = child.stdout.read()
    child.wait()
    child.stdout.close()
    if rest.endswith("\n"):
        acknowledged = int(rest.split()[-1])
    found = read(path)
    assert len(found) > acknowledged
    assert all(
        isinstance(record, OutputRecord) and record.case == f"c{index}"
        for index, record in enumerate(found)
    )


# Torn tails


def test_reader__torn_at_every_byte(path: Path, tmp_path: Path) -> None:
    """C-08, B106: whatever byte was the last, whole records are kept and the stump is dropped."""
    content = [MANY[index] for index in (0, 2, 5)]
    data = write(path, *content)
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    torn = tmp_path / "torn.jsonl"
    for length in range(len(data)):
        torn.write_bytes(data[:length])
        whole = sum(end <= length for end in ends)
        reader = LedgerReader(torn)
        assert (reader.header is None) == (whole == 0)
        assert [record for _, record in reader] == content[: max(whole - 1, 0)]
        assert reader.torn == (length > 0 and length not in ends)
        assert not reader.ended


@pytest.mark.parametrize(
    "tail", [b"\0" * 64, b'{"record":"output","case":"caf\xc3', b"{", b" ", b"\xff"]
)
def test_reader__stumps_that_are_no_text(path: Path, tail: bytes) -> None:
    """B106: NULs after a power cut, half a character, a bare brace."""
    whole = b"".join(write(path, *MANY).splitlines(keepends=True)[:-1])
    path.write_bytes(whole + tail)
    reader = LedgerReader(path)
    assert [record for _, record in reader] == MANY
    assert reader.torn


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_reader__a_record_glued_to_a_stump_is_corruption(path: Path, cut: int) -> None:
    """B106: a torn line that is not the last was not left by a kill."""
    lines = write(path, *MANY).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:cut] + b"".join(lines[3:]))
    with pytest.raises(CorruptLedger, match=r":3: .*get the original again"):
        read(path)


@pytest.mark.parametrize(
    "line",
    [
        b"\0" * 64,
        b"",
        b"   ",
        b"null",
        b"[]",
        dump_line(late().to_json()).strip() + b" " + dump_line(late().to_json()).strip(),
        dump_line(late().to_json()).strip() + b"}",
        b'{"record":"output","case":"caf\xc3"}',
        b"{}",
        b'{"record":"other"}',
        b'{"record":["output"]}',
        b'{"record":"output","case":"c0"}',
        b'{"record":"score","value":NaN}',
        b'{"record":"score","value":1e999}',
        b'{"a":' * 5000,
        b'{"n":' + b"9" * 5000 + b"}",
        b'{"record":"score","more":1e999}',
    ],
)
def test_reader__a_whole_line_that_is_no_record_refuses_the_file(path: Path, line: bytes) -> None:
    """B13, B14, B40, B106 at the door of ledger files: exit 4, naming the line."""
    lines = write(path, *MANY).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], line + b"\n", *lines[3:]]))
    with pytest.raises(CorruptLedger, match=r"jsonl:4: ") as caught:
        read(path)
    assert caught.value.exit_code == 4


# Changes after the end


def _changes(data: bytes) -> Iterator[bytes]:
    """Every byte in turn: another one in its place, none, or itself twice."""
    for at, byte in enumerate(data):
        for other in (byte ^ 1, (byte ^ 0x20, ord("0"), ord('"'), ord("e"), ord("\n"))[at % 5]):
            if other != byte:
                yield data[:at] + bytes([other]) + data[at + 1 :]
        yield data[:at] + (data[at + 1 :] if at % 2 else data[at : at + 1] + data[at:])


def test_reader__a_changed_byte_in_an_ended_file_is_noticed(path: Path) -> None:
    """X-14: unless it is in what purging removes, or changes nothing (`1.0` to `1e0`)."""
    content: list[Record] = [output(content=1.5), score(result=Scored(1.0, "why"), of=1.5)]
    data = write(path, *content)
    before = [purge_stable(record.to_json()) for record in content]
    noticed = unchanged = 0
    for changed in _changes(data):
        path.write_bytes(changed)
        try:
            reader = LedgerReader(path)
            found = [purge_stable(record.to_json()) for _, record in reader]
        except Untrusted:
            noticed += 1
            continue
        if reader.header is None:  # the first line is whole no more: nothing is taken from the file
            assert found == []
            continue
        assert reader.header == header()
        assert found == before
        unchanged += 1
    assert noticed > 2 * unchanged > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
        lambda lines: [{**lines[0], "attempt": 2}, *lines[1:]],
        lambda lines: [*lines[:-1], {**lines[-1], "outputs": 2}],
        lambda lines: [*lines[:-1], {**lines[-1], "stopped": "interrupted"}],
        lambda lines: [*lines[:-1], {**lines[-1], "at": "2026-01-05T09:00:00.001Z"}],
        lambda lines: [*lines[:-1], {**lines[-1], "digest": "sha256:" + "0" * 64}],
        lambda lines: [*lines[:2], {**lines[2], "value": 0.0}, *lines[3:]],
    ],
    ids=["removed", "swapped", "doubled", "header", "counts", "stopped", "at", "digest", "value"],
)  # fmt: skip
def test_reader__changed_lines_in_an_ended_file(
    path: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    lines = change(parsed(write(path, *MANY)))
    path.write_bytes(b"".join(dump_line(line) for line in lines))
    with pytest.raises(DigestMismatch, match="get the original again"):
        read(path)


def test_reader__counts_that_are_wrong_under_a_right_digest(path: Path) -> None:
    """B94: the trailer's counts are checked as well as its digest."""
    lines = parsed(write(path, *MANY))
    lines[-1]["outputs"] += 1
    path.write_bytes(rewritten(lines))
    with pytest.raises(CorruptLedger, match="it counts 4 outputs and 5 scores, but 3 and 5"):
        read(path)


@pytest.mark.parametrize("tail", [dump_line(MANY[0].to_json()), b'{"record":"out', b"\0", b"\n"])
def test_reader__nothing_may_stand_after_the_end(path: Path, tail: bytes) -> None:
    path.write_bytes(write(path, *MANY) + tail)
    with pytest.raises(CorruptLedger):
        read(path)


def test_reader__two_ends(path: Path) -> None:
    data = write(path, *MANY)
    path.write_bytes(data + data.splitlines(keepends=True)[-1])
    with pytest.raises(CorruptLedger, match="after the end record"):
        read(path)


def test_reader__a_second_header(path: Path) -> None:
    lines = write(path, *MANY).splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[0], *lines[3:-1]]))
    with pytest.raises(CorruptLedger, match="a second header"):
        read(path)


@pytest.mark.parametrize("overlap", range(0, 400, 13))
def test_reader__a_file_clobbered_by_another(tmp_path: Path, overlap: int) -> None:
    """B94: two artifacts of one name, written at once, match neither of the originals."""
    longer = write(
        tmp_path / "a", *[output(f"a{index}") for index in range(40)], head=header(0, shards=2)
    )
    shorter = write(
        tmp_path / "b", *[output(f"b{index}") for index in range(20)], head=header(1, shards=2)
    )
    clobbered = tmp_path / "clobbered.jsonl"
    clobbered.write_bytes(shorter[: len(shorter) - overlap] + longer[len(shorter) - overlap :])
    with pytest.raises(Untrusted):
        read(clobbered)


# Files that are not ours


@pytest.mark.parametrize(
    "first",
    [
        b'{"id":"c1","input":"x"}',
        b"not json at all",
        b"[1,2,3]",
        b'{"record":"output"}',
        b'{"record":"end","outputs":0,"scores":0,"stopped":null,"digest":"x","at":"y"}',
        dump_line({**header().to_json(), "schema": "releasecheck/results@2"}).strip(),
        dump_line({**header().to_json(), "attempt": 0}).strip(),
        dump_line({**header().to_json(), "shards": True}).strip(),
        dump_line({**header().to_json(), "run_id": None}).strip(),
    ],
)
def test_reader__a_first_line_that_is_no_header_of_ours(path: Path, first: bytes) -> None:
    path.write_bytes(first + b"\n" + write(path.with_name("x"), *MANY))
    with pytest.raises(CorruptLedger, match=r"jsonl:1: "):
        LedgerReader(path)


@pytest.mark.parametrize("data", [b"", b"{", b"no newline", b"\0" * 10])
def test_reader__a_file_without_one_whole_line(path: Path, data: bytes) -> None:
    """C-04: the attempt died before its first record."""
    path.write_bytes(data)
    reader = LedgerReader(path)
    assert reader.header is None
    assert list(reader) == []
    assert reader.torn == bool(data)
    assert not reader.ended


def test_reader__a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        LedgerReader(path)


def test_reader__a_byte_order_mark_and_dos_line_ends_are_no_change(path: Path) -> None:
    """B02: an editor or a checkout may add them."""
    data = write(path, *MANY)
    path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    reader = LedgerReader(path)
    assert [record for _, record in reader] == MANY
    assert reader.ended


def test_reader__fields_of_newer_writers_are_ignored_but_covered(path: Path) -> None:
    lines = parsed(write(path, *MANY))
    for line in lines:
        line["newer"] = {"field": [1.5, None]}
    path.write_bytes(rewritten(lines))
    reader = LedgerReader(path)
    assert [record for _, record in reader] == MANY
    assert reader.ended
    lines[2]["newer"] = 1
    path.write_bytes(b"".join(dump_line(line) for line in lines))
    with pytest.raises(DigestMismatch):
        read(path)


# Lines by their place


def test_read_line_at__is_strict(path: Path) -> None:
    """B13: an output is only read when somebody uses it, so this is where it must be refused."""
    path.write_bytes(b'{"output":1}\n{"output":1e999}\n{"output":NaN}\n')
    with path.open("rb") as file:
        assert read_line_at(file, 0) == {"output": 1}
        for offset in (13, 30):
            with pytest.raises(CorruptLedger, match=rf"jsonl, byte {offset}: "):
                read_line_at(file, offset)


def test_read_line_at__an_output_may_be_as_deep_as_what_is_read(path: Path) -> None:
    deep: Any = "NaN"  # a word that once sent a line to a stricter reader
    for _ in range(200):
        deep = [deep]
    write(path, output("c0", deep))
    ((offset, record),) = LedgerReader(path)
    assert record == output("c0", deep)
    with path.open("rb") as file:
        assert read_line_at(file, offset)["output"] == deep


# Purging

CANARY = "canary-7f3a"
SAID: list[Record] = [
    output("c0", {"text": CANARY}),
    output("c1", CANARY),
    score("c0", Scored(1.0, CANARY)),
    score("c1", NotApplicable(CANARY)),
    score("c1", JudgeFailed(failure("judge", "judge", "timeout", CANARY)), judge="cites"),
    replace(late("c0"), reason=CANARY),
    score("c1", DEADLINE, judge="tone"),
]


@pytest.mark.parametrize("texts", [True, False])
@given(content=st.lists(records, max_size=6), kept=st.sets(st.integers(0, 3)))
@settings(max_examples=50)
def test_purge_file__keeps_every_digest(texts: bool, content: list[Record], kept: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.jsonl"
        write(path, *content)
        reader = LedgerReader(path)
        list(reader)
        before = reader.digest, stable_file_digest(path)
        removed = purge_file(path, lambda record: record.trial in kept, texts=texts)
        found = read(path)
        list(reader)
        assert (reader.digest, stable_file_digest(path)) == before
        assert reader.ended
        assert [purge_stable(record.to_json()) for record in found] == [
            purge_stable(record.to_json()) for record in content
        ]
        outputs = [record for record in content if isinstance(record, OutputRecord)]
        gone = [
            record for record in outputs if record.output is not None and record.trial not in kept
        ]
        assert removed == len(gone)
        assert [record.output for record in found if isinstance(record, OutputRecord)] == [
            record.output if record.trial in kept else None for record in outputs
        ]
        assert purge_file(path, lambda record: record.trial in kept, texts=texts) == 0


def test_purge_file__leaves_no_word_of_targets_and_judges(path: Path) -> None:
    write(path, *SAID)
    assert purge_file(path, lambda _: False, texts=True) == 2
    assert CANARY.encode() not in path.read_bytes()
    assert b'"reason":"deadline"' in path.read_bytes()  # codes of our own stay
    assert sorted(path.parent.iterdir()) == [path]


def test_purge_file__without_texts_only_outputs_go(path: Path) -> None:
    before = write(path, *SAID).splitlines()
    purge_file(path, lambda record: record.case == "c1", texts=False)
    after = path.read_bytes().splitlines()
    assert [index for index, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [1]


def test_purge_file__leaves_lines_alone_that_hold_nothing_to_remove(path: Path) -> None:
    """Written by another program, with other white space: purging is no reason to break its digest."""
    lines = parsed(write(path, *SAID))
    texts = [json.dumps(line, sort_keys=True, ensure_ascii=False) for line in lines[:-1]]
    state = hashlib.sha256()
    for text, line in zip(texts, lines, strict=False):
        kept = purge_stable(line)
        state.update(text.encode() + b"\n" if kept is line else dump_line(kept))
    end = {**lines[-1], "digest": None}
    del end["digest"]
    state.update(dump_line(end))
    end["digest"] = "sha256:" + state.hexdigest()
    path.write_text("\n".join([*texts, json.dumps(end)]) + "\n", encoding="utf-8", newline="\n")
    assert read(path) == SAID
    assert purge_file(path, lambda _: False, texts=True) == 2
    assert len(read(path)) == len(SAID)
    assert path.read_text(encoding="utf-8").splitlines()[0] == texts[0]


def test_purge_file__drops_a_torn_line(path: Path) -> None:
    whole = b"".join(write(path, *SAID).splitlines(keepends=True)[:-1])
    path.write_bytes(whole + b'{"record":"output","output":"' + CANARY.encode())
    purge_file(path, lambda _: True, texts=False)
    assert path.read_bytes() == whole


def test_purge_file__leaves_a_damaged_file_as_it_was(path: Path) -> None:
    damaged = write(path, *SAID).replace(b'"record":"score"', b'"record":"sc0re"')
    path.write_bytes(damaged)
    with pytest.raises(CorruptLedger):
        purge_file(path, lambda _: False, texts=True)
    assert path.read_bytes() == damaged
    assert sorted(path.parent.iterdir()) == [path]


def test_purge_file__that_cannot_be_read(path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot remove outputs"):
        purge_file(path, lambda _: False, texts=True)


def test_stable_file_digest__covers_everything_else(path: Path) -> None:
    data = write(path, *MANY)
    digests = {stable_file_digest(path)}
    for line in range(len(parsed(data))):
        changed = parsed(data)
        changed[line]["more"] = 1
        path.write_bytes(b"".join(dump_line(row) for row in changed))
        digests.add(stable_file_digest(path))
    assert len(digests) == 1 + len(parsed(data))


def test_stable_file_digest__of_a_damaged_file(path: Path) -> None:
    path.write_bytes(write(path, *MANY)[:300] + b"\n")
    with pytest.raises(CorruptLedger):
        stable_file_digest(path)


@given(records.filter(lambda record: isinstance(record, OutputRecord | ScoreRecord)))
def test_to_lines__are_what_the_general_way_makes(record: OutputRecord | ScoreRecord) -> None:
    """The fast way and the slow one write the same bytes, whole and purged (contract 4, B40)."""
    assert record.to_lines() == lines_of(record.to_json())
