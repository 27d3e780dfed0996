"""Whole bundles made in this process: a suite on disk, records written by hand, a real finish."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from releasecheck.canonical import Json, canonical
from releasecheck.ledger.jsonl import JsonlWriter, shard_file_name
from releasecheck.model.plan import GitState
from releasecheck.model.record import FileHeader
from releasecheck.model.scorecard import Scorecard
from releasecheck.pipeline.baselines import promote
from releasecheck.pipeline.finish import FinishRequest, finish
from releasecheck.pipeline.folders import open_plan
from releasecheck.pipeline.freezing import PlanRequest, make_plan
from releasecheck.pipeline.world import World
from tests.builders import no_output, output, score
from tests.fakes import FakeClock, HeardProgress

COMMIT = "c" * 40
GATES: list[dict[str, Json]] = [{"id": "quality", "metric": "exact", "min": 0.75}]


def fake_world(folder: Path, **environment: str) -> World:
    """The outside for a test: time that stands still, and only these variables."""
    return World(
        clock=FakeClock(),
        environment=environment,
        cwd=folder,
        progress=HeardProgress(),
        tool="releasecheck/0.0.0",
    )


@dataclass
class Made:
    """How to make one bundle; a test names only what it is about."""

    cases: Mapping[str, Json] = field(default_factory=lambda: {f"c{n}": "good" for n in range(4)})
    """What the target answers, by case id; `good` passes, None: it failed for good, `...`: no record."""
    gates: list[dict[str, Json]] = field(default_factory=lambda: list(GATES))
    unique: str = "77"
    commit: str | None = COMMIT
    provenance: Literal["local", "ci"] = "ci"
    extra: Mapping[str, Json] = field(default_factory=dict)
    """More keys of the config."""
    preview: int | None = None
    baseline: Path | None = None
    close: bool = False
    edit: Callable[[PlanRequest], PlanRequest] = lambda request: request

    def write(self, folder: Path) -> Path:
        """The bundle, in `folder/out`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._suite(folder)
        world = fake_world(folder)
        request = PlanRequest(
            folder / "releasecheck.yaml",
            shards=1,
            mode=None if self.preview is None else "preview",
            preview=self.preview or 10,
            baseline=self.baseline or "none",
            unique=self.unique,
            git=GitState(commit=self.commit, ref="refs/heads/main") if self.commit else None,
        )
        plan = folder / "plan"
        make_plan(self.edit(request), world, plan, check=lambda *_: None)
        self._record(plan, folder / "results", world)
        out = folder / "out"
        asked = FinishRequest(
            plan, (folder / "results",), out, self.close, provenance=self.provenance
        )
        asyncio.run(finish(asked, world))
        return out

    def _suite(self, folder: Path) -> None:
        rows = [{"id": name, "input": f"ask {name}", "expected": "good"} for name in self.cases]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / "cases").mkdir(exist_ok=True)
        (folder / "cases" / "main.jsonl").write_text(text, "utf-8")
        config: dict[str, Any] = {
            "version": 1,
            "suite": "docs-search",
            "cases": [{"path": "cases/main.jsonl"}],
            "target": {"id": "t", "type": "http", "url": "http://127.0.0.1:9/x"},
            "judges": [{"id": "exact", "type": "exact"}],
            "gates": self.gates,
            **self.extra,
        }
        (folder / "releasecheck.yaml").write_text(json.dumps(config), "utf-8")

    def _record(self, plan: Path, results: Path, world: World) -> None:
        opened = open_plan(plan)
        head = FileHeader(
            opened.plan.run_id,
            opened.plan.plan_digest,
            0,
            1,
            1,
            "2026-01-05T09:00:00.000Z",
            "releasecheck/0.0.0",
        )
        writer = JsonlWriter(results / shard_file_name(0, 1), head, world.clock)
        for case in opened.in_plan_order():
            answer = self.cases[case.id]
            if answer == "...":
                continue
            if answer is None:
                writer.append(no_output(case.id, retryable=False))
                continue
            writer.append(output(case.id, answer))
            value = 1.0 if canonical(answer) == canonical("good") else 0.0
            writer.append(score(case.id, value, of=answer))
        writer.close(None)


def decision(out: Path) -> Scorecard:
    """The scorecard of a bundle."""
    return Scorecard.model_validate_json((out / "scorecard.json").read_bytes())


def baseline_of(folder: Path, **given: Any) -> Path:
    """A promoted run in `folder/baseline`."""
    out = Made(**given).write(folder)
    promote(out, folder / "baseline", accept=None, now="2026-01-05T09:00:00.000Z")
    return folder / "baseline"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
