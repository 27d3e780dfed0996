"""Parts of suites that ask a live system: a chat target, or what the user names in place of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode, plain
from releasecheck.config.reading import read_yaml
from releasecheck.config.text import read_text
from releasecheck.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from releasecheck.canonical import Json

WHOLE: Final = "{{ input }}"
"""The case's input is the list of messages."""


def chat_target(messages: Json, params: Mapping[str, Json]) -> dict[str, Json]:
    """An OpenAI-compatible API that the environment names."""
    found: dict[str, Json] = {
        "id": "model",
        "type": "openai",
        "base_url": "${OPENAI_BASE_URL:-https://api.openai.com/v1}",
        "model": "${OPENAI_MODEL}",
        "api_key": "${OPENAI_API_KEY}",
        "messages": messages,
    }
    return {**found, "params": dict(params)} if params else found


def named_target(path: Path) -> dict[str, Json]:
    """The target in a file of the user's, alone or under `target:`.

    Raises:
        ConfigError: it is no mapping with a `type`.
    """
    shown = path.as_posix()
    node, problems = read_yaml(read_text(path), shown)
    if problems:
        raise ConfigError(problems)
    found = plain(node) if isinstance(node, MapNode) else None
    if isinstance(found, dict) and isinstance(found.get("target"), dict):
        found = found["target"]
    if not isinstance(found, dict) or not isinstance(found.get("type"), str):
        message = "expected the target of a suite, a mapping with its `type` (http, command, python, openai, plugin)"
        raise ConfigError([Problem(message, shown, node.place.line)])
    return found
