"""What a bundle says of itself: manifest, badge, failure, and the list of writes in their order.

Everything here is a value. One place applies the writes: the terminal state first, so that no later failure
can undo it (S0-15, S0-49), and the manifest, which alone says `finalized_at`, last but for the badge (S0-19).
"""

from releasecheck.publish.claim import badge, is_stale, no_claim, short_digest, stale
from releasecheck.publish.failure import build_failure
from releasecheck.publish.manifest import (
    PINNED_SINCE,
    VOUCHED,
    LedgerFacts,
    LedgerFileFacts,
    Origin,
    build_manifest,
    manifest_bytes,
)
from releasecheck.publish.writes import (
    CLOSING,
    OPENING,
    WITHDRAWN,
    Write,
    closing_writes,
    opening_writes,
)

__all__ = [
    "CLOSING",
    "OPENING",
    "PINNED_SINCE",
    "VOUCHED",
    "WITHDRAWN",
    "LedgerFacts",
    "LedgerFileFacts",
    "Origin",
    "Write",
    "badge",
    "build_failure",
    "build_manifest",
    "closing_writes",
    "is_stale",
    "manifest_bytes",
    "no_claim",
    "opening_writes",
    "short_digest",
    "stale",
]
