"""docs/action.md says of inputs and outputs what the files say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[Any, Any] = yaml.safe_load((ROOT / "action.yml").read_bytes())
WORKFLOW: dict[Any, Any] = yaml.safe_load(
    (ROOT / ".github/workflows/release-check.yml").read_bytes()
)
CALLED: dict[str, Any] = WORKFLOW[True]["workflow_call"]


def value(given: Any) -> str:
    """A default as it is written."""
    if given is None or given == "":
        return ""
    return f"`{str(given).lower() if isinstance(given, bool) else given}`"


def inputs_table(title: str, inputs: Mapping[str, Any]) -> str:
    rows = [f"## {title}", "", "| input | default | meaning |", "| --- | --- | --- |"]
    for name, one in inputs.items():
        default = "required" if one.get("required") else value(one.get("default"))
        rows.append(f"| `{name}` | {default} | {one['description']} |")
    return "\n".join(rows) + "\n"


def outputs_table(title: str, outputs: Mapping[str, Any], word: str = "output") -> str:
    rows = [f"## {title}", "", f"| {word} | meaning |", "| --- | --- |"]
    rows += [f"| `{name}` | {one['description']} |" for name, one in outputs.items()]
    return "\n".join(rows) + "\n"


def expected_tables() -> Iterator[str]:
    yield inputs_table("Inputs of the workflow", CALLED["inputs"])
    yield outputs_table("Secrets of the workflow", CALLED["secrets"], "secret")
    yield outputs_table("Outputs of the workflow", CALLED["outputs"])
    yield inputs_table("Inputs of the action", ACTION["inputs"])
    yield outputs_table("Outputs of the action", ACTION["outputs"])


@pytest.mark.parametrize(
    "table", list(expected_tables()), ids=lambda table: table.splitlines()[0][3:]
)
def test_page__has_this_table(table: str) -> None:
    page = (ROOT / "docs/action.md").read_text("utf-8")
    title = table.splitlines()[0]
    found = page.partition(f"\n{title}\n")[2].partition("\n## ")[0]
    assert f"{title}\n{found}".strip() == table.strip(), f"docs/action.md should have:\n\n{table}"


def test_page__first_file_is_the_starter() -> None:
    """The file that a newcomer pastes does what the one that `init --github` writes does."""
    page = (ROOT / "docs/action.md").read_text("utf-8")
    block = page.partition("```yml\n")[2].partition("```")[0]
    pasted = yaml.safe_load("\n".join(line[3:] for line in block.splitlines()))
    starter = yaml.safe_load((ROOT / "templates/github/gate.yml").read_bytes())
    starter["jobs"]["check"].pop("name")
    assert pasted == starter


def test_readme__file_is_the_starter() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    block = readme.partition("```yml\n")[2].partition("```")[0]
    starter = yaml.safe_load((ROOT / "templates/github/gate.yml").read_bytes())
    starter["jobs"]["check"].pop("name")
    assert yaml.safe_load(block) == starter
