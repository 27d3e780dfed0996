"""A suite as people write it in `releasecheck.yaml` (contract section 3), after merging and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from releasecheck.model.base import (
    Duration,
    Finite,
    FromList,
    Identifier,
    JsonValue,
    Positive,
    Rate,
    Size,
    SuiteName,
    Texts,
    Written,
)

if TYPE_CHECKING:
    from collections.abc import Collection

BUILTIN_METRICS = ("latency_ms", "cost_usd", "tokens", "target_errors")
"""Metrics measured by the runner itself; judges may not take these ids."""
SideEffects: TypeAlias = Literal["none", "idempotent", "irreversible"]
Stat: TypeAlias = Literal["mean", "pass_rate", "min", "max", "p50", "p90", "p95", "p99", "sum"]
PassRule = Annotated[str, Field(pattern=r"^(all|any|majority|[1-9][0-9]*-of-[1-9][0-9]*)$")]


class FieldMap(Written):
    """Where our fields are in foreign rows; a column name, or a dotted path into JSON rows."""

    id: str = "id"
    """Unique name of the case."""
    input: str = "input"
    """What the target gets."""
    expected: str = "expected"
    """What judges compare with."""
    split: str = "split"
    """The part of the dataset a case belongs to."""
    tags: str = "tags"
    """A list, or a text with commas."""
    metadata: str = "metadata"
    """A mapping that templates and judges can see."""


class CaseFiles(Written):
    """Dataset files of one shape."""

    path: str
    """A file or glob, relative to the config file; `.jsonl`, `.json` (array) or `.csv`."""
    split: Identifier = "main"
    """For rows that name none."""
    fields: FieldMap = FieldMap()
    """Where our fields are in their rows."""
    empty_input: Literal["reject", "run"] = "reject"
    """What to do with a row whose input is an empty text."""


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
    url: str
    """Where to send each case; `${NAME}` reads the environment."""
    method: Literal["POST", "PUT", "PATCH", "GET"] = "POST"
    """GET sends no body."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    body: JsonValue = None
    """JSON with Jinja2 in its texts; None sends `{"input": ...}`."""


class CommandTarget(TargetBase):
    """One process per trial: the case as JSON on stdin, the answer on stdout."""

    type: Literal["command"]
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
    base_url: str
    """Up to and including `/v1`."""
    model: str
    """Name of the model, as the API knows it."""
    messages: Annotated[tuple[dict[str, JsonValue], ...], FromList, Field(min_length=1)]
    """With Jinja2 in their texts."""
    api_key: str | None = None
    """A reference such as `${OPENAI_API_KEY}`."""
    headers: dict[str, str] = {}
    """Sent with each call; `${NAME}` reads the environment."""
    params: dict[str, JsonValue] = {}
    """Sent as they are: temperature, max_tokens, seed, ..."""


Target: TypeAlias = Annotated[
    HttpTarget | CommandTarget | PythonTarget | OpenAITarget, Field(discriminator="type")
]

Normalization: TypeAlias = Literal["strip", "casefold", "spaces", "nfc", "punctuation"]
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


class JudgeBase(Written):
    """What every judge takes."""

    id: Identifier
    """Its name in gates and reports; unique in the suite."""
    input: str | None = None
    """JMESPath into the output; judges a part of it."""
    when: When | None = None
    """The cases it applies to; the rest is not applicable. None is all."""
    better: Literal["higher", "lower"] = "higher"
    """Which way is an improvement."""
    pass_at: Finite | None = None
    """The value from which (or, with `better: lower`, up to which) a trial passes."""
    pass_rule: PassRule = "majority"
    """How several trials make a case pass."""


class YesNoJudge(JudgeBase):
    """Answers 1 or 0; passes at 1 unless told otherwise."""

    negate: bool = False
    """Turn yes into no, outside the judge; a failure stays a failure (B32)."""


