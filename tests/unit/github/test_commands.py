"""Workflow commands, logs, outputs and the summary (traps 13, 15, 16, 17, 18; P-08, P-09, G-25)."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from releasecheck.drivers.github.commands import (
    LONGEST_MESSAGE,
    Annotation,
    annotation,
    escape_data,
    escape_property,
    log_text,
    mask,
    worst,
    write_outputs,
    write_summary,
)
from releasecheck.drivers.github.errors import OutputRefused

UNSEEN = "\u200b\u200d\u00ad\ufe0f\u034f\u3164\u2060"
"""What a comparison by the rules of a language skips."""
HOSTILE = st.lists(
    st.sampled_from([*"#[:] \t\r\nabset-\x00\x1b\x85\u2028", *UNSEEN, "::", "##["])
).map("".join)


def runner_commands(text: str) -> list[str]:
    """Lines that a runner takes as commands, when it skips all that cannot be seen."""
    lines = re.split(r"\r\n|\r|\n", text)
    seen = ["".join(c for c in line if c not in UNSEEN) for line in lines]
    return [line for line in seen if line.strip().startswith("::") or "##[" in line]


@pytest.mark.parametrize(
    "line",
    [
        "::set-output name=verdict::pass",
        "   ::SET-ENV name=a::b",
        "\t::add-mask::1",
        "\u00a0\u3000::error::x",
        "said ##[error]no",
        "##[ADD-MASK]1",
        "###[group]x",
        "\u200b::set-output name=a::b",
        ":\u200b:set-output name=a::b",
        "#\u00ad#\ufe0f[error]x",
        "##\ufe0f[error]x",
        "#\u034f#[error]x",
        ":\ufe0f:error::x",
        "\u3164::error::x",
        "fine\r::stop-commands::x",
        "fine\n  ::stop-commands::x",
        ":::error::x",
    ],
)
def test_log_text__trap_15(line: str) -> None:
    assert runner_commands(line)
    assert not runner_commands(log_text(line))


@given(HOSTILE)
def test_log_text__trap_15_whatever_it_is(text: str) -> None:
    shown = log_text(text)
    assert not runner_commands(shown)
    assert all(c.isprintable() or c in "\t\n" for c in shown)


def test_log_text__keeps_words_and_lines() -> None:
    text = "Grüße: 3 ✓\n\tA::b [x] # ok"
    assert log_text(text) == text
    assert log_text("\x1b[31mred\x00") == "\\x1b[31mred\\x00"


def test_log_text__a_long_line_is_cut_and_counted() -> None:
    assert log_text("a" * 5_000_000, longest=10) == "a" * 10 + " ... and 4999990 more characters"


def test_escapes__one_line_and_back() -> None:
    assert escape_data("50%\r\na,b:c") == "50%25%0D%0Aa,b:c"
    assert escape_property("50%\r\na,b:c") == "50%25%0D%0Aa%2Cb%3Ac"


def test_annotation__with_a_place() -> None:
    made = annotation("error", "a:\nb", file="data/a,b.jsonl", line=3, title="x: y")
    assert made == "::error title=x%3A y,file=data/a%2Cb.jsonl,line=3::a:%0Ab"
    assert annotation("notice", "a") == "::notice::a"


@given(HOSTILE, HOSTILE, HOSTILE)
def test_annotation__trap_16(message: str, file: str, title: str) -> None:
    made = annotation("warning", message, file=file, title=title)
    assert "\n" not in made
    assert "\r" not in made
    assert re.fullmatch(r"::warning( [^:]*)?::.*", made)
    assert "##[" not in made


@pytest.mark.parametrize("text", ["x" * 10_000, "😀" * 10_000, "%" * 10_000])
def test_annotation__cut_where_the_runner_cuts(text: str) -> None:
    message = annotation("error", text).removeprefix("::error::").replace("%25", "%")
    assert len(message.encode("utf-16-le")) // 2 <= LONGEST_MESSAGE
    assert message.endswith("...")


def test_worst__trap_18() -> None:
    notes = [Annotation("notice", f"n{i}") for i in range(8)]
    errors = [Annotation("error", f"e{i}") for i in range(4)]
    kept = worst([*notes, *errors])
    assert len(kept) == 10
    assert [one.message for one in kept[:4]] == ["e0", "e1", "e2", "e3"]
    assert kept[-1].message.startswith("n5\n2 more")
    assert worst(errors) == tuple(errors)
    assert worst([]) == ()


def test_worst__the_count_survives_a_long_message() -> None:
    kept = worst([Annotation("error", "x" * 9000)] * 12)
    assert "2 more" in kept[-1].command()


def test_mask__line_by_line() -> None:
    assert mask("first line\r\n  second%\n") == (
        "::add-mask::first line\n::add-mask::  second%25\n::add-mask::second%25\n"
    )


def test_mask__trap_13_nothing_short() -> None:
    assert mask("1") == ""
    assert mask("}\n\n long enough") == "::add-mask:: long enough\n::add-mask::long enough\n"


def read_outputs(path: Path) -> dict[str, str]:
    """As the runner reads the file."""
    found: dict[str, str] = {}
    lines = iter(path.read_bytes().decode("utf-8").split("\n"))
    for line in lines:
        if not line:
            continue
        key, _, delimiter = line.partition("<<")
        assert delimiter, line
        found[key] = "\n".join(itertools.takewhile(lambda one, end=delimiter: one != end, lines))  # type: ignore[misc]
    return found


@given(st.dictionaries(st.from_regex("[a-z][a-z-]{0,9}", fullmatch=True), HOSTILE))
def test_write_outputs__trap_16(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("out") / "output"
    write_outputs(path, values)
    assert read_outputs(path) == values


def test_write_outputs__appends_after_a_half_line(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_bytes(b"old<<E\nx\nE")
    write_outputs(path, {"a": "ö"})
    assert read_outputs(path) == {"old": "x", "a": "ö"}


def test_write_outputs__a_delimiter_in_the_value_is_not_used(tmp_path: Path) -> None:
    tokens = iter(["taken", "free"])
    write_outputs(tmp_path / "o", {"a": "releasecheck_taken\nb=c"}, token=lambda: next(tokens))
    assert read_outputs(tmp_path / "o") == {"a": "releasecheck_taken\nb=c"}
    with pytest.raises(OutputRefused, match="delimiter"):
        write_outputs(tmp_path / "o", {"a": "releasecheck_x"}, token=lambda: "x")


@pytest.mark.parametrize("key", ["", "a=b", "a<<b", "a\nb", "1a", "ä"])
def test_write_outputs__keys(tmp_path: Path, key: str) -> None:
    with pytest.raises(OutputRefused, match="no name"):
        write_outputs(tmp_path / "o", {"fine": "x", key: "x"})
    assert not (tmp_path / "o").exists()


def test_write_outputs__p_08(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="a job may have"):
        write_outputs(tmp_path / "o", {"a": "x" * 500_001})


def test_write_summary__whole(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert write_summary(path, "# ä") == 0
    assert write_summary(path, "b\n") == 0
    assert path.read_text("utf-8") == "# ä\nb\n"


@given(st.integers(3000, 9000), st.sampled_from(["| ä | 😀 |\n", "😀", "x" * 700 + "\n"]))
def test_write_summary__trap_17(
    tmp_path_factory: pytest.TempPathFactory, limit: int, line: str
) -> None:
    path = tmp_path_factory.mktemp("summary") / "s.md"
    left = write_summary(path, line * 10_000, limit=limit)
    data = path.read_bytes()
    assert len(data) <= limit
    text = data.decode("utf-8")
    assert text.startswith(line)
    assert f"{left:,} of {len((line * 10_000).encode()):,} bytes" in text


def test_write_summary__a_cut_fence_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    text = "<details>\n\n````text\n" + "```\nrow\n" * 5000
    write_summary(path, text, limit=8000)
    assert re.search(r"\n````\n\n</details>\n\n_This summary was cut", path.read_text("utf-8"))


def test_write_summary__what_is_there_counts(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    write_summary(path, "a\n" * 2000, limit=5000)
    write_summary(path, "b\n" * 2000, limit=5000)
    assert path.stat().st_size <= 5000
    assert "left out" in path.read_text("utf-8")
