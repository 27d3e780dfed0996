"""Write the golden files anew."""

from __future__ import annotations

from tests.golden import FOLDER, GOLDEN

for name, render in GOLDEN.items():
    (FOLDER / name).write_bytes(render())
