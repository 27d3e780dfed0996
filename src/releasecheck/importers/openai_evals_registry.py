"""A registry file of openai/evals: which class, which samples, which arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode, Node, plain, problem_at
from releasecheck.config.reading import read_yaml
from releasecheck.config.rows import read_jsonl
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem, UsageError
from releasecheck.importers.imported import Mapped
from releasecheck.importers.names import slug
from releasecheck.importers.openai_evals import Kind, Plan
from releasecheck.importers.openai_evals_chat import conversation
from releasecheck.model.nearest import listing

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.canonical import Json

_KINDS: Final[dict[str, Kind]] = {
    "evals.elsuite.basic.match:Match": "match",
    "evals.elsuite.basic.includes:Includes": "includes",
    "evals.elsuite.basic.fuzzy_match:FuzzyMatch": "fuzzy-match",
}
_ARGUMENTS: Final[dict[Kind, frozenset[str]]] = {
    "match": frozenset({"samples_jsonl", "max_tokens", "num_few_shot", "few_shot_jsonl"}),
    "includes": frozenset({"samples_jsonl", "ignore_case"}),
    "fuzzy-match": frozenset({"samples_jsonl", "max_tokens"}),
}


def registry_plan(path: Path, name: str | None, suite: str | None) -> Plan:
    """The eval that a registry file names.

    Raises:
        ConfigError: its class, an argument of it or its files are not what can be converted.
        UsageError: there are several, and none was chosen.
    """
    shown = path.as_posix()
    node, problems = read_yaml(read_text(path), shown)
    if problems:
        raise ConfigError(problems)
    if not isinstance(node, MapNode):
        message = "expected a registry file of openai/evals, a mapping of names to evals"
        raise ConfigError([Problem(message, shown, 1)])
    chosen = _chosen(node, name, shown)
    spec = plain(node.entries[chosen].node)
    kind = _KINDS.get(str(spec["class"]))
    if kind is None:
        message = (
            f"the eval class {str(spec['class'])[:80]!r} is not converted; {listing(sorted(_KINDS))} are - "
            "run it with openai/evals, and import its log"
        )
        raise ConfigError([problem_at(node, (chosen, "class"), message)])
    arguments = spec.get("args") or {}
    wrong = _argument_problems(node, chosen, kind, arguments)
    if wrong:
        raise ConfigError(wrong)
    # `taxes.dev.v0`: the name of an eval, its split, its version.
    base, _, rest = chosen.partition(".")
    split = rest.partition(".")[0] or "dev"
    return Plan(
        samples=_beside(path, node, (chosen, "args", "samples_jsonl"), arguments["samples_jsonl"]),
        kind=kind,
        name=slug(suite or base, "openai-evals"),
        prefix=f"{base}.{split}",
        ignore_case=bool(arguments.get("ignore_case", False)),
        max_tokens=arguments.get("max_tokens"),
        shots=_shots(path, node, chosen, arguments),
        head=f"From {path.name}, eval {chosen} of openai/evals, by `releasecheck import openai-evals`.",
        mapped=(Mapped(f"eval {chosen}", f"suite {slug(suite or base, 'openai-evals')}"),),
    )


def _chosen(node: MapNode, name: str | None, shown: str) -> str:
    evals = {
        key: found
        for key, entry in node.entries.items()
        if isinstance(found := plain(entry.node), dict)
    }
    runnable = [key for key, spec in evals.items() if "class" in spec]
    if name is not None:
        seen = [name]
        while (spec := evals.get(seen[-1])) is not None and "class" not in spec:
            target = spec.get("id")
            if not isinstance(target, str) or target in seen:
                break
            seen.append(target)
        if seen[-1] in runnable:
            return seen[-1]
        message = f"{shown}: there is no eval {name!r} with a class; found {listing(runnable)}"
        raise UsageError(message)
    if not runnable:
        message = "no eval in it names its `class`"
        raise ConfigError([Problem(message, shown, 1)])
    if len(runnable) > 1:
        message = f"{shown}: it has {len(runnable)} evals, choose one with --eval: {', '.join(runnable[:10])}"
        raise UsageError(message)
    return runnable[0]


def _argument_problems(node: Node, chosen: str, kind: Kind, arguments: Json) -> list[Problem]:
    if not isinstance(arguments, dict):
        return [problem_at(node, (chosen, "args"), "expected a mapping of arguments")]
    problems = [
        problem_at(
            node, (chosen, "args", key), f"the argument {key!r} of this class is not converted"
        )
        for key in arguments
        if key not in _ARGUMENTS[kind]
    ]
    if not isinstance(arguments.get("samples_jsonl"), str):
        message = "expected `samples_jsonl`, the file of samples"
        problems.append(problem_at(node, (chosen, "args"), message))
    for key, type_, words in (
        ("max_tokens", int, "a whole number"),
        ("num_few_shot", int, "a whole number"),
        ("ignore_case", bool, "true or false"),
        ("few_shot_jsonl", str, "a file"),
    ):
        value = arguments.get(key)
        if value is None or (
            isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))
        ):
            continue
        problems.append(problem_at(node, (chosen, "args", key), f"expected {words}"))
    return problems


def _beside(path: Path, node: Node, loc: tuple[str, ...], written: str) -> Path:
    """Where a file of a registry is: beside it, or in the `data` folder beside its own."""
    places = [path.parent / written, path.parent.parent / "data" / written]
    # A registry of others may not carry files of this machine into a suite.
    inside = path.parent.parent.resolve()
    for place in places:
        if place.is_file():
            if not place.resolve().is_relative_to(inside):
                message = f"{written}: it lies outside of the registry; copy it beside its file"
                raise ConfigError([problem_at(node, loc, message)])
            return place
    tried = " nor ".join(place.as_posix() for place in places)
    raise ConfigError([problem_at(node, loc, f"there is no file {tried}")])


def _shots(path: Path, node: Node, chosen: str, arguments: dict[str, Json]) -> tuple[Json, ...]:
    wanted = arguments.get("num_few_shot") or 0
    if wanted <= 0:
        return ()
    if "few_shot_jsonl" not in arguments:
        message = "`num_few_shot` needs `few_shot_jsonl`, the file of examples"
        raise ConfigError([problem_at(node, (chosen, "args"), message)])
    file = _beside(path, node, (chosen, "args", "few_shot_jsonl"), arguments["few_shot_jsonl"])
    read = read_jsonl(read_text(file), file.as_posix())
    problems = list(read.problems)
    messages: list[Json] = []
    for row in read.rows[:wanted]:
        found = conversation(row.fields.get("sample"))
        if isinstance(found, str):
            problems.append(Problem(found, file.as_posix(), row.line, key="sample"))
        else:
            messages += found
    if not read.rows and not problems:
        problems.append(Problem(f"no examples: {read.empty}", file.as_posix()))
    if problems:
        raise ConfigError(problems)
    return tuple(messages)
