"""Modules that are written into imported suites, where they run under the user's own interpreter.

Standard library only and Python 3.8 syntax, like the worker that calls them: nothing of releasecheck
need be installed there. What these files say decides scores, so a change here changes judges' digests.
"""
