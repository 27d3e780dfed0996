"""The judges of a suite as people write them (contract section 3), and what their values mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from releasecheck.model.base import (
    Duration,
    Finite,
    FromList,
    Identifier,
    JsonValue,
    Texts,
    Written,
)

if TYPE_CHECKING:
    from collections.abc import Collection

PassRule = Annotated[str, Field(pattern=r"^(all|any|majority|[1-9][0-9]*-of-[1-9][0-9]*)$")]

Normalization: TypeAlias = Literal["strip", "casefold", "lower", "spaces", "nfc", "punctuation"]

Normalizations = Annotated[tuple[Normalization, ...], FromList]


class When(Written):
    """Which cases a judge applies to; the rest is not applicable."""

    tags: Texts | None = None
    """Cases with any of these tags."""
    split: Identifier | None = None
    """Cases of this split."""
    has: Literal["expected"] | None = None
    """Cases that name it."""

    @model_validator(mode="after")
    def _says_something(self) -> When:
        if self.tags is None and self.split is None and self.has is None:
            message = "`when` needs one of tags, split or has"
            raise ValueError(message)
        return self

    def admits(self, tags: Collection[str], split: str, *, has_expected: bool) -> bool:
        """Whether a case with these tags, in this split, is one of those that are meant."""
        return (
            (self.tags is None or not frozenset(self.tags).isdisjoint(tags))
            and self.split in {None, "all", split}
            and (self.has is None or has_expected)
        )


class Sentinel(Written):
    """An answer whose score is known beforehand: it holds the judge itself to account."""

    id: Identifier | None = None
    """Its name in reports; None is `sentinel-1`, `sentinel-2`, ... in their order."""
    output: JsonValue
    """What the judge is shown as the answer."""
    input: JsonValue = None
    """Of the case that it is shown with."""
    expected: JsonValue = None
    """Of that case."""
    metadata: dict[str, JsonValue] = {}
    """Of that case."""
    expect: Literal["pass", "fail"] | None = None
    """On which side of `pass_at` its score must lie."""
    min: Finite | None = None
    """The lowest score that is right."""
    max: Finite | None = None
    """The highest score that is right."""

    @model_validator(mode="after")
    def _knows_its_score(self) -> Sentinel:
        if self.output is None:
            message = "a sentinel needs an `output`"
            raise ValueError(message)
        if self.expect is None and self.min is None and self.max is None:
            message = "a sentinel needs `expect: pass` or `expect: fail`, or `min` or `max`"
            raise ValueError(message)
        if self.min is not None and self.max is not None and self.min > self.max:
            message = f"no score is at least {self.min:g} and at most {self.max:g}"
            raise ValueError(message)
        return self


class JudgeBase(Written):
    """What every judge takes."""

    id: Identifier
    """Its name in gates and reports; unique in the suite."""
    input: str | None = None
    """JMESPath into the output; judges a part of it."""
    expected: str | None = None
    """JMESPath into the case's `expected`; the judge sees that part, and a case without it names none."""
    when: When | None = None
    """The cases it applies to; the rest is not applicable. None is all."""
    better: Literal["higher", "lower"] = "higher"
    """Which way is an improvement."""
    pass_at: Finite | None = None
    """The value from which (or, with `better: lower`, up to which) a trial passes."""
    pass_rule: PassRule = "majority"
    """How several trials make a case pass."""
    sentinels: Annotated[tuple[Sentinel, ...], FromList] = ()
    """Answers with a known score that every shard shows the judge; a judge that misses one decides nothing."""


