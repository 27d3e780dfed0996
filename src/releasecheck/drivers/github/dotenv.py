"""The secret `env` of the reusable workflow: lines `NAME=value`, each value masked before it is used."""

from __future__ import annotations

import re
from typing import Final

from releasecheck.errors import ConfigError, Problem

_LINE: Final = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_RESERVED: Final = ("GITHUB_", "RUNNER_", "ACTIONS_", "RC_", "INPUT_")


def read_dotenv(text: str) -> dict[str, str]:
    """Names and values; `#` begins a comment line, quotes around a value are taken off.

    Values are never shown: problems are told by line.

    Raises:
        ConfigError: a line is none, or names a variable of the runner.
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            problems.append(Problem("expected NAME=value", path="secret env", line=number))
            continue
        name, value = match[1], match[2].strip()
        if name.upper().startswith(_RESERVED):
            message = f"{name} belongs to the runner; choose another name"
            problems.append(Problem(message, path="secret env", line=number))
            continue
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[name] = value
    if problems:
        raise ConfigError(problems)
    return found
