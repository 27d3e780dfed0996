"""Messages of Inspect as data that is the same in every log: no ids, no marks of where they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from releasecheck.canonical import Json

_KEPT: Final = ("role", "content", "tool_calls", "tool_call_id", "function")
ATTACHMENT: Final = "attachment://"


def resolved(value: Json, attachments: Mapping[str, Json]) -> Json:
    """The value with long texts, which a log keeps apart, back in their place."""
    if isinstance(value, str):
        if value.startswith(ATTACHMENT):
            return attachments.get(value.removeprefix(ATTACHMENT), value)
        return value
    if isinstance(value, list):
        return [resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: resolved(item, attachments) for key, item in value.items()}
    return value


def messages(value: Json) -> Json:
    """An input: a text as it is, messages by what the model sees of them."""
    if not isinstance(value, list):
        return value
    return [
        {key: message[key] for key in _KEPT if message.get(key) is not None}
        if isinstance(message, dict)
        else message
        for message in value
    ]


def completion(output: Json) -> str | None:
    """The text that a model answered; None where it answered nothing at all."""
    if not isinstance(output, dict):
        return None
    choices = output.get("choices")
    if not isinstance(choices, list) or not choices:
        return output.get("completion") or None
    said = output.get("completion")
    if isinstance(said, str):
        return said
    first = choices[0]
    message = first.get("message") if isinstance(first, dict) else None
    return _text(message.get("content")) if isinstance(message, dict) else None


def _text(content: Json) -> str | None:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else None
