"""`releasecheck import`: suites and logs of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from releasecheck.cli.options import EXISTING, FOLDER, json_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.importers.imported import Imported
    from releasecheck.pipeline.validate import Found

F = TypeVar("F", bound="Callable[..., Any]")
_OPTIONS: Final = (
    click.argument("file", type=EXISTING),
    click.option("--out", type=FOLDER, required=True, help="Folder to write the suite to."),
    click.option("--suite", help="Name of the suite; default: the file's name."),
    click.option(
        "--target",
        type=EXISTING,
        help="YAML file with the `target:` to ask, in place of what the file says.",
    ),
    json_option,
)


def _options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.group("import")
def command() -> None:
    """Convert a suite or a log of another tool; what cannot be converted is refused by name."""


def take(imported: Imported, out: Path, *, as_json: bool) -> int:
    """Write what was converted, see that it validates, and say what became what."""
    from releasecheck.cli.output import document, note, notes, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.errors import UsageError
    from releasecheck.importers.imported import CONFIG
    from releasecheck.pipeline.files import write_whole
    from releasecheck.pipeline.validate import validate
    from releasecheck.stats import count

    present = [name for name in imported.files if (out / name).exists()]
    if present:
        message = f"{out}: {', '.join(present[:5])} there already, and import overwrites nothing; name another folder"
        raise UsageError(message)
    # The config comes last: a folder with one is a suite that is whole.
    for name in sorted(imported.files, key=lambda name: name == CONFIG):
        write_whole(out / name, [imported.files[name]])
    found = validate(out / CONFIG, None, local_world(quiet=True), check_env=False)
    if as_json:
        document(_document(imported, found, out))
        return 0
    notes(found.notes)
    for one in imported.mapped:
        times = f" ({one.times} times)" if one.times > 1 else ""
        say(f"  {one.found}{times} -> {one.became}")
    for text in imported.notes:
        note(f"note: {text}")
    say(f"wrote {out / CONFIG}: {count(found.cases, 'case')}, {count(len(found.judges), 'judge')}")
    if found.variables:
        say(f"set first: {', '.join(found.variables)}")
    say(f"next: releasecheck run {out / CONFIG} --out {out / 'out'}")
    return 0


def _document(imported: Imported, found: Found, out: Path) -> dict[str, Any]:
    return {
        "config": (out / "releasecheck.yaml").as_posix(),
        "files": sorted(imported.files),
        "mapped": [
            {"found": one.found, "became": one.became, "times": one.times}
            for one in imported.mapped
        ],
        "notes": list(imported.notes),
        "suite": found.to_json(),
    }