class ExactJudge(YesNoJudge):
    """The output is the expected value; texts after normalization, other JSON by value."""

    type: Literal["exact"]
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class ContainsJudge(YesNoJudge):
    """The output's text holds the value."""

    type: Literal["contains"]
    value: str | int | float | None = None
    """What to look for; None takes the case's expected (a text, or a list of which all must occur)."""
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class RegexJudge(YesNoJudge):
    """The output's text matches."""

    type: Literal["regex"]
    pattern: str
    """The regular expression."""
    flags: Annotated[tuple[Literal["ignorecase", "multiline", "dotall"], ...], FromList] = ()
    """How it is read."""
    match: Literal["search", "full"] = "search"
    """Anywhere in the text, or the whole text."""
    timeout: Duration = 1.0
    """Seconds for one match; longer is a judge failure (B67)."""


class JsonSchemaJudge(YesNoJudge):
    """The output (a text is parsed first) is valid under the schema."""

    type: Literal["json-schema"]
    schema_: str | bool | dict[str, JsonValue] = Field(alias="schema")
    """A file relative to the config, or the schema itself; frozen into the plan."""


class NumericJudge(YesNoJudge):
    """The output is the expected number, within a tolerance."""

    type: Literal["numeric"]
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
    normalize: Normalizations = ()
    """Applied to both texts, in this order."""


class RankJudge(JudgeBase):
    """Compares a ranked list of ids with the relevant ids (or ids with grades)."""

    type: Literal["recall", "precision", "mrr", "ndcg"]
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
    """Values outside are failures of the judge, never clamped (B58); None is any finite number."""


class CommandJudge(JudgeBase):
    """A process per output: `{case, output, trial}` as JSON on stdin, a number, bool or Score out."""

    type: Literal["command"]
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


Judge: TypeAlias = Annotated[
    ExactJudge
    | ContainsJudge
    | RegexJudge
    | JsonSchemaJudge
    | NumericJudge
    | SimilarityJudge
    | RankJudge
    | PythonJudge
    | CommandJudge,
    Field(discriminator="type"),
]


def has_pass_mark(spec: Judge) -> bool:
    """Whether a value of this judge passes or fails: yes/no judges always, others by `pass_at`."""
    return isinstance(spec, YesNoJudge) or spec.pass_at is not None


def is_yes_no(spec: Judge) -> bool:
    """Whether every value is 1 or 0: of yes/no judges, and of all that is turned round."""
    return isinstance(spec, YesNoJudge) or (
        isinstance(spec, PythonJudge | CommandJudge) and spec.negate
    )


def value_range(spec: Judge) -> tuple[float, float] | None:
    """Lowest and highest value a judge can give; None when only its author knows."""
    if isinstance(spec, PythonJudge | CommandJudge) and not spec.negate:
        return spec.scale
    return 0.0, 1.0


class CaseFilter(Written):
    """A gate's own choice of cases, inside its split."""

    tags: Texts | None = None
    """Cases with any of these tags."""
    ids: Texts | None = None
    """Exactly these cases."""

    @model_validator(mode="after")
    def _says_something(self) -> CaseFilter:
        if self.tags is None and self.ids is None:
            message = "`cases` of a gate needs tags or ids"
            raise ValueError(message)
        return self


class NoRegression(Written):
    """Compare with the baseline over shared cases."""

    max_drop: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """The largest fall of the metric (in the worse direction) that passes; absolute."""
    max_new_failures: Annotated[int, Field(ge=0)] | None = None
    """Cases that passed in the baseline and fail now; None is no bound."""
    decide: Literal["point"] = "point"
    """How; `point` blocks when the drop exceeds `max_drop`."""


class GateSpec(Written):
    """A rule over one metric."""

    id: Identifier
    """Its name in reports; unique in the suite."""
    metric: str
    """A judge's id or a built-in metric."""
    split: Identifier = "all"
    """The part of the dataset it looks at; `all` is every case."""
    cases: CaseFilter | None = None
    """Only these cases of the split; None is all of them."""
    stat: Stat = "mean"
    """The aggregate it looks at."""
    min: Finite | None = None
    """Blocks below this number."""
    max: Finite | None = None
    """Blocks above this number."""
    require: Literal["all"] | None = None
    """Blocks when any of the cases does not pass."""
    no_regression: NoRegression | None = None
    """Blocks when the candidate is worse than the baseline allows."""
    on_target_failure: Literal["refuse", "count_as_fail"] = "refuse"
    """A failed call makes the gate refuse, or counts as the worst value of its judge."""

    @model_validator(mode="after")
    def _one_rule(self) -> GateSpec:
        given = [
            r for r in ("min", "max", "require", "no_regression") if getattr(self, r) is not None
        ]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            message = f"a gate needs exactly one of min, max, require, no_regression; found {found}"
            raise ValueError(message)
        return self


