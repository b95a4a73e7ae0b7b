"""No module imports itself through others: whoever reads one can read what it stands on first."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "moment_retrieval"
PACKAGES = ("config", "core", "accounts", "annotation", "judging", "models_runner", LIBRARY)
Graph = Mapping[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of the packages, by its dotted name."""
    paths = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): ROOT / path for path in paths}


def imports_of(tree: ast.Module, *, everywhere: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a module; those in functions and for type checkers only if ``everywhere``."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        is_late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        is_typing = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        if everywhere or not (is_late or is_typing):
            waiting += ast.iter_child_nodes(node)


def imported(node: ast.Import | ast.ImportFrom, names: Mapping[str, object]) -> Iterator[str]:
    """The modules that a statement names: of ``from package import name`` the module ``name``, if it is one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in names)
        return
    for alias in node.names:
        module = f"{node.module}.{alias.name}"
        yield from (name for name in ([module] if module in names else [node.module or ""]) if name in names)


def graph_of(sources: Mapping[str, str], *, everywhere: bool) -> Graph:
    """Each module with those that it imports."""
    trees = {name: ast.parse(source) for name, source in sources.items()}
    return {
        name: {other for node in imports_of(tree, everywhere=everywhere) for other in imported(node, sources)} - {name}
        for name, tree in trees.items()
    }


def circle(graph: Graph) -> list[str]:
    """The modules of one circle, if there is any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("everywhere", [True, False], ids=["the library, all imports", "all packages, module level"])
def test_no_module_imports_itself_through_others(everywhere: bool) -> None:
    names = {name: path.read_text() for name, path in modules().items() if not everywhere or name.startswith(LIBRARY)}
    assert circle(graph_of(names, everywhere=everywhere)) == []


def test_circles_through_functions_and_type_checking_are_seen() -> None:
    sources = {
        "a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from b import x",
        "b": "def f():\n    import c",
        "c": "import a",
        "d": "import a",
    }
    assert set(circle(graph_of(sources, everywhere=True))) == set("abc")
    assert circle(graph_of(sources, everywhere=False)) == []
