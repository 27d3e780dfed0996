"""Templates of promptfoo as those of a target, held against what the tests set."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from releasecheck.importers.promptfoo.prompts import read_template, variables_in
from releasecheck.importers.promptfoo.templates import Unset, Var, as_jinja, look_up
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Place
    from releasecheck.importers.promptfoo.prompts import Prompt
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.templates import Parts
    from releasecheck.importers.promptfoo.tests import Test

PREFIX, SUFFIX = "prompt_prefix", "prompt_suffix"
"""Where in the metadata of a case the texts around its prompt stand."""
ENV: Final = re.compile(r"\{\{-?\s*env\.([A-Za-z_]\w*)\s*-?\}\}")
"""A variable of the environment in a template."""


def raw_text(content: Json) -> str:
    """A prompt as the text that promptfoo has of it."""
    return (
        content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    )


class Rendering:
    """Templates of the target, held against what the tests set."""

    def __init__(self, desk: Desk, tests: Sequence[Test]) -> None:
        self._desk, self._tests = desk, tests
        self._around = any(
            test.option(name) is not None for test in tests for name in ("prefix", "suffix")
        )

    def check(self, value: Json, place: Place, what: str) -> None:
        """Whether every text of a value can be rendered for every test."""
        self.value(value, place, what)

    def value(self, value: Json, place: Place, what: str, prompt: str | None = None) -> Json:
        """A value with its templates as the target has them; `{{prompt}}` becomes `prompt`."""
        if isinstance(value, str):
            return self.text(value, place, what, prompt)
        if isinstance(value, list):
            return [self.value(one, place, what, prompt) for one in value]
        if isinstance(value, dict):
            return {key: self.value(one, place, what, prompt) for key, one in value.items()}
        return value

    def text(self, text: str, place: Place, what: str, prompt: str | None = None) -> str:
        """One text."""
        parts = read_template(self._desk, text, place, what)
        if parts is None:
            return text
        if prompt is None:
            return self._jinja(parts, place, what)
        return "".join(
            prompt
            if isinstance(part, Var) and part.path == ("prompt",)
            else self._jinja((part,), place, what)
            for part in parts
        )

    def prompt(self, prompt: Prompt) -> Json:
        """The prompt, with what stands around it in some tests."""
        made = self.value(prompt.content, prompt.place, "the prompt")
        if self._around and isinstance(made, str):
            return f"{{{{ metadata.{PREFIX} }}}}{made}{{{{ metadata.{SUFFIX} }}}}"
        if self._around:
            self._desk.bad(
                prompt.place,
                "prefix and suffix around a list of messages would break its JSON; write them into the messages",
            )
        return made

    def _jinja(self, parts: Parts, place: Place, what: str) -> str:
        as_json = frozenset(
            var.name for var in variables_in(parts) if self._is_json(var, place, what)
        )
        return as_jinja(parts, "input", as_json)

    def _is_json(self, var: Var, place: Place, what: str) -> bool:
        """Whether a variable is a number or true or false, which are written as JSON has them."""
        if var.path[0] == "env":
            return False
        kinds: set[str] = set()
        for test in self._tests:
            try:
                value = look_up(var, test.variables)
            except Unset:
                if var.name == "prompt" and what != "the prompt":
                    continue
                self._desk.bad(
                    test.place,
                    f"the test sets no variable {var.name!r}, which {what} uses ({place.path}:{place.line}){did_you_mean(var.name, test.variables)}",
                )
                return False
            kinds.add(
                "text"
                if isinstance(value, str)
                else "json"
                if isinstance(value, bool | int | float)
                else "other"
            )
            if "other" in kinds or len(kinds) > 1:
                self._desk.bad(
                    test.place,
                    f"the variable {var.name!r} in {what} is not of one kind in all tests, or no text, number or boolean; write it as a text",
                )
                return False
        return kinds == {"json"}


def references(value: Json) -> Json:
    """`{{env.NAME}}` as `${NAME}`; what only looks like that stays as it is."""
    if isinstance(value, str):
        return ENV.sub(r"${\1}", value.replace("${", "$${"))
    if isinstance(value, list):
        return [references(one) for one in value]
    return (
        {key: references(one) for key, one in value.items()} if isinstance(value, dict) else value
    )
