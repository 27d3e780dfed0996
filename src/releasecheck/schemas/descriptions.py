"""The line under each field of a model, as the description of a property.

Pydantic can take these lines itself, but does so each time a model is imported: reading and parsing every
source file costs every command a seventh of a second that only `releasecheck schema` has use for.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from releasecheck.model.base import Written

if TYPE_CHECKING:
    from collections.abc import Iterator


def describe(schema: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """Put descriptions into a schema that pydantic made of `model`, in place."""
    known = {one.__name__: one for one in _all_models(BaseModel)}
    for name, part in [(model.__name__, schema), *schema.get("$defs", {}).items()]:
        if name in known:
            _describe_one(part, known[name])
    return schema


def _describe_one(part: dict[str, Any], model: type[BaseModel]) -> None:
    lines = _lines(model)
    for name, field in model.model_fields.items():
        entry = part.get("properties", {}).get(field.alias or name)
        if entry is not None and name in lines:
            entry.setdefault("description", _for_readers(lines[name], model))


def _for_readers(text: str, model: type[BaseModel]) -> str:
    """What the code calls None is null in a document, and none where people leave a key out."""
    if issubclass(model, Written):
        return re.sub(r"(?<![.]) None\b", " none", text)
    return re.sub(r"\bNone\b", "null", text)


def _all_models(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in root.__subclasses__():
        if model.__module__.startswith("releasecheck."):
            yield model
        yield from _all_models(model)


@cache
def _lines(model: type[BaseModel]) -> dict[str, str]:
    """Field -> the text that stands under it, in the model or the nearest of its bases."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base.__module__.startswith("releasecheck."):
            found |= _own_lines(base)
    return found


@cache
def _own_lines(cls: type[Any]) -> dict[str, str]:
    (body,) = ast.parse(inspect.cleandoc("\n" + inspect.getsource(cls))).body
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - the source of a class is one
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                found[name] = inspect.cleandoc(words)
            case _:
                pass
    return found
