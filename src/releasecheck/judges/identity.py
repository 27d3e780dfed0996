"""The files that a judge is made of: part of its identity, so that a changed judge is another judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.canonical import digest
from releasecheck.model.judge import CommandJudge, JsonSchemaJudge, PluginJudge, PythonJudge
from releasecheck.transport.sources import argument_files, digests_below, module_files

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.judge import Judge


def judge_files(spec: Judge, root: Path) -> dict[str, str]:
    """Digest by name, relative to the config's folder with `/`; empty for a judge that is all spec.

    A python judge is its module's file and the `__init__` files above it. A module that is not below
    the folder is known by its name alone, as `installed:NAME`: its version is the interpreter's affair.
    A command judge is every argument that names a file below the folder. A schema that is still a name
    counts too; in a plan it has been replaced by its content. A plug-in is its distribution with the
    version, and the Python files of its package.
    """
    if isinstance(spec, PythonJudge):
        module = spec.function.partition(":")[0]
        files = module_files(module, root)
        return digests_below(files, root) if files else {f"installed:{module}": digest(module)}
    if isinstance(spec, CommandJudge):
        return digests_below(argument_files(spec.run, root), root)
    if isinstance(spec, JsonSchemaJudge) and isinstance(spec.schema_, str):
        return digests_below([root / spec.schema_], root)
    if isinstance(spec, PluginJudge):
        from releasecheck.transport.plugins import JUDGES, plugin_files

        return plugin_files(JUDGES, spec.plugin)
    return {}
