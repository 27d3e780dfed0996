"""Rubrics that `llm` judges name: shipped ones or files, read strictly and frozen into the suite."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import ValidationError

from releasecheck.assets import templates_dir
from releasecheck.canonical import digest_bytes
from releasecheck.config.nodes import MapNode, plain, problem_at
from releasecheck.config.reading import read_yaml
from releasecheck.config.showing import shown_through
from releasecheck.config.text import read_bytes, to_text
from releasecheck.errors import ConfigError, Problem
from releasecheck.model.base import Fraction01, FromList, Written
from releasecheck.model.judge import LlmJudge, Rubric, Scale, Sentinel
from releasecheck.model.nearest import did_you_mean, listing

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.judge import Judge
    from releasecheck.model.suite import Suite

_STAND_IN: Final = "(could not be read)"
"""For a rubric that could not be read, so that later checks find nothing more to say about it."""
_HEAD: Final = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


class RubricSentinel(Sentinel):
    """A sentinel of a rubric, which does not know where a suite has its contexts."""

    contexts: Annotated[tuple[str, ...], FromList] = ()
    """The passages it comes with."""


class RubricHead(Written):
    """What stands in YAML above a rubric."""

    name: str | None = None
    """For reports; None is the name it is known by."""
    needs: Annotated[tuple[Literal["expected", "contexts"], ...], FromList] = ()
    """What a case must have to be judged by it."""
    scale: Scale | None = None
    """The judge's, unless the suite sets one."""
    pass_at: Fraction01 | None = None
    """The judge's, unless the suite sets one; from 0 to 1, whatever the scale."""
    sentinels: Annotated[tuple[RubricSentinel, ...], FromList] = ()
    """The judge's, unless the suite sets some."""


def shipped_rubrics() -> dict[str, Path]:
    """The files of the rubrics that came with this installation, by name."""
    folder = templates_dir() / "rubrics"
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


def freeze_rubrics(
    suite: Suite, document: MapNode, root: Path, files: dict[str, str]
) -> tuple[Suite, list[Problem], list[Problem]]:
    """`suite` with the content of rubrics in place of their names, its problems, and notes.

    Digests of the files read below `root` are added to `files`.
    """
    problems: list[Problem] = []
    notes: list[Problem] = []
    judges: list[Judge] = []
    for position, judge in enumerate(suite.judges):
        if not isinstance(judge, LlmJudge) or not isinstance(judge.rubric, str):
            judges.append(judge)
            continue
        loc = ("judges", position, "rubric")
        try:
            head, text = _read(root, judge.rubric, files)
        except ConfigError as error:
            problems += [
                problem_at(document, loc, f"the rubric {judge.rubric!r}: {_placed(found)}")
                for found in error.problems
            ]
            rubric = Rubric(name=judge.rubric, text=_STAND_IN)
            judges.append(judge.model_copy(update={"rubric": rubric}))
            continue
        frozen, note = _frozen(judge, judge.rubric, head, text)
        judges.append(frozen)
        if note is not None:
            notes.append(problem_at(document, loc, note))
    return suite.model_copy(update={"judges": tuple(judges)}), problems, notes


def _placed(found: Problem) -> str:
    where = "" if found.line is None else f"{found.path}:{found.line}: "
    return where + found.message


def _read(root: Path, name: str, files: dict[str, str]) -> tuple[RubricHead, str]:
    shipped = shipped_rubrics()
    path = root / name
    if not path.exists() and name in shipped:
        path = shipped[name]
        return read_rubric(to_text(read_bytes(path), name), name)
    if not path.exists():
        beside = [one.relative_to(root).as_posix() for one in path.parent.glob("*.md")]
        message = (
            f"there is no such file ({path.as_posix()}), and the rubrics that come with releasecheck are "
            f"{listing(shipped)}{did_you_mean(name, [*shipped, *beside])}"
        )
        raise ConfigError([Problem(message)])
    data = read_bytes(path)
    found = read_rubric(to_text(data, path.as_posix()), path.as_posix())
    files[name] = digest_bytes(data)
    return found


def read_rubric(text: str, shown: str) -> tuple[RubricHead, str]:
    """Head and text of a rubric; a file without a head is all text.

    Raises:
        ConfigError: the head cannot be used, or there is no text.
    """
    head, body = RubricHead(), text
    if text.startswith("---"):
        found = _HEAD.match(text)
        if found is None:
            message = "the head that begins with `---` has no line `---` that ends it"
            raise ConfigError([Problem(message, shown, 1, 1)])
        # The empty line keeps the file's own line numbers.
        head, body = _head("\n" + found[1], shown), text[found.end() :]
    if not body.strip():
        message = "the rubric is empty; expected the text that the model judges by"
        raise ConfigError([Problem(message, shown)])
    return head, body


def _head(text: str, shown: str) -> RubricHead:
    node, problems = read_yaml(text, shown)
    if problems:
        raise ConfigError(problems)
    if not isinstance(node, MapNode):
        message = (
            f"expected a mapping with {', '.join(RubricHead.model_fields)} between the lines `---`"
        )
        raise ConfigError([Problem(message, shown, 1, 1)])
    try:
        return RubricHead.model_validate(plain(node))
    except ValidationError as error:
        raise ConfigError(
            problem_at(node, detail["loc"], _said(detail["loc"], detail["msg"]))
            for detail in error.errors(include_url=False, include_input=False)
        ) from None


def _said(loc: tuple[int | str, ...], message: str) -> str:
    near = did_you_mean(str(loc[-1]), RubricHead.model_fields) if "Extra" in message else ""
    return f"{'.'.join(map(str, loc))}: {message}{near}"


def _frozen(judge: LlmJudge, name: str, head: RubricHead, text: str) -> tuple[LlmJudge, str | None]:
    written = judge.model_fields_set
    changes: dict[str, object] = {
        # A rubric speaks of `${...}` without meaning a variable; texts of a plan may name some.
        "rubric": Rubric(
            name=head.name or name, text=text.replace("${", "$${").strip(), needs=head.needs
        )
    }
    if head.scale is not None and "scale" not in written:
        changes["scale"] = head.scale
    if head.pass_at is not None and "pass_at" not in written:
        changes["pass_at"] = head.pass_at
    if "sentinels" in written or not head.sentinels:
        return judge.model_copy(update=changes), None
    fitted = [shown_through(one, one.contexts, judge) for one in head.sentinels]
    kept = tuple(one for one in fitted if one is not None)
    changes["sentinels"] = kept
    note = None
    if len(kept) < len(fitted):
        note = (
            f"{len(fitted) - len(kept)} of the {len(fitted)} sentinels of the rubric {name!r} cannot be shown "
            "through this judge's `input` and `contexts`; give the judge `sentinels` of its own"
        )
    return judge.model_copy(update=changes), note