class BaselineRule(Written):
    """Where the baseline is and what to do without one."""

    path: str = "baseline"
    """Folder relative to the config file; `baseline promote` writes it, `plan` reads it."""
    min_overlap: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.9
    """Least part of the baseline's scored cases that must be comparable."""
    on_missing: Literal["refuse", "bootstrap"] = "refuse"
    """Without any baseline: no verdict, or a neutral outcome for a first run."""


class Settle(Written):
    """How long deferred judges are waited for."""

    interval: Duration = 5.0
    """Seconds between two questions to a judge that answers later."""
    deadline: Duration = 300.0
    """Seconds after the last case was sent until which scores are taken."""
    batch: int = Field(default=50, ge=1, le=50)
    """Tickets in one question."""
    grace: Duration = 300.0
    """Seconds after the deadline in which an interrupted run may still ask once."""


class Budget(Written):
    """What a whole run may use; spent, the run stops between batches and says so."""

    cost_usd: Positive | None = None
    """US dollars; None is no limit."""
    time: Duration | None = None
    """Seconds; None is no limit."""


StoreOutputs: TypeAlias = Literal["full", "digest", "none"]


def _not_bool(value: object) -> object:
    if isinstance(value, bool):
        message = "expected a whole number, found true or false"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into a located error
    return value


class Suite(Written):
    """A named release check."""

    version: Annotated[Literal[1], BeforeValidator(_not_bool)]
    """Of this format."""
    suite: SuiteName
    """Name of the release check."""
    cases: Annotated[tuple[CaseFiles, ...], FromList, Field(min_length=1)]
    """Dataset files."""
    expect_cases: int | None = Field(default=None, ge=1)
    """Pin: another number of cases is an error."""
    trials: int = Field(default=1, ge=1, le=1000)
    """Answers sampled for each case."""
    batch: int = Field(default=10, ge=1, le=100_000)
    """Cases between two checkpoints."""
    shards: int | None = Field(default=None, ge=1, le=256)
    """None is one per 100 cases and at most 20."""
    target: Target
    """The system under test."""
    judges: Annotated[tuple[Judge, ...], FromList, Field(min_length=1)]
    """What scores each output."""
    gates: Annotated[tuple[GateSpec, ...], FromList, Field(min_length=1)]
    """The rules that decide."""
    baseline: BaselineRule = BaselineRule()
    """The earlier run to compare with."""
    confidence: Annotated[float, Field(gt=0.5, lt=1, allow_inf_nan=False)] = 0.95
    """Of every interval."""
    settle: Settle = Settle()
    """How long judges that answer later are waited for."""
    store_outputs: StoreOutputs = "full"
    """Keep outputs, only their digests once judged, or neither outputs nor reasons."""
    budget: Budget | None = None
    """What a run may use; None is no limit."""
    expires: Duration = 86_400.0
    """Seconds after which an open run is closed as it is."""


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


def favours_failures(
    gate: GateSpec, better: Literal["higher", "lower"]
) -> Literal["min", "max"] | None:
    """The rule that failed calls, counted as the worst value, would help to hold; None when none.

    What is worst follows the judge's `better`, and a gate may look the other way: every call fails, the
    mean is 0, and 0 is below `max`. By `pass_rate` a failed call is one that does not pass.
    """
    if gate.on_target_failure == "refuse":
        return None
    if gate.max is not None and (gate.stat == "pass_rate" or better == "higher"):
        return "max"
    if gate.min is not None and gate.stat != "pass_rate" and better == "lower":
        return "min"
    return None
