"""A provider and a prompt to the target of a suite."""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, dump_document, parse_json
from releasecheck.config.nodes import plain
from releasecheck.importers.promptfoo.grading import API_KEY, BASE_URL, openai_model
from releasecheck.importers.promptfoo.prompts import read_template, texts_of, variables_in
from releasecheck.importers.promptfoo.reading import FILE, entry
from releasecheck.importers.promptfoo.scripts import template
from releasecheck.importers.promptfoo.templates import Unset, Var, as_jinja, look_up
from releasecheck.model.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.config.nodes import Place
    from releasecheck.importers.promptfoo.prompts import Prompt
    from releasecheck.importers.promptfoo.providers import Provider
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.templates import Parts
    from releasecheck.importers.promptfoo.tests import Test

MODULE: Final = "promptfoo_target"
PREFIX, SUFFIX = "prompt_prefix", "prompt_suffix"
"""Where in the metadata of a case the texts around its prompt stand."""
_PARAMS: Final = (
    "temperature", "max_tokens", "max_completion_tokens", "top_p", "frequency_penalty", "presence_penalty",
    "seed", "stop", "response_format", "reasoning_effort", "verbosity", "service_tier", "user", "logit_bias",
)  # fmt: skip
_OPENAI: Final = (
    *_PARAMS, "apiKey", "apiKeyEnvar", "apiBaseUrl", "apiHost", "organization", "headers", "passthrough",
)  # fmt: skip
_OPENAI_REFUSED: Final = (
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "functionToolCallbacks",
    "cost",
    "showThinking",
)
_HTTP: Final = (
    "url",
    "method",
    "headers",
    "body",
    "transformResponse",
    "responseParser",
    "stateful",
)
_HTTP_REFUSED: Final = (
    "request", "queryParams", "transformRequest", "validateStatus", "session", "sessionParser",
    "sessionSource", "signatureAuth", "auth", "tls", "multipart", "maxRetries",
)  # fmt: skip
_METHODS: Final = ("POST", "PUT", "PATCH", "GET")
_ENV: Final = re.compile(r"\{\{-?\s*env\.([A-Za-z_]\w*)\s*-?\}\}")
_RESPONSE: Final = re.compile(r"(?:\(?\s*json\s*\)?\s*=>\s*)?json((?:\??\.[A-Za-z_]\w*|\[\d+\])*)")
_REASONING: Final = re.compile(r"(o\d|gpt-5|gpt-6|codex)")


@dataclass(slots=True)
class Made:
    """A target, its files, and the words for what it was made of."""

    target: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    became: str = ""
    prompt: str | None = None
    """What it is sent, as a template of promptfoo's; None where that is not known."""


def target_of(
    desk: Desk, provider: Provider, prompt: Prompt, tests: Sequence[Test], out: Path
) -> Made | None:
    """The target; None after saying what about it cannot be converted."""
    rendering = Rendering(desk, tests)
    name = provider.name
    if (model := openai_model(name)) is not None:
        return _openai(desk, provider, model, prompt, rendering)
    if re.match(r"https?(://|$)", name):
        return _http(desk, provider, prompt, rendering)
    rendering.check(prompt.content, prompt.place, "the prompt")
    if any(_ENV.search(text) for text in prompt.texts()):
        desk.bad(
            prompt.place,
            "the prompt names a variable of the environment, which is not told to a program; take it out of the prompt",
        )
    if name == "echo":
        return _adapter(desk, provider, prompt, out, "echo", {})
    if name.startswith("exec:"):
        command = name.removeprefix("exec:").strip()
        try:
            words = shlex.split(command)
        except ValueError:
            words = []
        if not words:
            desk.bad(provider.place, f"the command of {name[:60]!r} cannot be read")
            return None
        return _adapter(desk, provider, prompt, out, "execute", {"command": command})
    if name.startswith(("python:", FILE)):
        return _python(desk, provider, prompt, out)
    desk.bad(
        provider.place,
        f"the provider {name[:60]!r} cannot be converted; those that can are openai:chat:MODEL, http, https, exec:, python:, file://*.py and echo. Say with --target FILE how it is asked",
    )
    return None


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


def _references(value: Json) -> Json:
    """`{{env.NAME}}` as `${NAME}`; what only looks like that stays as it is."""
    if isinstance(value, str):
        return _ENV.sub(r"${\1}", value.replace("${", "$${"))
    if isinstance(value, list):
        return [_references(one) for one in value]
    return (
        {key: _references(one) for key, one in value.items()} if isinstance(value, dict) else value
    )


def _config(provider: Provider) -> dict[str, Json]:
    found = _references(plain(provider.config))
    return found if isinstance(found, dict) else {}


def _headers(desk: Desk, provider: Provider, config: Mapping[str, Json]) -> dict[str, str]:
    found = config.get("headers") or {}
    if isinstance(found, dict) and all(isinstance(one, str) for one in found.values()):
        return dict(found)
    desk.bad(provider.config.place, "expected `headers` to be a mapping of texts")
    return {}