class YesNoJudge(JudgeBase):
    """Answers 1 or 0; passes at 1 unless told otherwise."""

    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure."""


class ExactJudge(YesNoJudge):
    """The output is the expected value; texts after normalization, other JSON by value."""

    type: Literal["exact"]
    """Which kind of judge."""
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class ContainsJudge(YesNoJudge):
    """The output's text holds the value."""

    type: Literal["contains"]
    """Which kind of judge."""
    value: str | int | float | None = None
    """What to look for; None takes the case's expected (a text, or a list of which all must occur)."""
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class RegexJudge(YesNoJudge):
    """The output's text matches."""

    type: Literal["regex"]
    """Which kind of judge."""
    pattern: str
    """The regular expression."""
    flags: Annotated[tuple[Literal["ignorecase", "multiline", "dotall"], ...], FromList] = ()
    """How it is read."""
    match: Literal["search", "full"] = "search"
    """Anywhere in the text, or the whole text."""
    timeout: Duration = 1.0
    """Seconds for one match; longer is a judge failure."""


class JsonSchemaJudge(YesNoJudge):
    """The output (a text is parsed first) is valid under the schema."""

    type: Literal["json-schema"]
    """Which kind of judge."""
    schema_: str | bool | dict[str, JsonValue] = Field(alias="schema")
    """A file relative to the config, or the schema itself; frozen into the plan."""


class NumericJudge(YesNoJudge):
    """The output is the expected number, within a tolerance."""

    type: Literal["numeric"]
    """Which kind of judge."""
    tolerance: (
        Annotated[float, Field(ge=0, allow_inf_nan=False)]
        | Annotated[str, Field(pattern=r"^\d+(\.\d+)?%$")]
    ) = 0.0
    """Absolute, or relative to the expected number as `0.1%`; the edge passes."""
    extract: bool = False
    """Look for the one number in prose; none or several are failures, not mismatches."""


class SimilarityJudge(JudgeBase):
    """Ratio in [0, 1] of the edits that keep the text."""

    type: Literal["similarity"]
    """Which kind of judge."""
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class RankJudge(JudgeBase):
    """Compares a ranked list of ids with the relevant ids (or ids with grades)."""

    type: Literal["recall", "precision", "mrr", "ndcg"]
    """Which measure."""
    k: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Depth of the list that counts; None is the whole list."""


def _ascending(value: tuple[float, float]) -> tuple[float, float]:
    if not value[0] < value[1]:
        message = f"expected the lowest and the highest value, found [{value[0]:g}, {value[1]:g}]"
        raise ValueError(message)
    return value


Scale = Annotated[tuple[Finite, Finite], FromList, AfterValidator(_ascending)]
"""Lowest and highest value, both possible."""


class PythonJudge(JudgeBase):
    """A function in the user's own interpreter; a number, bool or Score out."""

    type: Literal["python"]
    """Which kind of judge."""
    function: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$")]
    """`package.module:function`."""
    interpreter: str = "python"
    """Program that runs the worker; needs nothing of ours installed."""
    env: dict[str, str] = {}
    """Added to the environment; `${NAME}` works."""
    timeout: Duration = 60.0
    """Seconds for one output."""
    concurrency: int = Field(default=4, ge=1, le=512)
    """Outputs judged at once, in the whole run."""
    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure."""
    scale: Scale | None = None
    """Values outside are failures of the judge, never clamped; None is any finite number."""


class CommandJudge(JudgeBase):
    """A process per output: `{case, output, trial}` as JSON on stdin, a number, bool or Score out."""

    type: Literal["command"]
    """Which kind of judge."""
    run: Texts
    """Argument list, never a shell."""
    env: dict[str, str] = {}
    """Added to the environment; `${NAME}` works."""
    timeout: Duration = 60.0
    """Seconds for one output."""
    concurrency: int = Field(default=4, ge=1, le=512)
    """Outputs judged at once, in the whole run."""
    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure."""
    scale: Scale | None = None
    """As in a python judge."""


class DeferringJudge(JudgeBase):
    """A judge over the network, which may answer later; what is None is as `settle` says."""

    timeout: Duration = 60.0
    """Seconds for one call."""
    concurrency: int = Field(default=4, ge=1, le=512)
    """Calls at once, in the whole run."""
    interval: Duration | None = None
    """Seconds between two questions for scores that are still to come."""
    deadline: Duration | None = None
    """Seconds after the last case was sent until which scores are taken."""
    batch: int | None = Field(default=None, ge=1, le=50)
    """Tickets in one question."""


