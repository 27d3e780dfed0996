"""What an OpenAI-compatible chat completions API answers, however it looks (B43)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.transport.classify import Classifier, Trouble


class Completion:
    """A chat completion, however it looks."""

    def __init__(self, body: Json, classify: Classifier, doing: str) -> None:
        self._body = body if isinstance(body, dict) else {}
        choices = self._body.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        self._choice: dict[str, Any] | None = first if isinstance(first, dict) else None
        message = (self._choice or {}).get("message")
        self._message: dict[str, Any] = message if isinstance(message, dict) else {}
        self._classify = classify
        self._doing = doing

    def trouble(self, *, needs_text: bool) -> Trouble | None:
        """Why this is no answer; None when it is one."""
        classify, doing = self._classify, self._doing
        error = self._body.get("error")
        if error and self._choice is None:
            said = error.get("message") if isinstance(error, dict) else error
            said = classify.start_of(str(said))
            return classify.infra("error_in_body", f"{doing}: answered 2xx with an error: {said}")
        if self._choice is None:
            return classify.broken("no_choices", f"{doing}: the answer has no choices")
        reason = self._choice.get("finish_reason")
        if reason == "content_filter":
            return classify.outcome("filtered", f"{doing}: a content filter withheld the answer")
        if reason == "length":
            return classify.outcome(
                "truncated",
                f"{doing}: the answer was cut at the token limit; raise max_tokens in params",
            )
        refusal = self._message.get("refusal")
        if refusal:
            said = classify.start_of(str(refusal))
            return classify.outcome("refused", f"{doing}: the model refused: {said}")
        if needs_text and self.text() is None and self._calls_tools(reason):
            return classify.outcome(
                "tool_calls", f"{doing}: the model called a tool instead of answering"
            )
        return None

    def _calls_tools(self, reason: Json) -> bool:
        called = self._message.get("tool_calls") or self._message.get("function_call")
        return bool(called) or reason in ("tool_calls", "function_call")

    def text(self) -> str | None:
        """The content of the message: a text, or the text parts of a list, joined."""
        content = self._message.get("content")
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return None
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
