"""`docs/reference/outputs.md`: what a run leaves behind, and what the Action takes and gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from releasecheck.model.scorecard import Scorecard
from releasecheck.pipeline.folders import OURS
from releasecheck.publish.manifest import VOUCHED
from releasecheck.schemas import json_schema
from tests.reference.markdown import page, prose, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT: Final = Path(__file__).resolve().parents[2]
BUNDLE: Final = {
    "scorecard.json": "The decision and everything it rests on, for programs.",
    "scorecard.html": "The same as a page for people.",
    "summary.md": "The same in one screen of Markdown.",
    "results.jsonl": "A line for each case and trial: answer, scores, pass or fail.",
    "results.csv": "A table with a row for each case, trial and judge.",
    "results.sarif": "What fails, with the file and line of the dataset, for code hosts.",
    "junit.xml": "Cases and gates as tests, for build systems.",
    "manifest.json": "Digests and provenance; written after everything it vouches for.",
    "badge.json": "The claim in one line, for shields.io; full and finalized runs only.",
    "badge.svg": "The same as a picture.",
    "failure.json": "Why the run could not be carried through; not beside a manifest.",
    "plan/": "The frozen inputs.",
    "results/": "What was recorded.",
    "revisions/": "Decisions that a later revision took the place of.",
}
"""What may stand at the top of a bundle."""
PLAN: Final = {
    "plan.json": "Everything a run may depend on.",
    "plan.rN.json": "The same of revision N.",
    "cases-NNNN.jsonl": "The cases of shard NNNN, whole.",
    "baseline/": "Copy of the baseline that is compared with.",
    "anchor/": "Copy of the anchor.",
}
RESULTS: Final = {
    "shard-NNNN.attempt-K.jsonl": "What attempt K of shard NNNN recorded.",
    "finish.attempt-K.jsonl": "What `finish` recorded itself: scores that came later.",
    "rescore-N.attempt-K.jsonl": "What revision N scored anew.",
    "ID.start-N.log": "The end of what the program of `target.start` printed.",
}
_PARTS: Final = {"N": r"\d+", "K": r"\d+", "NNNN": r"\d{4}", "ID": r"[a-z0-9_-]+"}


def pattern(name: str) -> re.Pattern[str]:
    """A name of a table as a pattern for paths; a folder's is for everything in it."""
    parts = re.split(r"(NNNN|\bN\b|\bK\b|\bID\b|(?<=r)N\b)", name)
    text = "".join(_PARTS.get(part, re.escape(part)) for part in parts)
    return re.compile(text + (".+" if name.endswith("/") else ""))


def known(path: str) -> bool:
    """Whether a file of a bundle, by its path in there, is on the page."""
    for folder, names in (("plan/", PLAN), ("results/", RESULTS)):
        if path.startswith(folder):
            rest = path.removeprefix(folder)
            return any(pattern(name).fullmatch(rest) for name in names)
    return any(pattern(name).fullmatch(path) for name in BUNDLE)


def _files(names: Mapping[str, str]) -> str:
    return table(
        ("file", "what it is"), ((f"`{name}`", prose(words)) for name, words in names.items())
    )


def _scorecard() -> str:
    schema = json_schema("scorecard")
    rows = ((f"`{name}`", prose(one["description"])) for name, one in schema["properties"].items())
    return table(("field", "meaning"), rows)


def _value(given: object) -> str:
    if given is None or given == "":
        return ""
    return f"`{str(given).lower() if isinstance(given, bool) else given}`"


def _inputs(inputs: Mapping[str, Any]) -> str:
    rows = (
        (
            f"`{name}`",
            "required" if one.get("required") else _value(one.get("default")),
            prose(one["description"]),
        )
        for name, one in inputs.items()
    )
    return table(("input", "default", "meaning"), rows)


def _outputs(outputs: Mapping[str, Any], word: str = "output") -> str:
    rows = ((f"`{name}`", prose(one["description"])) for name, one in outputs.items())
    return table((word, "meaning"), rows)


def _parts() -> Iterator[str]:
    action: dict[Any, Any] = yaml.safe_load((ROOT / "action.yml").read_bytes())
    workflow: dict[Any, Any] = yaml.safe_load(
        (ROOT / ".github/workflows/release-check.yml").read_bytes()
    )
    called = workflow[True]["workflow_call"]
    unknown = {f"{name}/" if name in {"plan", "results", "revisions"} else name for name in OURS} ^ set(BUNDLE)  # fmt: skip
    if unknown or not set(VOUCHED) <= set(BUNDLE):
        message = f"files of a bundle and of this page differ: {', '.join(sorted(unknown))}"
        raise ValueError(message)
    yield "What a run writes, and what [the GitHub Action](../action.md) takes and gives. The guide is [The bundle](../bundle.md)."
    yield "## Bundle"
    yield "The folder that `run`, `finish`, `resume`, `retry` and `rescore` write, `out` unless told otherwise."
    yield _files(BUNDLE)
    yield "## plan"
    yield _files(PLAN)
    yield "## results"
    yield _files(RESULTS)
    yield f"## {Scorecard.model_fields['schema_'].default.split('/')[1].split('@')[0]}.json"
    yield "Its top level; every field of every part is in the [schema reference](schemas.md#scorecard)."
    yield _scorecard()
    yield "## Inputs of the workflow"
    yield _inputs(called["inputs"])
    yield "## Secrets of the workflow"
    yield _outputs(called["secrets"], "secret")
    yield "## Outputs of the workflow"
    yield _outputs(called["outputs"])
    yield "## Inputs of the action"
    yield _inputs(action["inputs"])
    yield "## Outputs of the action"
    yield _outputs(action["outputs"])


def outputs_page() -> str:
    """The page."""
    return page("Output reference", *_parts())
