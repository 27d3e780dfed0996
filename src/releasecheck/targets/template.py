"""Jinja2 in a target's body and url: compiled once per run, rendered once per case, in a sandbox.

A case's values go in as data and are never looked at as a template (B34). A text that is one expression
gives that expression's value, not its text. Names are `input`, `id`, `tags` and `metadata`; `expected`
is not among them. Nothing in a template may ask for more than a million of anything.

In a url every expression is percent-encoded, so that a case's text stays inside the segment or the
parameter that it was put into; `| raw_url` leaves it as it is.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias
from urllib.parse import quote, unquote, urlsplit

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, Undefined, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from typing_extensions import override

from releasecheck.references import resolve_text

if TYPE_CHECKING:
    from releasecheck.canonical import Json

Names: TypeAlias = Mapping[str, Any]
Render: TypeAlias = Callable[[Names], Any]

VISIBLE: Final = ("input", "id", "tags", "metadata")
MOST: Final = 1_000_000
"""The largest number that may be given to an operator, a filter or a function."""
LONGEST: Final = 16 * 2**20
"""Characters of one rendered text."""
RAW_URL: Final = "raw_url"
"""The filter that puts a text into a url as it is."""
_REFERENCES: Final = "_references"
_WIDTH: Final = re.compile(r"%[^a-zA-Z%]*?(\d{7,}|\*)")


class TemplateProblem(Exception):
    """A template cannot be compiled, or not be rendered for this case."""


def _refuse(what: str) -> NoReturn:
    message = f"{what} asks for more than {MOST} of something"
    raise SecurityError(message)


def _check_numbers(what: str, values: Any) -> None:  # noqa: ANN401 - whatever a template passes
    for value in values:
        if isinstance(value, int | float) and abs(value) > MOST:
            _refuse(what)


class _Sandbox(ImmutableSandboxedEnvironment):
    """No attributes with underscores, no changes to values, no numbers that fill the memory."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def __init__(self, finalize: Callable[[Any], Any] | None = None) -> None:
        super().__init__(
            undefined=StrictUndefined,
            autoescape=False,
            keep_trailing_newline=True,
            cache_size=0,
            finalize=finalize,
        )
        # Names of Jinja's own that make text by themselves, or keep state that can be doubled in a loop.
        for name in ("lipsum", "cycler", "joiner", "namespace"):
            del self.globals[name]
        self.filters = {name: _bounded(name, made) for name, made in self.filters.items()}
        self.filters["tojson"] = _to_json

    @override
    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            self._check_product(left, right)
        elif operator == "**":
            _check_numbers("**", (left, right))
            if isinstance(right, int | float) and abs(right) > 64:
                _refuse("**")
        elif operator == "%" and isinstance(left, str) and _WIDTH.search(left):
            _refuse("%")
        elif operator == "+" and isinstance(left, str | list | tuple):
            _check_numbers("+", (len(left), len(right) if hasattr(right, "__len__") else 0))
        return super().call_binop(context, operator, left, right)

    def _check_product(self, left: Any, right: Any) -> None:  # noqa: ANN401
        for whole, times in ((left, right), (right, left)):
            if isinstance(whole, str | bytes | list | tuple) and isinstance(times, int):
                _check_numbers("*", (len(whole) * times,))

    @override
    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        _check_numbers("a call", (*args, *kwargs.values()))
        # `"{:9999999999}".format(1)`: Jinja wraps the method to check attributes, not widths.
        owner = getattr(getattr(obj, "__wrapped__", obj), "__self__", None)
        if isinstance(owner, str) and getattr(obj, "__name__", "") in ("format", "format_map"):
            _check_numbers("format", (int(digits) for digits in re.findall(r"\d{7,}", owner)))
        return super().call(context, obj, *args, **kwargs)


def _bounded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)  # copies the mark of filters that want the environment
    def bounded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        _check_numbers(f"the filter {name}", (*args[1:], *kwargs.values()))
        return function(*args, **kwargs)

    return bounded


