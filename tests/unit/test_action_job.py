"""What every stage of the Action does by itself."""

from __future__ import annotations

import pytest

from releasecheck.cli.action.job import waited


@pytest.mark.parametrize(("seconds", "lines"), [(1.0, 0), (9.9, 0), (10.0, 1), (299.6, 1)])
def test_waited__a_long_wait_is_said(
    capsys: pytest.CaptureFixture[str], seconds: float, lines: int
) -> None:
    slept: list[float] = []
    waited(seconds, slept.append)
    said = capsys.readouterr().out.splitlines()
    assert (slept, len(said)) == ([seconds], lines)
    assert all(f"waiting {seconds:.0f} s" in line for line in said)
