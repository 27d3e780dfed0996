"""`badge.json`: the one-line claim that a bundle supports (S2-61, G-23, P-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.errors import Untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def badge(manifest: Manifest, scorecard: Scorecard) -> dict[str, Json]:
    """A shields endpoint for the one claim that a bundle supports (S2-61, G-23, P-14).

    Only a finalized, full run that was not made on somebody's own machine claims anything, and says for
    which commit and when. Every other bundle gets a grey badge that claims nothing.

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
    nothing = _no_claim(manifest, scorecard)
    if nothing is not None or scorecard.verdict is None:
        return _endpoint(label, nothing or "waiting for scores", "lightgrey", error=False)
    word, color = _CLAIMS[scorecard.verdict]
    if scorecard.quarantine:
        word += f", {len({one.case for one in scorecard.quarantine})} quarantined"
    if scorecard.overridden:
        word, color = "blocked, waived", "orange"
    message = " ".join([word, *_when(manifest)])
    return _endpoint(label, message, color, error=color != "brightgreen")


def _no_claim(manifest: Manifest, scorecard: Scorecard) -> str | None:
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