def _to_json(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


class _Encoded(str):
    """A text that goes into a url as it is; whatever is made of it is an ordinary text again."""

    __slots__ = ()


def _percent_encoded(value: Any) -> _Encoded:  # noqa: ANN401 - whatever an expression gives
    return value if isinstance(value, _Encoded) else _Encoded(quote(str(value), safe=""))


class _UrlSandbox(_Sandbox):
    """Percent-encodes what its expressions give."""

    def __init__(self) -> None:
        super().__init__(finalize=_percent_encoded)
        jinjas = self.filters["urlencode"]

        def urlencode(value: Any) -> _Encoded:  # noqa: ANN401
            # Jinja's own leaves slashes, by which a text would choose another path.
            return _percent_encoded(value) if isinstance(value, str) else _Encoded(jinjas(value))

        self.filters |= {"urlencode": urlencode, RAW_URL: _Encoded}


_SANDBOX: Final = _Sandbox()
_URL_SANDBOX: Final = _UrlSandbox()


def compile_value(value: Json, environment: Mapping[str, str]) -> Render:
    """A function that gives `value` with every text in it rendered for one case.

    References to the environment are filled in here; a value from the environment is data too.

    Raises:
        TemplateProblem: naming the text that cannot be compiled.
        EnvironmentMissing: a reference has no value.
    """
    if isinstance(value, str):
        return compile_text(value, environment)
    if isinstance(value, dict):
        parts = {
            resolve_text(k, environment): compile_value(v, environment) for k, v in value.items()
        }
        return lambda names: {key: render(names) for key, render in parts.items()}
    if isinstance(value, list | tuple):
        items = [compile_value(item, environment) for item in value]
        return lambda names: [render(names) for render in items]
    return lambda _: value


def compile_text(text: str, environment: Mapping[str, str]) -> Render:
    """The same for one text."""
    pieces = _pieces(text, _SANDBOX)
    if all(kind == "data" for kind, _ in pieces):
        fixed = resolve_text(text, environment)
        return lambda _: fixed
    expression = _single_expression(pieces)
    if expression is not None:
        return _expression(expression)
    return _text(pieces, environment, _SANDBOX)


def compile_url(text: str, environment: Mapping[str, str]) -> Render:
    """The same for a url, its expressions percent-encoded.

    A case whose text would be a step within the path (`.` or `..`) is a `TemplateProblem`, unless the
    template asks for raw texts.
    """
    render = _text(_pieces(text, _URL_SANDBOX), environment, _URL_SANDBOX)
    filters = _URL_SANDBOX.parse(text).find_all(nodes.Filter)
    if any(used.name == RAW_URL for used in filters):
        return render

    def checked(names: Names) -> str:
        url: str = render(names)
        if any(unquote(part) in (".", "..") for part in urlsplit(url).path.split("/")):
            message = f"template {_shown(text)!r}: this case's text would lead to another path"
            raise TemplateProblem(message)
        return url

    return checked


def undeclared(value: Json) -> list[str]:
    """What is wrong with the templates in a value, without rendering them; one message each."""
    if isinstance(value, dict):
        return [problem for item in value.values() for problem in undeclared(item)]
    if isinstance(value, list | tuple):
        return [problem for item in value for problem in undeclared(item)]
    if not isinstance(value, str):
        return []
    return _wrong_in(value, _SANDBOX, compile_text)


def undeclared_in_url(text: str) -> list[str]:
    """The same for a url."""
    return _wrong_in(text, _URL_SANDBOX, compile_url)


def _wrong_in(
    value: str, sandbox: _Sandbox, compiled: Callable[[str, Mapping[str, str]], Render]
) -> list[str]:
    try:
        pieces = _pieces(value, sandbox)
        found = meta.find_undeclared_variables(sandbox.parse("".join(part for _, part in pieces)))
        compiled(re.sub(r"\$\{[^}]*\}", "", value), {})
    except TemplateProblem as error:
        return [str(error)]
    except TemplateSyntaxError as error:
        return [str(_problem(error, value))]
    wrong = sorted(found - set(VISIBLE) - set(sandbox.globals))
    return [_unknown_name(name) for name in wrong]


def _unknown_name(name: str) -> str:
    why = "the target may not see it" if name == "expected" else "there is no such name"
    return f"`{name}` in a template: {why}; use one of {', '.join(VISIBLE)}"


def _pieces(text: str, sandbox: _Sandbox) -> list[tuple[str, str]]:
    """The text as Jinja's lexer sees it: pairs of (kind, source)."""
    if "{{" not in text and "{%" not in text and "{#" not in text:
        return [("data", text)]
    try:
        return [(kind, source) for _, kind, source in sandbox.lex(text)]
    except TemplateSyntaxError as error:
        raise _problem(error, text) from None


def _single_expression(pieces: list[tuple[str, str]]) -> str | None:
    kinds = [kind for kind, _ in pieces]
    if (
        kinds[0] != "variable_begin"
        or kinds[-1] != "variable_end"
        or kinds.count("variable_begin") > 1
    ):
        return None
    return "".join(source for _, source in pieces[1:-1]).strip()


def _expression(source: str) -> Render:
    if source in VISIBLE:
        return lambda names: names[source]
    try:
        compiled = _SANDBOX.compile_expression(source, undefined_to_none=False)
    except TemplateSyntaxError as error:
        raise _problem(error, source) from None

    def render(names: Names) -> Any:  # noqa: ANN401
        with _named(source):
            return _plain(compiled(**names))

    return render


def _text(
    pieces: list[tuple[str, str]], environment: Mapping[str, str], sandbox: _Sandbox
) -> Render:
    # A reference becomes a variable, so that nothing in its value is taken for a template.
    references: list[str] = []
    source = []
    raw = False
    for kind, part in pieces:
        raw = kind == "raw_begin" or (raw and kind != "raw_end")
        if kind == "data" and "${" in part:
            references.append(_Encoded(resolve_text(part, environment)))
            part = f"{{{{ {_REFERENCES}[{len(references) - 1}] }}}}"  # noqa: PLW2901
            if raw:
                part = f"{{% endraw %}}{part}{{% raw %}}"  # noqa: PLW2901
        source.append(part)
    try:
        template = sandbox.from_string("".join(source))
    except TemplateSyntaxError as error:
        raise _problem(error, "".join(source)) from None
    shown = "".join(part for _, part in pieces)

    def render(names: Names) -> str:
        parts: list[str] = []
        size = 0
        with _named(shown):
            for part in template.generate({**names, _REFERENCES: references}):
                parts.append(part)
                size += len(part)
                if size > LONGEST:
                    _refuse("the text")
        return "".join(parts)

    return render


class _named:  # noqa: N801 - reads as a phrase in `with`
    """Turns whatever a template raises into a `TemplateProblem` that shows the template."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            raise _problem(error, self._source) from None


def _problem(error: Exception, source: str) -> TemplateProblem:
    what = error.message if isinstance(error, TemplateError) and error.message else str(error)
    if isinstance(error, RecursionError | MemoryError):
        what = type(error).__name__
    return TemplateProblem(f"template {_shown(source)!r}: {what}")


def _shown(source: str) -> str:
    return source if len(source) <= 80 else source[:77] + "..."


def _plain(value: Any) -> Json:  # noqa: ANN401
    """What an expression gave, as JSON."""
    if isinstance(value, str):
        return str(value)  # Markup is a kind of str
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Undefined):
        str(value)  # raises, with the name in the message
    message = f"the expression gives {type(value).__name__}, which is not JSON; add `| list`?"
    raise TemplateProblem(message)
