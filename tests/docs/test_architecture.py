"""docs/architecture.md: its picture is that of the code, and what its paths name exists."""

import ast
import re

from tests.docs.pages import ROOT
from tools.packages import concepts, drawing

PAGE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(r"`(\w+)`\s+\(`([\w/]+\.py)`\)")


def test_the_picture_is_drawn_from_the_imports() -> None:
    """``python tools/packages.py > docs/packages.svg`` draws it anew."""
    assert (ROOT / "docs" / "packages.svg").read_text() == drawing()
    assert {"work", "review", "qualification", "releases"} <= set(concepts("judging"))
    assert "migrations" not in concepts("judging")


def test_every_name_of_the_paths_is_defined_where_it_says() -> None:
    names = NAMED.findall(PAGE.read_text())
    assert len(names) > 30
    assert [(name, path) for name, path in names if name not in _defined(path)] == []


def _defined(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text())
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