def _openai(
    desk: Desk, provider: Provider, model: str, prompt: Prompt, rendering: Rendering
) -> Made:
    desk.keys(provider.config, _OPENAI, f"the config of {provider.name}", _OPENAI_REFUSED)
    config = _config(provider)
    params = {key: config[key] for key in _PARAMS if config.get(key) is not None}
    if any(text.startswith(FILE) for text in texts_of(params)):
        desk.bad(
            provider.config.place, "a part of the config is in a file; write it into the config"
        )
    extra = config.get("passthrough")
    params |= extra if isinstance(extra, dict) else {}
    if not _REASONING.match(model):
        usual = {"temperature": 0, "max_tokens": 1024}
        added = {
            key: value
            for key, value in usual.items()
            if key not in params and not (key == "max_tokens" and "max_completion_tokens" in params)
        }
        if added:
            desk.note(
                f"{provider.name}: {', '.join(f'{key} {value}' for key, value in added.items())} written out, which promptfoo sends where nothing is said"
            )
        params = {**added, **params}
    url = config.get("apiBaseUrl") or (
        f"https://{config['apiHost']}/v1" if config.get("apiHost") else BASE_URL
    )
    key = (
        f"${{{config['apiKeyEnvar']}}}"
        if config.get("apiKeyEnvar")
        else config.get("apiKey", API_KEY)
    )
    if not re.fullmatch(r"\$\{[A-Za-z_]\w*\}", str(key)):
        desk.bad(
            provider.place,
            "apiKey holds a key itself; name the variable that holds it with apiKeyEnvar",
        )
    content = rendering.prompt(prompt)
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    headers = _headers(desk, provider, config)
    if config.get("organization"):
        headers["openai-organization"] = config["organization"]
    target = {
        "id": "promptfoo", "type": "openai", "base_url": url, "model": model, "api_key": key,
        "messages": messages,
    }  # fmt: skip
    target |= {name: value for name, value in (("params", params), ("headers", headers)) if value}
    return Made(target, became=f"target openai, model {model}")


def _http(desk: Desk, provider: Provider, prompt: Prompt, rendering: Rendering) -> Made | None:
    desk.keys(provider.config, _HTTP, f"the config of {provider.label}", _HTTP_REFUSED)
    config = _config(provider)
    raw = plain(provider.config)
    place = provider.config.place
    url = raw.get("url") or (provider.name if "://" in provider.name else None)
    method = str(config.get("method") or "POST").upper()
    if not isinstance(url, str):
        desk.bad(provider.place, "the provider has no `url`")
        return None
    if method not in _METHODS:
        desk.bad(
            place, f"the method {method} cannot be sent; expected one of {', '.join(_METHODS)}"
        )
    content = rendering.prompt(prompt)
    words = content if isinstance(content, str) else None
    if words is None:
        desk.bad(
            prompt.place,
            "a list of messages inside of the body of an http provider is not converted; write the messages into its `body`",
        )
        words = ""
    if "{{" in _ENV.sub("", url):
        desk.note(
            "variables in the url are percent-encoded here, which promptfoo leaves to the test"
        )
    target: dict[str, Any] = {
        "id": "promptfoo", "type": "http", "url": rendering.text(url, place, "the url", words),
    }  # fmt: skip
    if method != "POST":
        target["method"] = method
    headers = {key.lower(): value for key, value in _headers(desk, provider, config).items()}
    if any("{{" in value for value in headers.values()):
        desk.bad(place, "headers here are the same for every test; take the variable out of them")
    body = raw.get("body")
    if isinstance(body, str):
        try:
            body = parse_json(body)
        except JsonProblem:
            headers.setdefault("content-type", "text/plain")
    if headers:
        target["headers"] = headers
    if method != "GET" and body is None:
        desk.bad(place, "the provider has no `body`, so that the prompt would not be sent")
    elif body is not None:
        target["body"] = rendering.value(body, place, "the body", words)
    desk.note(
        "an answer over http that is no text is judged as the JSON it is, where promptfoo makes a text of it"
    )
    output = _output(desk, provider, config)
    if output:
        target["output"] = output
    return Made(target, became=f"target http, {method}")


def _output(desk: Desk, provider: Provider, config: Mapping[str, Json]) -> str | None:
    written = config.get("transformResponse") or config.get("responseParser")
    if written is None:
        return None
    found = _RESPONSE.fullmatch(str(written).strip())
    node = entry(provider.config, "transformResponse") or entry(provider.config, "responseParser")
    place = provider.place if node is None else node.place
    if found is None:
        desk.bad(
            place,
            f"transformResponse {str(written)[:60]!r} is a program; only a path such as json.choices[0].message.content is converted. Say with --target FILE how the answer is found",
        )
        return None
    return found[1].replace("?.", ".").lstrip(".") or None


def _python(desk: Desk, provider: Provider, prompt: Prompt, out: Path) -> Made | None:
    name = provider.name.removeprefix("python:").removeprefix(FILE)
    name, _, function = name.partition(".py:")
    name = name if name.endswith(".py") else f"{name}.py" if function else name
    if not name.endswith(".py"):
        desk.bad(
            provider.place,
            f"the provider {provider.name[:60]!r} is a program that is not Python; wrap it in a target of type command and give it with --target FILE",
        )
        return None
    if not desk.found(FILE + name, provider.place):
        return None
    settings = {"file": name, "function": function or "call_api"}
    return _adapter(desk, provider, prompt, out, "script", settings)


def _adapter(
    desk: Desk, provider: Provider, prompt: Prompt, out: Path, way: str, more: Mapping[str, Json]
) -> Made:
    config = plain(provider.config)
    home = Path(os.path.relpath(desk.base.absolute(), out.absolute())).as_posix()
    settings = {
        "home": home, "provider": provider.name, "label": prompt.label, "config": config,
        "prompt": prompt.content, **more,
    }  # fmt: skip
    if way != "echo":
        desk.note(
            f"{provider.name}: the program of the provider stays where it is, in {home} seen from the suite"
        )
    files = {
        f"{MODULE}.py": template("target.py"),
        f"{MODULE}.json": dump_document(settings),
    }
    target: dict[str, Any] = {
        "id": "promptfoo", "type": "python", "function": f"{MODULE}:{way}", "output": "output",
        "usage": {"tokens": "tokens", "cost_usd": "cost"},
    }  # fmt: skip
    return Made(target, files, f"target python, {MODULE}:{way}")
