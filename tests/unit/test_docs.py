"""What docs/ says about keys, types, codes and commands is what the program has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import click
import pytest
import yaml
from jsonschema import Draft202012Validator
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
from releasecheck.schemas import json_schema
from tests.usage import problem, shown

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
READ = [
    *PAGES,
    *(
        DOCS.parent / name
        for name in ("README.md", "CONTRIBUTING.md", "templates/starter/README.md")
    ),
    *sorted(DOCS.parent.glob("examples/*/README.md")),
]
"""All that people read about the program."""
WORKFLOWS = {
    yaml.safe_load(path.read_text("utf-8")).get("name")
    for path in (DOCS.parent / "templates" / "github").glob("*.yml")
}
"""Names of our workflows, which look like commands."""
NOT_RUN = {
    "docs/docs-search-example.md": {"sh": "a test of the examples does so"},
    "docs/publishing.md": {"sh": "asks GitHub for an attestation"},
}
"""Blocks on a page, by their language, whose commands are only read, and why."""
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


def name_of(page: Path) -> str:
    return page.relative_to(DOCS.parent).as_posix()


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
            yield pytest.param(match[1], id=f"{name_of(page)}-{number}")


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
    """An option in a sentence of any page is an option of some command."""
    modules = [import_module(module_of(name)) for name in COMMANDS]
    known = {"--version", "--help"}.union(*(options_of(module.command) for module in modules))
    named: set[str] = set()
    for page in READ:
        for inline in re.findall(r"`(--[^`\n]+)`", page.read_text(encoding="utf-8")):
            named |= set(re.findall(r"(?<![\w-])--[a-z-]+", inline))
    assert len(named) > 10
    assert named - known == set()


@pytest.mark.parametrize("page", READ, ids=name_of)
def test_commands__are_ones_that_click_would_begin(page: Path) -> None:
    """Also where nothing can be run: in sentences, workflows, and on other machines."""
    wrong = [
        f"{name_of(page)}:{one.line}: {one.text}: {found}"
        for one in shown(page.read_text(encoding="utf-8"))
        if one.text not in WORKFLOWS and (found := problem(one.text)) is not None
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "page", [page for page in READ if name_of(page).startswith("docs/")], ids=name_of
)
def test_commands__in_shell_blocks_are_run(page: Path) -> None:
    """A block `console` is run by `tests/e2e/test_docs_commands.py`; another one must say why it is not."""
    found = {one.language for one in shown(page.read_text(encoding="utf-8"))}
    allowed = {"", "console", "text", "yml", "yaml", *NOT_RUN.get(name_of(page), {})}
    assert found <= allowed, f"{name_of(page)}: make these blocks `console`: {found - allowed}"


def test_not_run__names_only_what_is_there() -> None:
    for name, languages in NOT_RUN.items():
        found = {one.language for one in shown((DOCS.parent / name).read_text(encoding="utf-8"))}
        assert set(languages) <= found, name


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("releasecheck verify", None),  # only named
        ("releasecheck verify out", None),
        ("releasecheck verfy out", "there is no command 'verfy'"),
        ("releasecheck verify out --quick", "--quick"),
        ("releasecheck verify out out", "unexpected 'out'"),
        ("releasecheck finish --results r", "Missing option '--plan'."),
        ("releasecheck finish --results r ...", None),
        ("releasecheck schema verdict", "'verdict' is not one of"),
        ("releasecheck schema config|verdict", "'verdict' is not one of"),
        ("releasecheck shard --plan p --index first", "'first' is not a valid integer"),
        ("releasecheck shard --plan p --index N", None),
        ("releasecheck init [DIR] [--github]", None),
        ("releasecheck run ${{ inputs.config }} --shards 300", "expected auto or a whole number"),
        ("releasecheck run releasecheck.yaml | tee log", None),
    ],
)
def test_problem__is_what_click_says(line: str, says: str | None) -> None:
    found = problem(line)
    assert found is None if says is None else says in str(found)


def test_pages__name_targets_and_modules_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (DOCS.parent / "Makefile").read_text(), re.MULTILINE))
    for page in READ:
        code = "\n".join(
            "".join(parts)
            for parts in re.findall(
                r"^```(?:sh|console)\n(.*?)^```|`([^`\n]+)`",
                page.read_text(encoding="utf-8"),
                re.MULTILINE | re.DOTALL,
            )
        )
        made = set(re.findall(r"^(?:\$ )?make ([a-z-]+)", code, re.MULTILINE))
        assert made <= targets, (page, made - targets)
        for module in re.findall(r"python -m (tests[.\w]*)", code):
            assert find_spec(module), (page, module)


def test_config__every_whole_suite_is_valid_for_editors() -> None:
    """An editor shows no error in the starter, in the examples and in what the pages show."""
    validator = Draft202012Validator(json_schema("config"))
    root = DOCS.parent
    suites = [
        root / "templates/starter/releasecheck.yaml",
        *root.glob("examples/*/releasecheck.yaml"),
    ]
    texts = [path.read_text("utf-8") for path in suites]
    texts += [param.values[0] for param in blocks("yaml") if "\nversion:" in f"\n{param.values[0]}"]
    assert len(texts) > len(suites)
    for text in texts:
        found = plain(read_yaml(text, "page")[0])
        assert [error.message for error in validator.iter_errors(found)] == [], text


def test_first_line__leads_editors_to_the_schema() -> None:
    for path in DOCS.parent.glob("examples/*/releasecheck.yaml"):
        first = path.read_text("utf-8").splitlines()[0]
        named = first.removeprefix("# yaml-language-server: $schema=")
        assert (path.parent / named).read_bytes() == (
            DOCS / "reference/config.schema.json"
        ).read_bytes()
