"""The words of JSON Schema, draft by draft: which are known, where schemas nest, which check nothing.

A validator must ignore words it does not know (`requierd`), so finding them is left to us.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from releasecheck.canonical import Json


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OddityKind: TypeAlias = Literal["empty", "unknown", "beside_ref"]

_DRAFT_4: Final = _words(
    "$schema $ref id title description default definitions multipleOf maximum exclusiveMaximum minimum "
    "exclusiveMinimum maxLength minLength pattern items additionalItems maxItems minItems uniqueItems "
    "maxProperties minProperties required properties patternProperties additionalProperties "
    "dependencies enum type format allOf anyOf oneOf not"
)
_DRAFT_6: Final = _DRAFT_4 - {"id"} | _words("$id const contains propertyNames examples")
_DRAFT_7: Final = _DRAFT_6 | _words(
    "if then else $comment readOnly writeOnly contentEncoding contentMediaType"
)
_DRAFT_2019: Final = _DRAFT_7 - {"dependencies"} | _words(
    "$anchor $recursiveRef $recursiveAnchor $vocabulary $defs dependentRequired dependentSchemas "
    "unevaluatedItems unevaluatedProperties maxContains minContains contentSchema deprecated"
)
_DRAFT_2020: Final = _DRAFT_2019 - {
    "additionalItems",
    "$recursiveRef",
    "$recursiveAnchor",
} | _words("prefixItems $dynamicRef $dynamicAnchor")
_DRAFTS: Final = {
    "json-schema.org/draft-04/schema": _DRAFT_4,
    "json-schema.org/draft-06/schema": _DRAFT_6,
    "json-schema.org/draft-07/schema": _DRAFT_7,
    "json-schema.org/draft/2019-09/schema": _DRAFT_2019,
    "json-schema.org/draft/2020-12/schema": _DRAFT_2020,
}
_REF_STANDS_ALONE: Final = (_DRAFT_4, _DRAFT_6, _DRAFT_7)

_ONE: Final = _words(
    "not if then else additionalProperties contains propertyNames items additionalItems "
    "unevaluatedItems unevaluatedProperties contentSchema"
)
_MANY: Final = _words("allOf anyOf oneOf prefixItems items")
_NAMED: Final = _words(
    "properties patternProperties $defs definitions dependentSchemas dependencies"
)
_ANNOTATIONS: Final = _words(
    "$schema $id id $comment title description default examples deprecated readOnly writeOnly $defs "
    "definitions $anchor $dynamicAnchor $recursiveAnchor $vocabulary contentEncoding contentMediaType "
    "contentSchema"
)
_NO_EFFECT_ALONE: Final = _words("if minContains maxContains")
_PARTS_DECIDE: Final = _words(
    "properties patternProperties dependentSchemas additionalProperties propertyNames items "
    "prefixItems additionalItems unevaluatedItems unevaluatedProperties allOf then else"
)


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something legal in a schema that checks nothing."""

    what: OddityKind
    place: str = "#"
    """JSON pointer to the part of the schema."""
    word: str = ""
    """The keyword, unless the whole schema is meant."""
    known: tuple[str, ...] = ()
    """What the draft knows, for a suggestion."""


def oddities(schema: Json) -> Iterator[Oddity]:
    """What a valid schema says in vain; without `$schema` it is read as draft 2020-12."""
    if vacuous(schema):
        yield Oddity("empty")
    known = _known_words(schema)
    for place, part in walk(schema):
        alone = "$ref" in part and known in _REF_STANDS_ALONE
        for word in part:
            if word not in known and not word.startswith("x-"):
                yield Oddity("unknown", place, word, tuple(sorted(known)))
            elif alone and word != "$ref" and word not in _ANNOTATIONS:
                yield Oddity("beside_ref", place, word)


def walk(schema: Json, place: str = "#") -> Iterator[tuple[str, dict[str, Json]]]:
    """Every object schema inside a schema, itself first, with its JSON pointer."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for word, value in schema.items():
        for name, part in _parts(word, value):
            yield from walk(part, "/".join([place, word, *name]))


def vacuous(schema: Json) -> bool:
    """Whether every value is valid under a schema because nothing in it can refuse one."""
    if not isinstance(schema, dict):
        return schema is True
    return all(_says_nothing(word, value, schema) for word, value in schema.items())


def _says_nothing(word: str, value: Json, schema: dict[str, Json]) -> bool:
    if word in _ANNOTATIONS or word in _NO_EFFECT_ALONE or word.startswith("x-"):
        return True
    if word in {"then", "else"} and "if" not in schema:
        return True
    if word in _PARTS_DECIDE:
        return all(vacuous(part) for _, part in _parts(word, value))
    if word == "anyOf":
        return any(vacuous(part) for _, part in _parts(word, value))
    if word == "dependentRequired":
        return not any(value.values())
    return (
        word in {"required", "minLength", "minItems", "minProperties", "uniqueItems"} and not value
    )


def _parts(word: str, value: Json) -> Iterator[tuple[tuple[str, ...], Json]]:
    if word in _NAMED and isinstance(value, dict):
        yield from (((name,), part) for name, part in value.items() if not isinstance(part, list))
    elif word in _MANY and isinstance(value, list):
        yield from (((str(index),), part) for index, part in enumerate(value))
    elif word in _ONE and isinstance(value, bool | dict):
        yield (), value


def _known_words(schema: Json) -> frozenset[str]:
    draft = str(schema.get("$schema", "")) if isinstance(schema, dict) else ""
    return _DRAFTS.get(draft.partition("://")[2].rstrip("#"), _DRAFT_2020)
