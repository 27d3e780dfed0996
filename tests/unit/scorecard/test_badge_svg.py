"""The badge as a picture: parsable whatever it says, and readable by everybody (B118, P-14)."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from releasecheck.scorecard.badge_svg import COLORS, render_badge_svg
from releasecheck.scorecard.escape import one_line
from tests.unit.scorecard.faults import ALL, LABELS, name_of

SVG = "{http://www.w3.org/2000/svg}"


def parsed(label: str, message: str, color: str = "red") -> ET.Element:
    badge = {"schemaVersion": 1, "label": label, "message": message, "color": color}
    return ET.fromstring(render_badge_svg(badge, "sha256:ab"))  # noqa: S314 - our own


@pytest.mark.parametrize("text", [*LABELS, *ALL[:5]], ids=name_of)
def test_render_badge_svg__parses_back(text: str) -> None:
    found = parsed(text, text)
    shown = one_line(text).strip()
    said = f"{shown}: {shown}" if len(shown) <= 80 else found.attrib["aria-label"]
    assert found.attrib["aria-label"] == said
    assert len(said) <= 162
    assert found.findtext(f"{SVG}title") == said
    tags = {element.tag.removeprefix(SVG) for element in found.iter()}
    assert tags == {"svg", "title", "desc", "metadata", "g", "rect", "path", "text"}
    assert not [key for element in found.iter() for key in element.attrib if key.startswith("on")]


def test_render_badge_svg__says_it_in_words_once() -> None:
    found = parsed("docs-search release check", "pass 2026-09-12", "brightgreen")
    assert found.attrib["role"] == "img"
    group = found.find(f"{SVG}g")
    assert group is not None
    assert group.attrib["aria-hidden"] == "true"
    assert found.findtext(f"{SVG}metadata") == "manifest sha256:ab"
    assert found.attrib["data-manifest"] == "sha256:ab"
    ids = {element.attrib["id"]: element.text for element in found.iter() if "id" in element.attrib}
    named = [ids[name] for name in found.attrib["aria-labelledby"].split()]
    assert named == [
        "docs-search release check: pass 2026-09-12",
        "It rests on the manifest sha256:ab",
    ]


@pytest.mark.parametrize("text", ["i" * 40, "W" * 40, "日" * 40, "e\u0301" * 20, "pass"])
def test_render_badge_svg__is_as_wide_as_its_text(text: str) -> None:
    found = parsed("x", text)
    length = float(found.findall(f".//{SVG}text")[1].attrib["textLength"])
    assert 3 * len(text) <= length <= 13 * len(text) + 1
    assert float(found.attrib["width"]) == pytest.approx(length + 12 + 7.2 + 12)


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", COLORS)
def test_colors__white_text_can_be_read_on_them(name: str) -> None:
    assert 1.05 / (_luminance(COLORS[name]) + 0.05) >= 4.5
