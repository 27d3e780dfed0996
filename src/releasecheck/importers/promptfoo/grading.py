"""The model that grades: promptfoo's `provider` of an assertion, as a judge of type llm has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from releasecheck.config.nodes import MapNode, plain
from releasecheck.importers.promptfoo.reading import entry, text_at

if TYPE_CHECKING:
    from releasecheck.config.nodes import Node
    from releasecheck.importers.promptfoo.reading import Desk

BASE_URL: Final = "${OPENAI_BASE_URL:-https://api.openai.com/v1}"
API_KEY: Final = "${OPENAI_API_KEY}"
MODEL: Final = "gpt-4.1-2025-04-14"
"""What promptfoo takes where nothing is named and there is a key of OpenAI."""


@dataclass(frozen=True, slots=True)
class Grader:
    """Which model is asked, and where."""

    model: str = MODEL
    base_url: str = BASE_URL


def grader_of(desk: Desk, node: Node | None) -> Grader | None:
    """The grader that is named, or the usual one; None where it is none that can be asked here."""
    if node is None:
        desk.note(
            f"no grader is named: the judges of type llm ask {MODEL}, which is what promptfoo takes with a key of OpenAI; set `model` and `base_url` to yours"
        )
        return Grader()
    name = text_at(node) or text_at(entry(node, "id"))
    if name is None and isinstance(node, MapNode) and "text" in node.entries:
        return grader_of(desk, node.entries["text"].node)
    model = openai_model(name or "")
    if model is None:
        desk.bad(
            node.place,
            f"the grader {str(name)[:60]!r} is not behind an OpenAI-compatible API that is known here; name `openai:chat:MODEL`, and set `base_url` of the judge afterwards",
        )
        return None
    config = entry(node, "config")
    if config is None:
        return Grader(model)
    url = text_at(entry(config, "apiBaseUrl"))
    rest = sorted(set(_names(config)) - {"apiBaseUrl", "temperature", "max_tokens"})
    if rest:
        desk.bad(
            node.place,
            f"the grader's config: {', '.join(rest)} cannot be converted; set `params` and `headers` of the judge afterwards",
        )
    return Grader(model, url or BASE_URL)


def _names(config: Node) -> list[str]:
    found = plain(config)
    return list(found) if isinstance(found, dict) else []


def openai_model(name: str) -> str | None:
    """The model of `openai:chat:MODEL` or `openai:MODEL`; None for all else."""
    head, _, rest = name.partition(":")
    if head != "openai" or not rest:
        return None
    kind, colon, model = rest.partition(":")
    if not colon:
        return None if kind in _OTHERS else kind
    if kind == "chat":
        return model or None
    return None if kind in _OTHERS else rest


_OTHERS: Final = (
    "chat", "completion", "responses", "embedding", "embeddings", "assistant", "image", "realtime",
    "moderation", "speech", "transcription", "video", "agents", "chatkit", "codex-sdk",
)  # fmt: skip
