"""Suites and logs of other tools, converted: one file per format, all giving an `Imported`."""
