"""Contents of README and docs/: pages, links, blocks of code and tables."""

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^( *)(<!-- tested -->\n\s*)?```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block; ``tested`` says that the line before it is ``<!-- tested -->``."""

    page: Path
    line: int
    language: str
    text: str
    tested: bool

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def pages() -> tuple[Path, ...]:
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


@cache
def blocks() -> tuple[Block, ...]:
    return tuple(block for page in pages() for block in _blocks_of(page))


def _blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for match in BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        yield Block(page, line, match[3], re.sub(f"^{match[1]}", "", match[4], flags=re.MULTILINE), bool(match[2]))


def example_module(name: str) -> ModuleType:
    """Return the program of this name in docs/examples, imported."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return BLOCK.sub("", page.read_text())


def links(page: Path) -> list[str]:
    """Targets of links and pictures that lead to a file or a place on a page of ours."""
    return [target for target in LINK.findall(prose(page)) if "://" not in target]


def anchors(page: Path) -> set[str]:
    """Return link targets after ``#``: the headings, as the common viewers of Markdown spell them."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(prose(page))}


def tables(page: Path) -> Iterator[list[str]]:
    """The cells of every row of the page's tables."""
    for line in page.read_text().splitlines():
        if line.startswith("|") and not line.startswith("|--"):
            yield [cell.strip() for cell in line.strip("|").split("|")]
