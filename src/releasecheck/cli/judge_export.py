"""`releasecheck judge export`."""

from __future__ import annotations

from pathlib import Path

import click

from releasecheck.cli.options import EXISTING


@click.command("export", short_help="Write out answers that await scores.")
@click.argument("out", type=EXISTING)
@click.argument("judge")
@click.option(
    "--to", "to", type=click.Path(dir_okay=False, path_type=Path), help="A new file; else stdout."
)
@click.option("--all", "everything", is_flag=True, help="What is scored already, too.")
def command(*, out: Path, judge: str, to: Path | None, everything: bool) -> int:
    """Write out the answers that a judge owes scores for, as lines that a precomputed judge reads.

    Fill in `value` (and `explanation`), and `releasecheck resume` takes them.
    """
    import sys

    from releasecheck.cli.output import note
    from releasecheck.errors import UsageError
    from releasecheck.pipeline.files import write_whole
    from releasecheck.pipeline.handing_out import hand_out

    lines = hand_out(out, judge, everything=everything)
    if to is None:
        sys.stdout.flush()
        sys.stdout.buffer.writelines(lines)
        return 0
    if to.exists():
        message = f"{to}: it is there already, perhaps with scores in it; name a new file with --to"
        raise UsageError(message)
    held = list(lines)
    write_whole(to, held)
    note(f"{len(held)} answers to judge in {to}")
    return 0
