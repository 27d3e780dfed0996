"""Python assertions: code in the config or in a file, as a module that a python judge can call."""

from __future__ import annotations

import ast
import contextlib
import json
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.assets import templates_dir
from releasecheck.canonical import digest_bytes
from releasecheck.config.text import read_text
from releasecheck.importers.promptfoo.reading import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Place
    from releasecheck.importers.promptfoo.reading import Desk

DEFAULT: Final = "get_assert"
INLINE: Final = "inline"
"""The name of what stands in the config itself."""
_BODY: Final = "promptfoo_assertion"


def template(name: str) -> bytes:
    """Python that is written beside an imported suite; it needs nothing but its standard library."""
    return (templates_dir() / "promptfoo" / name).read_bytes()


@dataclass(frozen=True, slots=True)
class Script:
    """The code of an assertion."""

    source: str
    function: str
    """Which function of it is asked."""
    name: str
    """Of its file, or `inline`."""
    beside: tuple[tuple[str, bytes], ...] = ()
    """Files that it imports from its own folder."""

    @property
    def digest(self) -> str:
        """Identity of the code."""
        return digest_bytes(self.source.encode("utf-8", "surrogatepass"))

    def module(self, config: Json, threshold: float | None, prompt: str | None) -> bytes:
        """The code, and below it the function that a judge calls; `prompt` is the template it is told as the prompt."""
        return _module(self.source, {None: (config, threshold, self.function)}, prompt)


def inline_module(codes: Sequence[Json], prompt: str | None) -> bytes:
    """Assertions that stand in the config, as one module: a case names its own by the code."""
    sources: list[str] = []
    table: dict[str | None, tuple[Json, float | None, str]] = {}
    for code in codes:
        key = json.dumps(code, sort_keys=True)
        if key in table:
            continue
        name = f"{_BODY}_{len(sources) + 1}"
        written = code if isinstance(code, dict) else {"code": code}
        sources.append(_inline(written["code"], name))
        table[key] = (written.get("config"), written.get("threshold"), name)
    return _module("\n\n".join(sources), table, prompt)


def _module(
    source: str, table: Mapping[str | None, tuple[Json, float | None, str]], prompt: str | None
) -> bytes:
    call = template("script.txt").decode()
    settings = f"_RELEASECHECK_ASSERTIONS = {dict(table)!r}\n_RELEASECHECK_PROMPT = {prompt!r}\n"
    return f"{source.rstrip()}\n\n\n{call}\n\n{settings}".encode()


def read_script(desk: Desk, value: str, place: Place) -> Script | None:
    """The code that a value is or names; None after saying what is wrong with it."""
    if value.startswith(FILE):
        return _from_file(desk, value, place)
    source = _inline(value, _BODY)
    tree = _tree(desk, source, value, place)
    if tree is None:
        return None
    if not any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(tree)):
        desk.bad(
            place,
            f"the Python of the assertion {value.strip()[:40]!r} has several lines and no `return`: promptfoo takes it "
            "for the body of a function, which then answers nothing; return the result",
        )
        return None
    return Script(source, _BODY, INLINE)


def _inline(value: str, name: str) -> str:
    code = value.strip("\n")
    try:
        if "\n" in code.strip():
            raise SyntaxError  # noqa: TRY301 - several lines are the body of a function, whatever they are
        ast.parse(code.strip(), mode="eval")
    except (SyntaxError, ValueError):
        body = textwrap.dedent(code)
        return f"def {name}(output, context):\n{textwrap.indent(body, '    ')}\n"
    return f"def {name}(output, context):\n    return (\n{textwrap.indent(code.strip(), '        ')}\n    )\n"


def _tree(desk: Desk, source: str, shown: str, place: Place) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        desk.bad(place, f"the Python of the assertion {shown[:40]!r} cannot be read: {what}")
        return None


def _from_file(desk: Desk, value: str, place: Place) -> Script | None:
    name, _, function = value.removeprefix(FILE).partition(".py:")
    if function:
        name += ".py"
    paths = desk.found(name, place)
    if not paths:
        return None
    if paths[0].suffix != ".py":
        desk.bad(place, f"{value}: expected a file of Python, `.py`")
        return None
    function = function or DEFAULT
    source = read_text(paths[0])
    tree = _tree(desk, source, value, place)
    if tree is None:
        return None
    defined = {
        one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    if function not in defined:
        desk.bad(
            place,
            f"{value}: it defines no function {function!r}; it has {', '.join(sorted(defined)) or 'none'}",
        )
        return None
    beside = tuple(sorted(_imported(tree, paths[0].parent, {})))
    for helper, _ in beside:  # a link may lead anywhere
        desk.found((paths[0].parent / helper).absolute().as_posix(), place)
    if beside:
        desk.note(
            f"{value}: what it imports from its own folder was copied: {', '.join(name for name, _ in beside)}"
        )
    desk.note(
        f"{value}: a copy of it is now the judge; data files that it opens must be copied too"
    )
    return Script(source, function, paths[0].stem, beside)


def _imported(
    tree: ast.Module, folder: Path, seen: dict[str, bytes]
) -> Iterator[tuple[str, bytes]]:
    names = [
        name
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    ]  # fmt: skip
    for name in names:
        file = folder / f"{name.partition('.')[0]}.py"
        if file.is_file() and file.name not in seen:
            seen[file.name] = file.read_bytes()
            yield file.name, seen[file.name]
            with contextlib.suppress(SyntaxError, ValueError):  # its judge will say so, by line
                yield from _imported(ast.parse(seen[file.name]), folder, seen)
