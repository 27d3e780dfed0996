"""Judges: one file per kind, `wrap` for what all of them share, `build` to check and open them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from releasecheck.judges.build import check_judge as check_judge
    from releasecheck.judges.build import open_judges as open_judges
    from releasecheck.judges.checks import spec_problems as spec_problems
    from releasecheck.judges.identity import judge_files as judge_files


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the module's own protocol
    """Load the libraries of judges only for who checks or opens one."""
    if name == "judge_files":
        from releasecheck.judges.identity import judge_files

        return judge_files
    if name == "spec_problems":
        from releasecheck.judges.checks import spec_problems

        return spec_problems
    if name in {"check_judge", "open_judges"}:
        from releasecheck.judges import build

        return getattr(build, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
