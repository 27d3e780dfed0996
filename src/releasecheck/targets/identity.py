"""The files that a target is made of, so that a change in the middle of a run is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from releasecheck.model.target import CommandTarget, PluginTarget, PythonTarget
from releasecheck.transport.sources import argument_files, digests_below, module_files

if TYPE_CHECKING:
    from pathlib import Path

    from releasecheck.model.target import Target


def target_files(spec: Target, root: Path) -> dict[str, str]:
    """Digest by name, relative to the config's folder: a program's arguments, a function's module.

    What these import or call in turn is not looked into; the commit says more where there is one.
    """
    paths = argument_files(spec.start.run, root) if spec.start is not None else []
    if isinstance(spec, CommandTarget):
        paths += argument_files(spec.run, root)
    elif isinstance(spec, PythonTarget):
        paths += module_files(spec.function.partition(":")[0], root)
    elif isinstance(spec, PluginTarget):
        from releasecheck.transport.plugins import TARGETS, plugin_files

        return {**digests_below(paths, root), **plugin_files(TARGETS, spec.plugin)}
    return digests_below(paths, root)
