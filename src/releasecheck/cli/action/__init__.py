"""`releasecheck action`: one stage of the GitHub Action, as `action.yml` calls it."""

from __future__ import annotations

import click

STAGES = ("plan", "shard", "finish", "publish", "beat")


@click.command("action")
@click.argument("stage", type=click.Choice(STAGES))
def command(*, stage: str) -> int:
    """Carry out one stage of the GitHub Action; its inputs are variables that `action.yml` sets.

    Not meant to be typed: the other commands do the same by hand.
    """
    from importlib import import_module

    from releasecheck.cli.action.job import this_job

    carry_out = import_module(f"releasecheck.cli.action.{stage}").carry_out
    return int(carry_out(this_job(stage)))
