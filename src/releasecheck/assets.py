"""What came with this installation: its version and its templates folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from releasecheck.errors import InfrastructureError

if TYPE_CHECKING:
    from pathlib import Path

# A constant, because asking importlib.metadata costs about 80 ms; a test holds it to pyproject.toml.
VERSION: Final = "0.1.0"


def templates_dir(package: Path | None = None) -> Path:
    """Folder of the templates: inside the package when installed, the root's when editable.

    `package` is the folder of the `releasecheck` package, by default this one.
    """
    from pathlib import Path  # `--version` reads this module and needs no paths

    package = package or Path(__file__).resolve().parent
    packed, checkout = package / "templates", package.parent.parent / "templates"
    if packed.is_dir():
        return packed
    # Somebody's folder may be called templates too: only a checkout of ours has the sources beside it.
    if checkout.is_dir() and (package.parent.parent / "pyproject.toml").is_file():
        return checkout
    message = (
        f"the templates of releasecheck {VERSION} are missing: found neither {packed} (an installed "
        f"package) nor {checkout} (a checkout); install releasecheck again"
    )
    raise InfrastructureError(message)
