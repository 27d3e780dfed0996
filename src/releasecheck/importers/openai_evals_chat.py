"""What openai/evals takes as `input` and `ideal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.config.rows import kind

if TYPE_CHECKING:
    from releasecheck.canonical import Json


def conversation(value: Json) -> list[Json] | str:
    """An input as messages, a text as one of the system as the tool sends it; or what is wrong with it."""
    if isinstance(value, str):
        return (
            [{"role": "system", "content": value}]
            if value.strip()
            else "the input is an empty text"
        )
    if not isinstance(value, list) or not value:
        return f"expected a text or a list of messages, found {'an empty list' if value == [] else kind(value)}"
    for number, message in enumerate(value):
        if not isinstance(message, dict):
            return f"message {number}: expected {{role, content}}, found {kind(message)}"
        for key in ("role", "content"):
            if not isinstance(message.get(key), str):
                return (
                    f"message {number}: expected a text as `{key}`, found {kind(message.get(key))}"
                )
    return value


def ideals(value: Json) -> list[str] | str:
    """The ideals as a list; or what is wrong with them."""
    wanted = value if isinstance(value, list) else [value]
    if not wanted:
        return "the list of ideals is empty: no completion could be right"
    if wrong := [item for item in wanted if not isinstance(item, str)]:
        return f"expected a text or a list of texts, found {kind(wrong[0])}"
    return list(wanted)
