"""No module imports itself through others: whoever reads one can read what it stands on first.

Below models_runner, only the numpy part of the library is imported: the web process starts without torch.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = "moment_retrieval"
BELOW = ("core", "accounts", "annotation", "judging", "config")  # all that a web process imports but models_runner
NUMPY_PART = {  # what they may import of the library
    "errors": "what the library raises",
    "records": "moments and judgments",
    "formats": "files of runs and judged moments",
    "metrics": "IoU and NDCG",
    "statistics": "bootstrap, tests, the economy of judging",
    "relevance": "caption proxies",
    "windows": "spans of a video by its length alone",
    "hub": "where a model of sentences is: its names and paths, before anything loads it",
}
IN_FUNCTIONS = {"nltk", "pyarrow", "ir_measures", "huggingface_hub", "tqdm"}  # of the numpy part: where they are needed
PACKAGES = ("config", "core", "accounts", "annotation", "judging", "models_runner", LIBRARY)
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


def within(graph: Graph, starts: Iterable[str]) -> set[str]:
    """Return the modules and all that they import, directly or through others."""
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def test_below_models_runner_only_the_numpy_part_of_the_library_is_imported() -> None:
    graph = graph_of({name: path.read_text() for name, path in modules().items()})
    imports = {
        (name, other)
        for name, others in graph.items()
        for other in others
        if name.partition(".")[0] in BELOW and other.partition(".")[0] == LIBRARY
    }
    assert imports
    assert {pair for pair in imports if pair[1].split(".")[1:2] not in [[name] for name in NUMPY_PART]} == set()


def test_the_numpy_part_of_the_library_imports_numpy_and_the_rest_in_functions() -> None:
    paths = modules()
    graph = graph_of({name: path.read_text() for name, path in paths.items() if name.startswith(LIBRARY)})
    part = within(graph, (name for name in graph if name.split(".")[1:2] in [[name] for name in NUMPY_PART]))
    trees = [ast.parse(paths[name].read_text()) for name in part]
    assert other_packages(node for tree in trees for node in tree.body) == {"numpy"}
    assert other_packages(node for tree in trees for node in ast.walk(tree)) == {"numpy", *IN_FUNCTIONS}


def other_packages(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the packages that the statements among the nodes import, but for the library and Python's own."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {LIBRARY}
