"""No module imports itself through others: whoever reads one can read what it stands on first."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("config", "core", "accounts", "annotation", "judging", "models_runner", "moment_retrieval")
Graph = Mapping[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of the packages, by its dotted name."""
    paths = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): ROOT / path for path in paths}


def imported(node: ast.Import | ast.ImportFrom, names: Mapping[str, object]) -> Iterator[str]:
    """The modules that a statement names: of ``from package import name`` the module ``name``, if it is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in names)
        return
    for alias in node.names:
        module = f"{node.module}.{alias.name}"
        yield from (name for name in ([module] if module in names else [node.module or ""]) if name in names)


def graph_of(sources: Mapping[str, str]) -> Graph:
    """Each module with those that it imports, in functions and for type checkers too."""
    statements = {
        name: [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
        for name, source in sources.items()
    }
    return {
        name: {other for node in nodes for other in imported(node, sources)} - {name}
        for name, nodes in statements.items()
    }


def circle(graph: Graph) -> list[str]:
    """The modules of one circle, if there is any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    assert circle(graph_of({name: path.read_text() for name, path in modules().items()})) == []


def test_circles_through_functions_and_type_checking_are_seen() -> None:
    sources = {
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import x",
        "b": "def f():\n    import c",
        "c": "import a",
        "d": "import a",
    }
    assert set(circle(graph_of(sources))) == set("abc")
    assert circle(graph_of(sources | {"b": "x = 1"})) == []
