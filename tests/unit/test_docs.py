"""What docs/ says about keys, types, codes and commands is what the program has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from pydantic import TypeAdapter

from releasecheck.cli import COMMANDS, module_of
from releasecheck.config.nodes import plain
from releasecheck.config.reading import read_yaml
from releasecheck.judges.answer import LONGEST_TICKET
from releasecheck.judges.contract import CONTRACT, MOST_TICKETS, OUTDATED, REFUSED, UNKNOWN
from releasecheck.model.gate import BUILTIN_METRICS, GateSpec, Stat
from releasecheck.model.judge import Judge
from releasecheck.model.scorecard import EXIT_CODES
from releasecheck.model.suite import BaselineRule, Budget, Settle, Suite
from releasecheck.model.target import StartSpec, Target

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
PARTS: dict[str, TypeAdapter[Any]] = {
    "target": TypeAdapter(Target),
    "start": TypeAdapter(StartSpec),
    "budget": TypeAdapter(Budget),
    "settle": TypeAdapter(Settle),
    "baseline": TypeAdapter(BaselineRule),
}
"""Sections that a fragment on a page may show by themselves."""


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    start = text_of(name).index(f"## {heading}\n")
    return text_of(name)[start:].split("\n## ")[0]


def blocks(language: str) -> Iterator[Any]:
    for page in PAGES:
        found = re.finditer(
            rf"^```{language}\n(.*?)^```",
            page.read_text(encoding="utf-8"),
            re.MULTILINE | re.DOTALL,
        )
        for number, match in enumerate(found, start=1):
            yield pytest.param(match[1], id=f"{page.name}-{number}")


def check_item(item: dict[str, Any]) -> None:
    """An entry of a list on a page: a gate has a metric, a judge has a type."""
    TypeAdapter(GateSpec if "metric" in item else Judge).validate_python(item)


@pytest.mark.parametrize("block", list(blocks("yaml")))
def test_yaml__every_fragment_is_accepted(block: str) -> None:
    node, problems = read_yaml(block, "page")
    assert problems == []
    found = plain(node)
    if isinstance(found, list):
        for item in found:
            check_item(item)
        return
    assert isinstance(found, dict)
    if "version" in found:
        Suite.model_validate(found)
        return
    for item in [*found.get("judges", []), *found.get("gates", [])]:
        check_item(item)
    for key, part in found.items():
        if key in PARTS:
            PARTS[key].validate_python(part)
        assert key in {*Suite.model_fields, "extends", "profiles", "start"}, key


@pytest.mark.parametrize("block", list(blocks("json")))
def test_json__every_line_is_json(block: str) -> None:
    for line in block.splitlines():
        json.loads(line)


def test_configuration__names_every_top_level_key() -> None:
    table = section("configuration.md", "Top-level keys")
    named = set(
        re.findall(r"`([a-z_]+)`", " ".join(re.findall(r"^\| ([^|]+)\|", table, re.MULTILINE)))
    )
    assert named == {*Suite.model_fields, "extends", "profiles"}


def test_gates__name_every_stat_and_builtin_metric() -> None:
    stats = section("gates.md", "Statistics a gate can use")
    assert {word for word in get_args(Stat) if f"`{word}`" not in stats} == set()
    metrics = section("gates.md", "Built-in metrics")
    assert set(re.findall(r"^\| `([a-z_]+)`", metrics, re.MULTILINE)) == set(BUILTIN_METRICS)


def test_judges__name_every_type() -> None:
    text = text_of("judges.md")
    for model in get_args(get_args(Judge)[0]):
        for name in get_args(model.model_fields["type"].annotation):
            assert f"type: {name}" in text or f"`{name}`" in text, name


def test_judges__describe_every_key() -> None:
    """S1-24: what a judge of a suite can be told stands on a page."""
    pages = ("judges.md", "judges-llm.md", "waiting.md", "plugins.md", "configuration.md")
    text = "".join(map(text_of, pages))
    for model in get_args(get_args(Judge)[0]):
        for name, field in model.model_fields.items():
            key = field.alias or name
            assert f"`{key}`" in text or re.search(rf"\b{key}: ", text), (model.__name__, key)


def test_protocol__has_the_names_and_limits_of_the_code() -> None:
    """S1-24: a contract that changes, changes its page."""
    text = text_of("evaluator-protocol.md")
    contracts = set(re.findall(r"evaluator@\d+", text))
    assert contracts == {CONTRACT, OUTDATED}
    assert f"at most {MOST_TICKETS} tickets" in text
    assert f"1 to {LONGEST_TICKET} characters" in text
    codes = section("evaluator-protocol.md", "What a failure is called")
    assert {f"`{code}`" for code in (REFUSED, UNKNOWN)} <= set(re.findall(r"`[a-z_]+`", codes))


def test_changelog__names_every_type() -> None:
    """S1-24: a kind of target or judge that is added is told."""
    text = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    for kind in (Judge, Target):
        for model in get_args(get_args(kind)[0]):
            for name in get_args(model.model_fields["type"].annotation):
                assert f"`{name}`" in text, name


def test_exit_codes__are_those_of_the_verdicts() -> None:
    table = section("exit-codes.md", "From verdict to code")
    shown = dict(re.findall(r"^\| `([a-z_]+)` \| (\d)", table, re.MULTILINE))
    assert {verdict: int(code) for verdict, code in shown.items()} == EXIT_CODES


def test_cli__has_a_section_for_every_command() -> None:
    headings = set(re.findall(r"^## ([a-z]+)$", text_of("cli.md"), re.MULTILINE))
    assert headings == set(COMMANDS)


def options_of(command: click.Command) -> set[str]:
    own = {option for parameter in command.params for option in parameter.opts}
    below = command.commands.values() if isinstance(command, click.Group) else ()
    return own.union(*(options_of(inner) for inner in below))


def test_pages__name_only_options_that_exist() -> None:
    """An option of `releasecheck`, on any page, is an option of some command."""
    modules = [import_module(module_of(name)) for name in COMMANDS]
    known = {"--version", "--help"}.union(*(options_of(module.command) for module in modules))
    named: set[str] = set()
    for page in [*PAGES, DOCS.parent / "README.md"]:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"`([^`\n]+)`|^(?:\$ )?(releasecheck .+)$", text, re.MULTILINE)
        for inline in ("".join(parts) for parts in shown):
            if inline.startswith(("--", "releasecheck ")):
                named |= set(re.findall(r"(?<![\w-])--[a-z-]+", inline))
    assert len(named) > 10
    assert named - known == set()
