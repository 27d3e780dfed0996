"""Logs of Inspect, made by hand where a real one would not do what a test needs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

REAL_EVAL = Path(__file__).with_name("capitals.eval")
REAL_JSON = Path(__file__).with_name("capitals.json")
"""One eval of two questions in two epochs, with three scorers, run by Inspect 0.3.285 over its mock model."""


def sample(id_: object = "a", epoch: int = 1, **changes: Any) -> dict[str, Any]:
    """A sample that was answered and scored."""
    made: dict[str, Any] = {
        "id": id_,
        "epoch": epoch,
        "input": f"question {id_}",
        "target": "yes",
        "output": {
            "choices": [{"message": {"role": "assistant", "content": "yes"}}],
            "completion": "yes",
        },
        "scores": {"match": {"value": "C"}},
    }
    return {key: value for key, value in {**made, **changes}.items() if value is not None}


def log(*samples: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A log that ended well."""
    made: dict[str, Any] = {
        "version": 2,
        "status": "success",
        "eval": {"task": "inspect_evals/demo", "model": "mockllm/model"},
        "results": {"total_samples": len(samples)},
        "samples": list(samples),
    }
    return {**made, **changes}


def json_log(folder: Path, found: object, name: str = "log.json") -> Path:
    """Write one document."""
    path = folder / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def eval_log(folder: Path, found: dict[str, Any], name: str = "log.eval") -> Path:
    """Write the same as a zip file."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for one in found["samples"]:
            packed.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        header = {key: value for key, value in found.items() if key != "samples"}
        packed.writestr("header.json", json.dumps(header))
    return path
