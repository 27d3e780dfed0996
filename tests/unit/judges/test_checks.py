"""What is said before the first call (S0-C5; B31, B32, B58): each kind of judge that cannot work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from releasecheck.errors import ConfigError
from releasecheck.judges import check_judge, spec_problems
from tests.unit.judges.builders import opened, spec_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("type_", "settings", "key", "part"),
    [
        ("regex", {"pattern": "(", "negate": True}, "pattern", "not a regular expression"),  # B32
        ("regex", {"pattern": ""}, "pattern", "checks nothing"),
        ("contains", {"value": ""}, "value", "checks nothing"),
        ("contains", {"value": "...", "normalize": ["punctuation"]}, "value", "checks nothing"),
        ("json-schema", {"schema": {}}, "schema", "checks nothing"),  # B31
        ("json-schema", {"schema": {"type": "strng"}}, "schema", "not a valid JSON Schema"),
        ("json-schema", {"schema": "gone.json"}, "schema", "cannot be read"),
        ("json-schema", {"schema": "broken.json"}, "schema", "not JSON"),
        ("exact", {"input": "a["}, "input", "not a JMESPath"),
        ("recall", {"input": ""}, "input", "not a JMESPath"),
        ("python", {"function": "m:f", "scale": [0, 1], "pass_at": 3}, "pass_at", "outside"),
        ("command", {"run": ["x"], "scale": [1, 5], "pass_at": 0.8}, "pass_at", "outside"),
    ],
)
def test_spec_problems__named(
    tmp_path: Path, type_: str, settings: dict[str, Any], key: str, part: str
) -> None:
    (tmp_path / "broken.json").write_text('{"type": NaN}')
    spec = spec_of(type_, **settings)
    (problem,) = spec_problems(spec, tmp_path)
    assert problem.key == key
    assert part in problem.message
    assert check_judge(spec, tmp_path, {}) == [problem]
    with pytest.raises(ConfigError, match="judge j: "):
        opened(spec, root=tmp_path)


@pytest.mark.parametrize(
    ("type_", "settings"),
    [
        ("exact", {"input": "answer.text"}),
        ("contains", {"value": 0}),  # B26
        ("contains", {}),
        ("regex", {"pattern": "a"}),
        ("json-schema", {"schema": False}),
        ("json-schema", {"schema": "answer.schema.json"}),
        ("numeric", {}),
        ("similarity", {}),
        ("ndcg", {}),
    ],
)
def test_check_judge__that_works(tmp_path: Path, type_: str, settings: dict[str, Any]) -> None:
    (tmp_path / "answer.schema.json").write_text('{"type": "object"}')
    spec = spec_of(type_, **settings)
    assert check_judge(spec, tmp_path, {}) == []
    opened(spec, root=tmp_path)


@pytest.mark.parametrize(
    ("type_", "settings"), [("python", {"function": "m:f"}), ("command", {"run": ["x"]})]
)
def test_check_judge__without_the_folder(type_: str, settings: dict[str, Any]) -> None:
    """Judges that are all spec need no folder; programs and modules do."""
    spec = spec_of(type_, **settings)
    (problem,) = check_judge(spec, None, {})
    assert "not at hand" in problem.message
    with pytest.raises(ConfigError, match="not at hand"):
        opened(spec)
    opened(spec_of("exact"))
    with pytest.raises(ConfigError, match="needs the config's folder"):
        opened(spec_of("json-schema", schema="a.json"))
