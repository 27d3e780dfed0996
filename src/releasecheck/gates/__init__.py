"""From scores and a baseline to outcomes and a verdict (contract section 6).

A gate passes only when it compared what it promised to compare. Every question that can end in a refusal
is asked before the rule, in one fixed order, and the first "no" decides.
"""

from releasecheck.gates.changes import case_changes, flips, incomplete
from releasecheck.gates.outcomes import NEUTRAL, decide, overridden, verdict
from releasecheck.gates.sentinels import sentinel_results, unproven

__all__ = [
    "NEUTRAL",
    "case_changes",
    "decide",
    "flips",
    "incomplete",
    "overridden",
    "sentinel_results",
    "unproven",
    "verdict",
]
