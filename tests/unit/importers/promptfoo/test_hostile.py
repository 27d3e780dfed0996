"""Texts that look like something else: they come through as the data they are, or are refused (B34)."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from releasecheck.config import load_cases, load_suite
from releasecheck.errors import ConfigError
from tests.unit.importers.promptfoo.suites import cases, imported, target_file

HOSTILE = st.one_of(
    st.text(min_size=1),
    st.lists(
        st.sampled_from(
            ["{{ 7*7 }}", "{{q}}", "{% for x in y %}", "${HOME}", "$${", "file://", "\"", "'", "\n", "---",
             "#", ": ", "&a", "*a", "!!python", "\u2028", "\0", "=cmd", "<script>", "é", "\U0001f600"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(HOSTILE.filter(lambda text: text.strip() and not text.startswith("file://")))
def test_import__a_variable_is_the_same_text_in_the_suite(text: str) -> None:
    row = {"vars": {"q": text}, "description": text, "metadata": {"m": text},
           "assert": [{"type": "contains", "value": "{{q}}"}]}  # fmt: skip
    with TemporaryDirectory() as folder:
        home = Path(folder)
        made = imported(home, json.dumps(row) + "\n", "t.jsonl", target=target_file(home))
        for name, data in made.files.items():
            (home / name).write_bytes(data)
        (case,) = load_cases(load_suite(home / "releasecheck.yaml", None))
    assert case.input == {"q": text}
    assert case.expected == {"contains": [text]}
    assert case.metadata["m"] == text


@settings(max_examples=60, deadline=None)
@given(HOSTILE)
def test_import__a_cell_is_an_assertion_or_refused(cell: str) -> None:
    written = cell.replace('"', '""')
    with TemporaryDirectory() as folder:
        home = Path(folder)
        try:
            made = imported(
                home, f'q,__expected\nx,"{written}"\n', "t.csv", target=target_file(home)
            )
        except ConfigError as error:
            assert all(one.path for one in error.problems)  # noqa: PT017 - every problem has its place
            return
    assert cases(made)[0]["expected"] == {"equals": cell.replace("{{q}}", "x")}
