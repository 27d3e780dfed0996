"""What every model shares: frozen, strict about what people write, lenient about newer writers."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from releasecheck.errors import UsageError

IDENTIFIER: Final = r"^[a-z0-9][a-z0-9_-]{0,62}$"
Identifier = Annotated[str, Field(pattern=IDENTIFIER)]
"""Ids of judges, gates, targets and splits; no colon, so that `judge:<id>` can be parsed."""
SuiteName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Fraction01 = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
JsonValue: TypeAlias = Any
"""Any JSON value (checked by the strict reader, not by the model)."""
State: TypeAlias = Literal["scored", "not-applicable", "pending", "failed", "missing"]
Split: TypeAlias = str


class Written(BaseModel):
    """What people write in a config: unknown keys and wrong types are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Document(BaseModel):
    """What this program writes: newer fields of the same major version are ignored on reading."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        defer_build=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )


def require_schema(found: object, kind: str, *, path: str) -> None:
    """Refuse a document of another kind or another major version.

    Raises:
        UsageError: names what was found and what was expected.
    """
    expected = f"releasecheck/{kind}@1"
    if found != expected:
        message = f"{path}: its schema is {str(found)[:80]!r}; this version reads {expected!r}"
        raise UsageError(message)


_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_duration(value: object) -> float:
    """Seconds from `60s`, `1h30m`, `250ms`, `2d` or a number of seconds.

    Raises:
        ValueError: anything else, zero and negative values included.
    """
    seconds: float
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str):
        parts = _DURATION.findall(value)
        if not parts or "".join(number + unit for number, unit in parts) != value.strip():
            message = f"expected a duration such as 60s, 5m or 1h30m, found {value!r}"
            raise ValueError(message)
        seconds = sum(float(number) * _UNIT_S[unit] for number, unit in parts)
    else:
        message = f"expected a duration such as 60s, 5m or 1h30m, found {value!r}"
        raise ValueError(message)  # noqa: TRY004 - pydantic locates ValueErrors
    if not 0 < seconds < 10**9:
        message = f"expected a duration above zero, found {value!r}"
        raise ValueError(message)
    return seconds


def duration_words(seconds: float) -> str:
    """`7d`, `1h30m`, `0.5s`: seconds as a suite would have them written."""
    if seconds != int(seconds) or seconds < 1:
        return f"{seconds:g}s"
    left, words = int(seconds), ""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, left = divmod(left, size)
        words += f"{number}{unit}" if number else ""
    return words


_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|KiB|MiB|GiB)")
_UNIT_BYTES: Final = {
    "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3,
}  # fmt: skip


def parse_size(value: object) -> int:
    """Bytes from `512MB`, `2GiB` or a whole number of bytes.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 0:
        message = f"expected a size such as 512MB or 2GiB, found {value!r}"
        raise ValueError(message)
    return int(float(match[1]) * _UNIT_BYTES[match[2]])


_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*/\s*(s|sec|min|h|hour)")
_RATE_S: Final = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0}


def parse_rate(value: object) -> float:
    """Calls per second from `600/min`, `5/s`, `1000/h`, or a number that already is per second.

    Raises:
        ValueError: anything else.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 10**9:
        return float(value)
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or float(match[1]) <= 0:
        message = f"expected a rate such as 600/min or 5/s, found {value!r}"
        raise ValueError(message)
    return float(match[1]) / _RATE_S[match[2]]


def parse_day(value: object) -> str:
    """A calendar day as `2026-12-31`.

    Raises:
        ValueError: anything else.
    """
    try:
        if isinstance(value, str) and len(value) == len("2026-12-31"):
            return date.fromisoformat(value).isoformat()
    except ValueError:
        pass
    message = f"expected a day such as 2026-12-31, found {value!r}"
    raise ValueError(message)


def _filled(value: str) -> str:
    if not value.strip():
        message = "expected a text, found an empty one"
        raise ValueError(message)
    return value


Day = Annotated[str, BeforeValidator(parse_day)]
"""A calendar day (UTC), written as `2026-12-31`."""
Filled = Annotated[str, AfterValidator(_filled)]
"""A text that is not empty."""
Duration = Annotated[float, BeforeValidator(parse_duration)]
"""Seconds; written as `60s`, `5m`, `1h30m`, or a number of seconds."""
Size = Annotated[int, BeforeValidator(parse_size)]
"""Bytes; written as `512MB` or `2GiB`."""
Rate = Annotated[float, BeforeValidator(parse_rate)]
"""Calls per second; written as `600/min` or `5/s`."""


def _to_tuple(value: object) -> object:
    # JSON and YAML have lists only; strict models would refuse them where a tuple is meant.
    return tuple(value) if isinstance(value, list) else value


def not_empty(value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list without entries."""
    if not value:
        message = "expected at least one entry, found an empty list"
        raise ValueError(message)
    return value


Texts = Annotated[tuple[str, ...], BeforeValidator(_to_tuple), AfterValidator(not_empty)]
"""A list of at least one text."""
FromList = BeforeValidator(_to_tuple)
"""Accept a list where a tuple is stored."""
