"""`releasecheck init`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import FOLDER


@click.command("init")
@click.argument("folder", metavar="[DIR]", type=FOLDER, default=Path())
def command(*, folder: Path) -> int:
    """Write a starter suite into DIR (default: here) that runs at once; overwrites nothing."""
    from releasecheck.assets import templates_dir
    from releasecheck.cli.output import say
    from releasecheck.errors import UsageError
    from releasecheck.pipeline.files import write_whole

    starter = templates_dir() / "starter"
    files = sorted(
        path for path in starter.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    targets = [folder / path.relative_to(starter) for path in files]
    present = [str(path) for path in targets if path.exists()]
    if present:
        message = (
            f"{', '.join(present)}: already there, and init overwrites nothing; name another folder"
        )
        raise UsageError(message)
    for source, target in zip(files, targets, strict=True):
        write_whole(target, [source.read_bytes()])
        say(f"wrote {target}")
    say(f"next: releasecheck run {folder / 'releasecheck.yaml'}")
    return 0
