"""Write the generated pages anew."""

from __future__ import annotations

from tests.reference import GENERATED, ROOT

for name, make in GENERATED.items():
    path = ROOT / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(make())
