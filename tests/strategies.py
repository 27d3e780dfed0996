"""Hypothesis strategies that several test modules share."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

AWKWARD_TEXTS = [
    "", "1.0", "1e5", ",1.0,", ":-0.0}", "[1e21]", "12345678901234567890", "NaN", "true", "null",
    "\ue000", "\uffff", "\U00010000", "\U0001f600", "e\u0301", "\u00e9", "\x00", "\x1f", "\x7f",
    "\u2028", '"', "\\", "\\ud83d", "/", "\r\n", "\ufeff", "{{ input }}", "${NAME}",
]  # fmt: skip
"""What readers and writers of JSON, CSV and templates have stumbled over."""
AWKWARD_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 1e-4, 9.999e-5, 1e-5, 1e-6, 1e-7, 5e-324, 2.2250738585072014e-308, 1e15,
    1e16, 9007199254740991.0, 9007199254740992.0, 9007199254740993.5, 1e20, 1e21, 1e22, 1e-27,
    1.7976931348623157e308, 333333333.3333332, 4.35, 295147905179352830000.0, 123456789012345680.0,
]  # fmt: skip
MAX_INTEGER = 2**53 - 1

texts = st.one_of(st.text(), st.sampled_from(AWKWARD_TEXTS))
"""Any text a UTF-8 file can hold."""
floats = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(AWKWARD_FLOATS)
)
integers = st.integers(-MAX_INTEGER, MAX_INTEGER)
scalars = st.one_of(st.none(), st.booleans(), integers, floats, texts)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
"""Any value that I-JSON can hold."""
