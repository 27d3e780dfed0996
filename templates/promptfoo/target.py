"""The system under test as promptfoo would call it; written by `releasecheck import promptfoo`.

`SETTINGS` (promptfoo_target.json beside this file) says which provider, its options and the prompt. The
provider's own files stay where they are, at a path relative to this folder. Only the standard library is
needed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SETTINGS: dict[str, Any] = json.loads((HERE / "promptfoo_target.json").read_text(encoding="utf-8"))
HOME = (HERE / SETTINGS["home"]).resolve()
_VARIABLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_STEP = re.compile(r"([A-Za-z_$][\w$]*)|\[(\d+)\]|\[['\"]([^'\"\]]+)['\"]\]")
_FILTERS: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "safe": str,
}
_LOADED: dict[str, Any] = {}


def as_text(value: Any) -> str:
    """A value as promptfoo writes it into a text."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _rendered(template: str, variables: dict[str, Any]) -> str:
    """`{{ name.part | filter }}` filled in, once: what is filled in is data."""

    def fill(found: re.Match[str]) -> str:
        path, *filters = [part.strip() for part in found[1].split("|")]
        value: Any = variables
        for name, number, quoted in _STEP.findall(path):
            value = value[int(number)] if number else value[name or quoted]
        text = as_text(value)
        for name in filters:
            text = _FILTERS[name](text)
        return text

    return _VARIABLE.sub(fill, template)


def _filled(value: Any, variables: dict[str, Any]) -> Any:
    if isinstance(value, str):
        return _rendered(value, variables)
    if isinstance(value, list):
        return [_filled(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, variables) for key, item in value.items()}
    return value


def prompt_of(call: dict[str, Any]) -> str:
    """The prompt for a case: a text, or a list of messages as JSON."""
    around = call["metadata"]
    prompt = SETTINGS["prompt"]
    if isinstance(prompt, str):
        text = _rendered(prompt, call["input"])
    else:
        text = json.dumps(_filled(prompt, call["input"]), ensure_ascii=False, indent=2)
    return f"{around.get('prompt_prefix', '')}{text}{around.get('prompt_suffix', '')}"


def _module() -> Any:
    if "module" not in _LOADED:
        path = HOME / SETTINGS["file"]
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location("promptfoo_provider", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        _LOADED["module"] = module
    return _LOADED["module"]


def echo(call: dict[str, Any]) -> dict[str, Any]:
    """Provider `echo`: the prompt is the answer."""
    return {"output": prompt_of(call)}


def script(call: dict[str, Any]) -> dict[str, Any]:
    """A provider written in Python: calls its function with prompt, options and context."""
    prompt = prompt_of(call)
    raw = SETTINGS["prompt"]
    raw = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    context = {"vars": call["input"], "prompt": {"raw": raw, "label": SETTINGS["label"]}}
    options = {"id": SETTINGS["provider"], "config": SETTINGS["config"]}
    found = getattr(_module(), SETTINGS["function"])(prompt, options, context)
    if inspect.iscoroutine(found):
        found = asyncio.run(found)
    return _answer(found)


def _answer(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        message = f"the provider gave no mapping with `output` or `error`: {found!r}"
        raise TypeError(message)
    if found.get("error"):
        message = f"the provider says: {found['error']}"
        raise RuntimeError(message)
    if found.get("output") is None:
        message = "the provider gave neither `output` nor `error`"
        raise RuntimeError(message)
    answer: dict[str, Any] = {"output": as_text(found["output"])}
    tokens = (found.get("tokenUsage") or found.get("token_usage") or {}).get("total")
    more = {"tokens": tokens, "cost": found.get("cost")}
    answer.update({name: one for name, one in more.items() if isinstance(one, (int, float))})
    return answer


def execute(call: dict[str, Any]) -> dict[str, Any]:
    """Provider `exec:`: a program with prompt, options and context as its last arguments."""
    prompt = prompt_of(call)
    options = json.dumps({"config": SETTINGS["config"]})
    context = json.dumps({"vars": call["input"]}, ensure_ascii=False)
    done = subprocess.run(
        [*shlex.split(SETTINGS["command"]), prompt, options, context],
        cwd=HOME, stdin=subprocess.DEVNULL, capture_output=True, check=False, encoding="utf-8",
    )  # fmt: skip
    if done.returncode != 0:
        message = f"exit code {done.returncode}: {done.stderr[-500:]}"
        raise RuntimeError(message)
    return {"output": done.stdout.strip()}
