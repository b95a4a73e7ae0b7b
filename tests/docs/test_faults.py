"""docs/faults.md names every test of tests/production/faults, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import ROOT, tables

PAGE = ROOT / "docs" / "faults.md"
FOLDER = ROOT / "tests" / "production" / "faults"
NAMED = re.compile(r"`([\w/]+\.py)::([\w:]+)`")


def names_in(path: Path) -> Iterator[str]:
    """``test_it`` and ``TestClass::test_it`` of one file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ClassDef):
            yield from (f"{node.name}::{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef))


def folder_tests() -> set[tuple[str, str]]:
    tests = ((path, name) for path in FOLDER.rglob("test_*.py") for name in names_in(path))
    return {(str(path.relative_to(ROOT)), name) for path, name in tests if name.rpartition("::")[2].startswith("test_")}


def page_tests() -> list[tuple[str, str]]:
    return NAMED.findall(PAGE.read_text())


def test_every_fault_is_shown_by_a_test_that_exists_and_every_test_by_a_fault() -> None:
    assert folder_tests() == {entry for entry in page_tests() if entry[0].startswith("tests/production/faults/")}
    for path, name in page_tests():
        assert name in set(names_in(ROOT / path)), f"{path}::{name}"


def test_every_row_says_when_what_happens_and_where_it_is_shown() -> None:
    rows = [row for row in tables(PAGE) if row[0] != "fault"]
    assert rows
    for row in rows:
        assert len(row) == 4 and all(row), row
        assert NAMED.search(row[3]), row
