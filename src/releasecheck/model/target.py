"""The target of a suite as people write it (contract section 3)."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from releasecheck.model.base import (
    Duration,
    FromList,
    Identifier,
    JsonValue,
    Rate,
    Size,
    Texts,
    Written,
)

SideEffects: TypeAlias = Literal["none", "idempotent", "irreversible"]


class StartSpec(Written):
    """A program that is started before a shard's first case and stopped after its last."""

    run: Texts
    """Argument list, never a shell."""
    ready: str | None = None
    """Path that answers 2xx once it is up; None waits for the port to accept."""
    timeout: Duration = 60.0
    """Seconds until it must be ready."""


class UsagePaths(Written):
    """JMESPath expressions into the whole response."""

    tokens: str | None = None
    """Where the number of tokens stands."""
    cost_usd: str | None = None
    """Where the cost in US dollars stands."""


class TargetBase(Written):
    """What every kind of target takes."""

    id: Identifier = "target"
    """Its name in reports."""
    timeout: Duration = 60.0
    """Seconds for one attempt."""
    concurrency: int = Field(default=4, ge=1, le=512)
    """Calls at once, in the whole run."""
    rate_limit: Rate | None = None
    """Calls per second, in the whole run; None is no limit."""
    retries: int = Field(default=1, ge=0, le=5)
    """More attempts after a transport failure, 429 or 5xx."""
    side_effects: SideEffects = "none"
    """What a call may change; `irreversible` needs --approved-by."""
    output: str | None = None
    """JMESPath into the response; None takes the whole answer."""
    usage: UsagePaths | None = None
    """Where tokens and cost stand; None reads known API shapes."""
    trace_id: str | None = None
    """`header:NAME` or a JMESPath."""
    start: StartSpec | None = None
    """A program to start before and to stop after a shard; None calls what runs already."""


class HttpTarget(TargetBase):
    """One HTTP call per trial."""

    type: Literal["http"]
    """Which kind of target."""
    url: str
    """Where to send each case; `${NAME}` reads the environment."""
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    """GET sends no body."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    body: JsonValue = None
    """JSON with Jinja2 in its texts; None sends `{"input": ...}`."""
    fingerprint: str | None = None
    """`header:NAME` or a JMESPath: where the answer says which model gave it."""


class CommandTarget(TargetBase):
    """One process per trial: the case as JSON on stdin, the answer on stdout."""

    type: Literal["command"]
    """Which kind of target."""
    run: Texts
    """Argument list, never a shell."""
    format: Literal["text", "json"] = "text"
    """How stdout is read; text loses one trailing newline."""
    env: dict[str, str] = {}
    """Added to the environment; `${NAME}` works."""
    memory_limit: Size | None = None
    """Bytes of address space."""


class PythonTarget(TargetBase):
    """A function in the user's own interpreter."""

    type: Literal["python"]
    """Which kind of target."""
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
    """`package.module:function`."""
    interpreter: str = "python"
    """Program that runs the worker; needs nothing of ours installed."""
    env: dict[str, str] = {}
    """Added to the environment; `${NAME}` works."""
    memory_limit: Size | None = None
    """Bytes of address space of the worker."""


class OpenAITarget(TargetBase):
    """Any OpenAI-compatible chat completions API."""

    type: Literal["openai"]
    """Which kind of target."""
    base_url: str
    """Up to and including `/v1`."""
    model: str
    """Name of the model, as the API knows it."""
    messages: (
        Annotated[tuple[dict[str, JsonValue], ...], FromList, Field(min_length=1)]
        | Annotated[str, Field(pattern=r"^\s*\{\{[\s\S]*\}\}\s*$")]
    )
    """With Jinja2 in their texts; or one expression that gives the list, as `"{{ input }}"`."""
    api_key: str | None = None
    """A reference such as `${OPENAI_API_KEY}`."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    params: dict[str, JsonValue] = {}
    """Sent as they are: temperature, max_tokens, seed, ..."""


class PluginTarget(TargetBase):
    """A target that an installed package offers under the entry point group `releasecheck.targets`."""

    type: Literal["plugin"]
    """Which kind of target."""
    plugin: str
    """Name of the entry point."""
    options: dict[str, JsonValue] = {}
    """What the plug-in takes; `${NAME}` reads the environment."""


Target: TypeAlias = Annotated[
    HttpTarget | CommandTarget | PythonTarget | OpenAITarget | PluginTarget,
    Field(discriminator="type"),
]
