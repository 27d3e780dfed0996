"""Expressions of workflow files, as far as ours use them, with GitHub's rules about values."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TOKEN: Final = re.compile(
    r"\s*(?:(?P<op>&&|\|\||==|!=|[!(),])|'(?P<text>(?:[^']|'')*)'|(?P<number>\d+)"
    r"|(?P<name>[A-Za-z_][\w-]*(?:\.[\w-]+)*))"
)
STATUS: Final = ("success", "failure", "always", "cancelled")


class Expression:
    """Reads one expression, from left to right."""

    def __init__(
        self, text: str, values: Mapping[str, Any], status: Mapping[str, bool] | None = None
    ) -> None:
        self.values, self.status = values, dict(status or {})
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        place, text = 0, text.strip()
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                message = f"{text!r} cannot be read from {text[place:]!r} on"
                raise ValueError(message)
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            place = match.end()

    def value(self) -> Any:
        """What it comes to."""
        found = self._either()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return found

    def _take(self, *operators: str) -> str | None:
        if self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind == "op" and text in operators:
                self.at += 1
                return text
        return None

    def _either(self) -> Any:
        found = self._both()
        while self._take("||"):
            other = self._both()
            found = found or other
        return found

    def _both(self) -> Any:
        found = self._compared()
        while self._take("&&"):
            other = self._compared()
            found = found and other
        return found

    def _compared(self) -> Any:
        found = self._single()
        operator = self._take("==", "!=")
        if operator is None:
            return found
        same = shown(found).lower() == shown(self._single()).lower()
        return same if operator == "==" else not same

    def _single(self) -> Any:
        if self._take("!"):
            return not self._single()
        if self._take("("):
            found = self._either()
            assert self._take(")")
            return found
        kind, text = self.tokens[self.at]
        self.at += 1
        match kind:
            case "text":
                return text.replace("''", "'")
            case "number":
                return int(text)
            case "name" if self._take("("):
                return self._called(text)
            case "name" if text in ("true", "false"):
                return text == "true"
            case "name":
                return self._looked_up(text)
            case _:
                message = f"{text!r} stands where a value should"
                raise ValueError(message)

    def _called(self, name: str) -> Any:
        given = []
        while not self._take(")"):
            given.append(self._either())
            self._take(",")
        if name in STATUS:
            return self.status[name]
        functions: dict[str, Callable[..., Any]] = {
            "startsWith": lambda text, start: shown(text).lower().startswith(shown(start).lower()),
            "fromJSON": json.loads,
        }
        return functions[name](*given)

    def _looked_up(self, path: str) -> Any:
        found: Any = self.values
        for part in path.split("."):
            found = found.get(part) if isinstance(found, dict) else None
        return found


def shown(value: Any) -> str:
    """As GitHub turns a value into text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)


def filled(text: Any, values: Mapping[str, Any]) -> str:
    """A text with its `${{ }}` replaced."""
    return re.sub(
        r"\$\{\{(.*?)\}\}", lambda m: shown(Expression(m[1], values).value()), shown(text)
    )


def holds(condition: Any, values: Mapping[str, Any], status: Mapping[str, bool]) -> bool:
    """Whether an `if` holds; without a status function it asks for success besides."""
    text = shown(condition).strip()
    if text.startswith("${{"):
        text = text.removeprefix("${{").removesuffix("}}")
    if not text:
        return status["success"]
    asked = any(f"{name}()" in text for name in STATUS)
    found = bool(Expression(text, values, status).value())
    return found and (asked or status["success"])
