"""`releasecheck init`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from releasecheck.cli.options import FOLDER, json_option

if TYPE_CHECKING:
    from releasecheck.cli.starters import File


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=FOLDER, default=Path())
@click.option(
    "--github", is_flag=True, help="Write workflows for GitHub too; a suite that is there is kept."
)
@json_option
def command(*, folder: Path, github: bool, as_json: bool) -> int:
    """Write a starter suite into DIR (default: here) that runs at once; overwrites nothing."""
    from releasecheck.cli.output import document, say
    from releasecheck.cli.starters import next_steps, suite_files, workflow_files
    from releasecheck.errors import UsageError
    from releasecheck.pipeline.files import write_whole

    config = folder / "releasecheck.yaml"
    kept = github and config.exists()
    files: list[File] = [] if kept else suite_files(folder)
    if github:
        files += workflow_files(folder)
    present = [str(file.path) for file in files if file.path.exists()]
    if present:
        message = (
            f"{', '.join(present)}: already there, and init overwrites nothing; name another folder"
            if not kept
            else f"{', '.join(present)}: already there, and init overwrites nothing; move them away first"
        )
        raise UsageError(message)
    for file in files:
        write_whole(file.path, [file.content])
        if not as_json:
            say(f"wrote {file.path}")
    if as_json:
        wrote = [file.path.as_posix() for file in files]
        document({"config": config.as_posix(), "wrote": wrote, "kept": kept})
        return 0
    if kept:
        say(f"kept {config}")
    say(f"next: releasecheck run {config}")
    if github:
        for line in next_steps(folder):
            say(line)
    return 0
