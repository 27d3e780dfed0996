"""`badge.json`: the one-line claim that a bundle supports (S2-61, G-23, P-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.canonical import digest_bytes
from releasecheck.errors import Untrusted
from releasecheck.publish.manifest import manifest_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from releasecheck.canonical import Json
    from releasecheck.model.scorecard import Manifest, Outcome, Scorecard

_CLAIMS: Final[dict[Outcome, tuple[str, str]]] = {
    "pass": ("pass", "brightgreen"),
    "bootstrap": ("no baseline yet", "blue"),
    "not_selected": ("no verdict", "yellow"),
    "not_comparable": ("not comparable", "yellow"),
    "blocked_missing": ("no verdict", "orange"),
    "block": ("blocked", "red"),
}
NOTHING_CLAIMED: Final = "lightgrey"
"""The colour of a badge that claims nothing, or nothing any more."""
_STALE: Final = "stale, was "
_SHORT: Final = 8
"""Digits of a digest that tell manifests apart for a reader; the picture holds all of them."""


def badge(
    manifest: Manifest, scorecard: Scorecard, manifest_digest: str | None = None
) -> dict[str, Json]:
    """A shields endpoint for the one claim that a bundle supports (S2-61, G-23, P-14).

    Only a finalized, full run that was not made on somebody's own machine claims anything, and says for
    which commit and when, and which manifest backs it. Every other bundle gets a grey badge that claims
    nothing.

    Args:
        manifest: Of the bundle.
        scorecard: Of the bundle.
        manifest_digest: Of the file's bytes; None: as this version writes them.

    Raises:
        Untrusted: manifest and scorecard are not of one decision.
    """
    said = manifest.decision.get("verdict")
    if (manifest.run_id, said) != (scorecard.run_id, scorecard.verdict):
        message = (
            f"the manifest says {said!r} for run {manifest.run_id}, and the scorecard "
            f"{scorecard.verdict!r} for run {scorecard.run_id}; no badge follows from that"
        )
        raise Untrusted(message)
    label = f"{scorecard.suite} release check"
    nothing = no_claim(manifest, scorecard)
    if nothing is not None or scorecard.verdict is None:
        return _endpoint(label, nothing or "waiting for scores", NOTHING_CLAIMED, error=False)
    word, color = _CLAIMS[scorecard.verdict]
    if scorecard.quarantine:
        word += f", {len({one.case for one in scorecard.quarantine})} quarantined"
    if scorecard.overridden:
        word, color = "blocked, waived", "orange"
    backing = manifest_digest or digest_bytes(manifest_bytes(manifest))
    message = " ".join([word, *_when(manifest), "manifest", short_digest(backing)])
    return _endpoint(label, message, color, error=color != "brightgreen")


def no_claim(manifest: Manifest, scorecard: Scorecard) -> str | None:
    """Why a bundle supports no claim; None when it supports one."""
    if scorecard.verdict is None:
        return "waiting for scores"
    if manifest.finalized_at is None:
        return "not final"
    if manifest.mode != "full" or scorecard.mode != "full":
        return "partial run"
    if scorecard.adopted is not None:
        return "adopted outputs"
    if manifest.provenance != "ci":
        return "local run"
    return None


def stale(endpoint: Mapping[str, Json]) -> dict[str, Json]:
    """A badge whose claim is too old to be believed: grey, and what it said is said to be past (G-23).

    It holds no time of its own, so that it follows from the same manifest as the claim did.
    """
    message = str(endpoint["message"])
    if not is_stale(endpoint):
        message = _STALE + message
    # An error's colour cannot be changed by whoever shows it: no README paints an old pass green.
    return {**endpoint, "message": message, "color": NOTHING_CLAIMED, "isError": True}


def is_stale(endpoint: Mapping[str, Json]) -> bool:
    """Whether a badge says itself that it is too old."""
    return str(endpoint["message"]).startswith(_STALE)


def short_digest(digest: str) -> str:
    """Enough of a digest to tell two manifests apart."""
    return digest.removeprefix("sha256:")[:_SHORT]


def _when(manifest: Manifest) -> Iterator[str]:
    yield (manifest.finalized_at or "")[:10]
    commit = manifest.context.get("commit")
    if isinstance(commit, str) and commit:
        yield commit[:7] + ("-dirty" if manifest.context.get("dirty") else "")


def _endpoint(label: str, message: str, color: str, *, error: bool) -> dict[str, Json]:
    return {
        "schemaVersion": 1,
        "label": label,
        "message": message,
        "color": color,
        # Keeps a reader of the README from painting a badge that is no pass in another colour.
        "isError": error,
        "cacheSeconds": 300,
    }
