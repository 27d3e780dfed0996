"""Where a case or a gate is written, as a URI that other tools find in a checkout."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from releasecheck.canonical import clean_text

if TYPE_CHECKING:
    from releasecheck.canonical import Json
    from releasecheck.model.case import Source
    from releasecheck.model.plan import Plan

ROOT: Final = "%SRCROOT%"
"""Stands for the folder that the plan was made in; in a build that is the root of the checkout."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and a line in it where one is known."""

    uri: str
    inside: bool
    """Below `ROOT`; else the URI is relative to it and leads out of it."""
    line: int | None = None

    def to_json(self) -> dict[str, Json]:
        """The `physicalLocation` of SARIF."""
        file: dict[str, Json] = {"uri": self.uri}
        if self.inside:
            file["uriBaseId"] = ROOT
        found: dict[str, Json] = {"artifactLocation": file}
        if self.line is not None:
            found["region"] = {"startLine": self.line}
        return found


def place_of_case(plan: Plan, source: Source) -> Place:
    """Where a case is written."""
    return _place(plan.root.from_cwd, source.path, source.line if source.line > 0 else None)


def place_of_gates(plan: Plan) -> Place:
    """The config that the gates are written in; the change's own one where theirs is elsewhere."""
    if plan.policy_root is not None:
        theirs = _place(plan.policy_root.from_cwd, plan.policy_root.config)
        if theirs.inside:
            return theirs
    return _place(plan.root.from_cwd, plan.root.config)


def _place(folder: str, path: str, line: int | None = None) -> Place:
    whole = posixpath.normpath(posixpath.join(folder.replace("\\", "/"), path))
    absolute = whole.startswith("/")
    # The name of a file may hold anything; as a URI it must neither name a host or scheme nor break off.
    uri = quote(clean_text(whole.lstrip("/") if absolute else whole), safe="/")
    outside = absolute or whole == ".." or whole.startswith("../")
    return Place(f"file:///{uri}" if absolute else uri, not outside, line)
