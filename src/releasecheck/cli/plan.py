"""`releasecheck plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from releasecheck.cli.options import FOLDER, PlanOptions, json_option, plan_options


@click.command("plan")
@plan_options
@click.option(
    "--out", type=FOLDER, default=Path("plan"), show_default=True, help="The plan folder."
)
@json_option
def command(*, out: Path, as_json: bool, **options: Any) -> int:  # noqa: ANN401 - see PlanOptions
    """Freeze cases, target, judges, gates and baseline into a folder."""
    from releasecheck.cli.output import document, notes, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.pipeline.freezing import make_plan
    from releasecheck.pipeline.preflight import check_parts
    from releasecheck.scorecard.policy import change_lines, policy_words

    world = local_world()
    planned = make_plan(PlanOptions(**options).request(), world, out, check=check_parts)
    plan = planned.plan
    notes(planned.loaded.notes)
    if as_json:
        document(
            {
                "run_id": plan.run_id,
                "plan_digest": plan.plan_digest,
                "shards": len(plan.shards),
                "cases": plan.cases,
                "mode": plan.mode,
                "policy": plan.policy.model_dump(mode="json"),
                "adopted": None if plan.adopted is None else plan.adopted.model_dump(mode="json"),
                "baseline": None if plan.baseline is None else plan.baseline.run_id,
                "path": str(out),
            }
        )
        return 0
    say(f"run id       {plan.run_id}")
    say(f"plan digest  {plan.plan_digest}")
    say(f"shards       {len(plan.shards)}")
    say(f"cases        {plan.cases} ({plan.selection.asked} of {plan.selection.of})")
    if plan.selection.note:
        say(f"note: {plan.selection.note}")
    say(f"policy       {policy_words(plan.policy)}")
    for line in change_lines(plan.policy.changes):
        say(f"change       {line}")
    if plan.adopted is not None:
        say(f"adopted      {plan.adopted.run_id} ({plan.adopted.plan_digest})")
    say(f"baseline     {'none' if plan.baseline is None else plan.baseline.run_id}")
    return 0