class HttpJudge(DeferringJudge):
    """An evaluator@2 service: answers at once, or later under a ticket (docs/evaluator-protocol.md)."""

    type: Literal["http"]
    """Which kind of judge."""
    url: str
    """Where outputs are sent; `/collect` and `/traces` are below it."""
    rejudge: bool = False
    """Whether the next attempt judges an output anew whose ticket the judge no longer knows (`ticket_expired`)."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure."""
    scale: Scale | None = None
    """Values outside are failures of the judge, never clamped; None is any finite number."""


class LangfuseJudge(DeferringJudge):
    """Sends each output as a trace to Langfuse and takes the score that an evaluator there gives it."""

    type: Literal["langfuse"]
    """Which kind of judge."""
    score: str
    """Name of the score."""
    base_url: str = "${LANGFUSE_BASE_URL:-https://cloud.langfuse.com}"
    """Of the installation."""
    public_key: str = "${LANGFUSE_PUBLIC_KEY}"
    """A reference to the project's public key."""
    secret_key: str = "${LANGFUSE_SECRET_KEY}"
    """A reference to the project's secret key."""
    source: Literal["API", "EVAL", "ANNOTATION"] | None = None
    """Who must have given it; None takes the only one there is, and several that differ are a failure."""
    environment: str | None = None
    """Langfuse environment of the traces; None is the default one."""
    trace_name: str = "releasecheck"
    """Name of the traces, which evaluators there can filter by."""
    values: dict[str, Finite] = {}
    """Values of a categorical score: `{good: 1, bad: 0}`."""
    scale: Scale | None = None
    """Values outside are failures of the judge, never clamped; None is any finite number."""


class Rubric(Written):
    """What an `llm` judge is told, frozen into the plan."""

    name: str
    """Of the shipped rubric, or of the file it was written in."""
    text: Annotated[str, Field(pattern=r"\S")]
    """The whole rubric. No template: the case is sent beside it, fenced off. `$${` stands for `${`."""
    needs: Annotated[tuple[Literal["expected", "contexts"], ...], FromList] = ()
    """What a case must have to be judged by it."""


class LlmJudge(DeferringJudge):
    """A model behind any OpenAI-compatible chat API reads a rubric and gives a score."""

    type: Literal["llm"]
    """Which kind of judge."""
    base_url: str
    """Up to and including `/v1`."""
    model: str
    """Name of the model, as the API knows it."""
    rubric: str | Rubric
    """A shipped rubric (`correctness`, ...), or a file relative to the config; frozen into the plan."""
    api_key: str | None = None
    """A reference such as `${OPENAI_API_KEY}`."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    params: dict[str, JsonValue] = {}
    """Sent as they are: max_tokens, reasoning_effort, ...; an option that is null is left out."""
    scale: Scale = (0.0, 1.0)
    """What the model is asked for; the score is where the answer lies on it, from 0 to 1."""
    contexts: str | None = None
    """JMESPath over `{output, metadata, expected, input}` to the passages that the answer rests on."""
    votes: int = Field(default=1, ge=1, le=25)
    """Answers sampled for one score."""
    combine: Literal["mean", "majority", "median"] = "mean"
    """How several votes make one score; without a majority there is none."""
    seed: int | None = 7
    """Sent with every call where the API takes one, plus the number of the vote; None sends none."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] | None = 0.0
    """Sent with every call; None sends none."""
    answer_format: Literal["json_schema", "json_object", "text"] = "json_schema"
    """How the API is asked for structured answers."""
    mode: Literal["direct", "batch"] = "direct"
    """One call for each vote, or all votes of a shard as one batch job of the provider, collected later."""


