"""docs/ is a whole: every page is in the site's tree, links lead somewhere, messages are the program's own."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml
from typing_extensions import override

from releasecheck import errors
from releasecheck.drivers.github.refusals import WORDS
from releasecheck.stats.intervals import wilson
from releasecheck.stats.paired import mcnemar
from tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^( *)```yml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
ORDER = (
    "Tutorial", "How-to", "Guide", "Explanations", "Reference", "Troubleshooting", "Decisions",
    "Changelog",
)  # fmt: skip


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """The text of a page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def slug(heading: str) -> str:
    """The anchor that GitHub, and the site, make of a heading."""
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {slug(found) for found in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)}


def trees() -> list[tuple[str, list[str]]]:
    """Caption and entries of each toctree of the index."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    found = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    trees = []
    for block in found:
        options = dict(re.findall(r"^:(\w+): ?(.*)$", block, re.MULTILINE))
        lines = [line for line in block.splitlines() if line and not line.startswith(":")]
        trees.append((options["caption"], lines))
    return trees


def test_trees__hold_every_page_once_in_order() -> None:
    assert tuple(caption for caption, _ in trees()) == ORDER
    listed = [
        page
        for _, entries in trees()
        for entry in entries
        for page in sorted(DOCS.glob(f"{entry}.md"))
    ]
    assert sorted(listed) == [page for page in PAGES if page != DOCS / "index.md"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name_of)
def test_links__lead_to_a_file_and_an_anchor(page: Path) -> None:
    broken = []
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if "://" in target:
            continue
        to = (page.parent / target).resolve() if target else page
        if not to.exists():
            broken.append(target)
        elif anchor and anchor not in anchors(to):
            broken.append(f"{target}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_workflow_fragments__are_yaml(page: Path) -> None:
    """B26: what somebody pastes is at least read as it looks."""
    for _, block in BLOCK.findall(page.read_text("utf-8")):
        found = yaml.safe_load(block)
        assert isinstance(found, dict)
        assert None not in found


def whole_workflows() -> Iterator[object]:
    for page in PAGES:
        for indent, block in BLOCK.findall(page.read_text("utf-8")):
            if "\non:" in block and "\njobs:" in block and not indent:
                yield pytest.param(block, id=f"{name_of(page)}-{slug(block[6:40])}")


@pytest.mark.parametrize("block", list(whole_workflows()))
def test_whole_workflows__pass_actionlint(block: str, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yml"
    file.write_text(block, encoding="utf-8")
    # Versions that github.com has retired are the newest that an Enterprise Server can run.
    done = subprocess.run(
        [Path(sys.executable).parent / "actionlint", "-no-color", "-shellcheck=", "-pyflakes=",
         "-ignore", "is retired on GitHub.com|is deprecated in GitHub Actions", str(file)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout + done.stderr == ""


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Every text of a module; `\\0` stands for what is filled in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
            yield "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def said() -> str:
    """All texts of the program and of the action's scripts, one on each line."""
    texts = [
        " ".join(text.split("\n"))
        for file in sorted((ROOT / "src/releasecheck").rglob("*.py"))
        for text in texts_of(ast.parse(file.read_text(encoding="utf-8")))
    ]
    for script in sorted((ROOT / "action").glob("*.sh")):
        texts += re.sub(r"\$\{?\w+(:-)?\}?", "\0", script.read_text("utf-8")).splitlines()
    return "\n".join(texts)


MESSAGES = re.findall(r'^### "(.+)"$', prose(DOCS / "troubleshooting.md"), re.MULTILINE)


def test_troubleshooting__quotes_what_the_program_says() -> None:
    """A message that is reworded, or gone, is to be changed on the page too."""
    texts = said()

    def gone(message: str) -> bool:
        parts = map(re.escape, filter(None, message.split("...")))
        return re.search("[^\n]*".join(parts), texts) is None

    assert [message for message in MESSAGES if gone(message)] == []


def test_troubleshooting__has_many_messages_each_once() -> None:
    assert len(MESSAGES) > 100
    assert len(set(MESSAGES)) == len(MESSAGES)


def test_troubleshooting__names_every_class_of_errors_and_every_refusal() -> None:
    text = prose(DOCS / "troubleshooting.md")
    codes = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE))
    classes = {
        name: str(found.exit_code)
        for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.ReleaseCheckError)
    }
    assert codes == {name: code for name, code in classes.items() if name != "ReleaseCheckError"}
    table = text.partition("## Why `auto` refused a run\n")[2].partition("\n### ")[0]
    cells = ", ".join(re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)).split(", ")
    assert set(WORDS.values()) - set(cells) == set()


def test_architecture__names_every_room() -> None:
    """A package that is added gets its sentence for contributors."""
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rooms = {
        path.stem
        for path in (ROOT / "src/releasecheck").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {room for room in rooms - {"__init__"} if f"`{room}`" not in text} == set()


def test_statistics__numbers_of_the_page_are_right() -> None:
    text = (DOCS / "explanation/statistics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \|", text, re.MULTILINE)
    assert len(rows) == 4
    for failures, passes, p in rows:
        exact = mcnemar(int(failures), int(passes))
        assert f"{exact:.2g}" == f"{float(p):.2g}"
    assert "`0.95 (0.86 to 0.98)` for 57 of 60" in text
    assert [round(end, 2) for end in wilson(57, 60, 0.95) or ()] == [0.86, 0.98]
    assert [round(end, 2) for end in wilson(60, 60, 0.95) or ()] == [0.94, 1.0]


class Loads(HTMLParser):
    """Addresses that a page loads by itself; those that a reader may follow are none."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"src", "srcset", "poster", "data"} or (tag == "link" and name == "href"):
                self.found.append(value or "")


def build(builder: str, out: Path) -> None:
    """As `make docs` does it, into a folder of the test."""
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going",
         "--nitpicky", "-b", builder, "-d", out / "doctrees", DOCS, out / "html"],
        capture_output=True, text=True, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(180)
def test_site__is_read_without_a_warning(tmp_path: Path) -> None:
    """Everything but the writing of pages: syntax, trees, links and anchors."""
    build("dummy", tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_site__loads_nothing_remote(tmp_path: Path) -> None:
    build("html", tmp_path)
    site = tmp_path / "html"
    for page in PAGES:
        assert (site / page.relative_to(DOCS).with_suffix(".html")).exists()
    for built in site.rglob("*.html"):
        parser = Loads()
        parser.feed(built.read_text(encoding="utf-8"))
        assert [one for one in parser.found if re.match(r"(https?:)?//", one)] == [], built
    for style in site.rglob("*.css"):
        loaded = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", style.read_text("utf-8"))
        assert [one for one in loaded if re.match(r"(https?:)?//", one)] == [], style
