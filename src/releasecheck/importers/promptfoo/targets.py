"""A provider and a prompt to the target of a suite."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from releasecheck.canonical import JsonProblem, dump_document, parse_json
from releasecheck.config.nodes import plain
from releasecheck.importers.promptfoo.grading import API_KEY, BASE_URL, openai_model
from releasecheck.importers.promptfoo.prompts import texts_of
from releasecheck.importers.promptfoo.reading import FILE, entry
from releasecheck.importers.promptfoo.rendering import ENV, Rendering, references
from releasecheck.importers.promptfoo.scripts import template

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from releasecheck.canonical import Json
    from releasecheck.importers.promptfoo.prompts import Prompt
    from releasecheck.importers.promptfoo.providers import Provider
    from releasecheck.importers.promptfoo.reading import Desk
    from releasecheck.importers.promptfoo.tests import Test

MODULE: Final = "promptfoo_target"
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
    if any(ENV.search(text) for text in prompt.texts()):
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


def _config(provider: Provider) -> dict[str, Json]:
    found = references(plain(provider.config))
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
    if "{{" in ENV.sub("", url):
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