class PrecomputedJudge(JudgeBase):
    """Scores that people or other tools gave, read from a file."""

    type: Literal["precomputed"]
    """Which kind of judge."""
    path: str
    """A JSONL file relative to the config: `id`, `value`, and `trial` or `epoch`, `explanation`, `output_digest`."""
    wait: bool = False
    """Whether scores that are not there yet are waited for; otherwise they are failures."""
    interval: Duration | None = None
    """Seconds between two looks into the file."""
    deadline: Duration | None = None
    """Seconds after the last case was sent until which scores are taken."""
    scale: Scale | None = None
    """Values outside are failures of the judge, never clamped; None is any finite number."""


class PluginJudge(DeferringJudge):
    """A judge that an installed package offers under the entry point group `releasecheck.judges`."""

    type: Literal["plugin"]
    """Which kind of judge."""
    plugin: str
    """Name of the entry point."""
    options: dict[str, JsonValue] = {}
    """What the plug-in takes; `${NAME}` reads the environment."""
    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure."""
    scale: Scale | None = None
    """Values outside are failures of the judge, never clamped; None is any finite number."""


Judge: TypeAlias = Annotated[
    ExactJudge
    | ContainsJudge
    | RegexJudge
    | JsonSchemaJudge
    | NumericJudge
    | SimilarityJudge
    | RankJudge
    | PythonJudge
    | CommandJudge
    | HttpJudge
    | LangfuseJudge
    | LlmJudge
    | PrecomputedJudge
    | PluginJudge,
    Field(discriminator="type"),
]

OthersJudge: TypeAlias = PythonJudge | CommandJudge | HttpJudge | PluginJudge
"""Judges written by others, who alone know their scale and can be turned round."""
LimitedJudge: TypeAlias = PythonJudge | CommandJudge | DeferringJudge
"""Judges that say how many outputs they judge at once."""


def has_pass_mark(spec: Judge) -> bool:
    """Whether a value of this judge passes or fails: yes/no judges always, others by `pass_at`."""
    return isinstance(spec, YesNoJudge) or spec.pass_at is not None


def is_yes_no(spec: Judge) -> bool:
    """Whether every value is 1 or 0: of yes/no judges, and of all that is turned round."""
    return isinstance(spec, YesNoJudge) or (isinstance(spec, OthersJudge) and spec.negate)


def value_range(spec: Judge) -> tuple[float, float] | None:
    """Lowest and highest value a judge can give; None when only its author knows."""
    if isinstance(spec, OthersJudge) and not spec.negate:
        return spec.scale
    if isinstance(spec, LangfuseJudge | PrecomputedJudge):
        return spec.scale
    return 0.0, 1.0


def metric_range(metric: str, spec: Judge | None) -> tuple[float, float] | None:
    """The same of any metric; a built-in one has no judge, and amounts (ms, USD, tokens) have no upper end."""
    if spec is not None:
        return value_range(spec)
    return 0.0, 1.0 if metric == "target_errors" else math.inf


def sentinel_ids(spec: JudgeBase) -> tuple[str, ...]:
    """The name of each sentinel of a judge, in their order."""
    return tuple(one.id or f"sentinel-{n}" for n, one in enumerate(spec.sentinels, start=1))


def sentinel_held(spec: JudgeBase, sentinel: Sentinel, value: float) -> bool:
    """Whether a judge gave a sentinel a score that is right."""
    if sentinel.min is not None and value < sentinel.min:
        return False
    if sentinel.max is not None and value > sentinel.max:
        return False
    if sentinel.expect is None:
        return True
    return value_passes(spec, value) is (sentinel.expect == "pass")


def pass_mark(spec: JudgeBase) -> float | None:
    """The value that passes: as written, else 1.0 for yes/no judges, else none."""
    if spec.pass_at is not None:
        return spec.pass_at
    return 1.0 if isinstance(spec, YesNoJudge) else None


def value_passes(spec: JudgeBase, value: float) -> bool | None:
    """Whether one measured value passes; None for a judge without a pass mark."""
    mark = pass_mark(spec)
    if mark is None:
        return None
    return value >= mark if spec.better == "higher" else value <= mark
