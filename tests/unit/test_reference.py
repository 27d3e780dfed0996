"""The generated pages and schemas are those of this code, and say all of it (issue 6 item 8)."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_args

import click
import pytest

from releasecheck.cli import COMMANDS, module_of
from releasecheck.model.judge import Judge
from releasecheck.model.suite import Suite
from releasecheck.model.target import Target
from releasecheck.schemas import KINDS, json_schema
from tests.reference import GENERATED, ROOT
from tests.reference.configuration import slug
from tests.reference.markdown import cell, prose
from tests.reference.outputs import known


@pytest.mark.parametrize("name", GENERATED)
def test_generated__is_of_this_code(name: str) -> None:
    found = (ROOT / name).read_bytes()
    assert found == GENERATED[name](), f"{name} is out of date: `make reference` writes it anew"


def page(name: str) -> str:
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


def test_configuration__has_every_key_of_every_kind() -> None:
    text = page("configuration.md")
    models = [Suite, *get_args(get_args(Target)[0]), *get_args(get_args(Judge)[0])]
    for model in models:
        for name, field in model.model_fields.items():
            assert name == "type" or f"| `{field.alias or name}` |" in text, (model, name)


def test_commands__have_every_option() -> None:
    text = page("commands.md")

    def check(command: click.Command, words: str) -> None:
        if isinstance(command, click.Group):
            for name, inner in command.commands.items():
                check(inner, f"{words} {name}")
            return
        section = text.partition(f"\n## {words}\n")[2].partition("\n## ")[0]
        for option in command.params:
            if isinstance(option, click.Option):
                assert f"`{option.opts[0]}`" in section, (words, option.opts)

    for name in COMMANDS:
        check(import_module(module_of(name)).command, name)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "config"])
def test_schemas__every_field_has_a_meaning(kind: str) -> None:
    schema = json_schema(kind)
    parts: dict[str, Any] = {kind: schema, **schema.get("$defs", {})}
    for name, part in parts.items():
        for field, one in part.get("properties", {}).items():
            assert one.get("description"), f"{name}.{field}"
            assert field == "type" or f"| `{field}`" in page("schemas.md") + page(
                "configuration.md"
            ), field


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a *star*, a_b, <id> and [x]", r"a \*star\*, a\_b, \<id\> and \[x\]"),
        ("`a_b|c` and\n  a_b", r"`a_b|c` and a\_b"),
    ],
)
def test_prose__is_read_as_it_stands(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_cell__bar_does_not_end_it() -> None:
    assert cell("`DIR|none`") == r"`DIR\|none`"


def test_slug__is_that_of_github() -> None:
    assert slug("gates[].no_regression") == "gatesno_regression"
    assert slug("judge json-schema") == "judge-json-schema"


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("plan/plan.r2.json", True),
        ("plan/cases-0003.jsonl", True),
        ("plan/baseline/plan/plan.json", True),
        ("results/shard-0003.attempt-12.jsonl", True),
        ("results/app.start-1.log", True),
        ("revisions/1/manifest.json", True),
        ("results/other.txt", False),
        ("notes.md", False),
    ],
)
def test_outputs__know_files(path: str, there: bool) -> None:
    assert known(path) is there
