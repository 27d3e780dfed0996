"""`releasecheck schema`."""

from __future__ import annotations

import click

KINDS = ["config", "case", "plan", "results", "scorecard", "manifest", "failure", "badge"]


@click.command("schema")
@click.argument("kind", type=click.Choice(KINDS))
def command(*, kind: str) -> int:
    """Print the JSON Schema of a document."""
    from releasecheck.cli.output import document
    from releasecheck.schemas import json_schema

    document(json_schema(kind))
    return 0
