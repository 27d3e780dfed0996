"""Suites and results of promptfoo as suites of ours: whatever has no equal meaning here is refused by name."""

from releasecheck.importers.promptfoo.config import Choice, import_promptfoo

__all__ = ["Choice", "import_promptfoo"]
