"""Fill the ledger of mutations up to 15 an area, drawn by seed with cosmic-ray's operators.

``python -m tools.mutations.draw`` keeps the ledger's entries; with an empty ledger the draw is the same every time.
Each draw takes a module of the area, then a kind of operator that can change it, then one of the changes. Test files
are proposed by name and import; look at them before you commit. It needs cosmic-ray 8.7, which nothing else does:
``pip install cosmic-ray==8.7.0`` beside the other packages.
"""

import ast
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from cosmic_ray.ast import Visitor, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tools.mutations.run import ROOT, Entry, NotApplicable, Scope, apply, load, save, scope_of

SEED = 120
PER_AREA = 15
MOST_TESTS = 3
LONGEST = 300  # characters of an old text
AREAS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("areas.toml").read_text())
NOT_NEAR = {"benchmarks", "browser", "contract", "deployment", "docs", "fuzz", "production", "tasks_twice", "tools"}
ALIKE = [
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
]  # others are refused by Python itself, or compare small numbers by identity


class Change(NamedTuple):
    """The change of this number that an operator can make to a module, and the character it begins at."""

    operator: str
    number: int
    start: int


class Changes(Visitor):  # type: ignore[misc]
    """Collects every change to a tree; each operator's are numbered as cosmic-ray numbers them."""

    def __init__(self, lines: list[int]) -> None:
        self.lines = lines  # where each begins
        self.counts: Counter[str] = Counter()
        self.families: dict[str, list[Change]] = defaultdict(list)

    def visit(self, node: Any) -> Any:
        for name, operator in _operators().items():
            for (line, column), _ in operator.mutation_positions(node):
                change = Change(name, self.counts[name], self.lines[line - 1] + column)
                self.families[name.split("_")[0]].append(change)
                self.counts[name] += 1
        return node


@cache
def _operators() -> dict[str, Any]:
    return {name: get_operator(name)() for name in operator_names() if "Variable" not in name and _is_alike(name)}


def _is_alike(name: str) -> bool:
    _, *pair = name.split("_")
    return "Unary" in name or len(pair) < 2 or any(set(pair) <= group for group in ALIKE)


class Module:
    """One module and the changes to what it does: not to docstrings, annotations, f-strings and log messages."""

    def __init__(self, path: Path, *, functions_only: bool) -> None:
        self.path, self.source = path, path.read_text()
        self.tree = ast.parse(self.source)
        lines = self.source.splitlines(keepends=True)
        self.starts = [0, *accumulate(map(len, lines))]
        self.lines = [line.encode() for line in lines]
        collector = Changes(self.starts)
        collector.walk(get_ast(self.source))
        idle = [self.span(node) for node in self._idle_nodes()]
        inside = [self.span(node) for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]

        def is_effective(change: Change) -> bool:
            start = change.start + (self.source[change.start] == "@")
            if any(first <= start < end for first, end in idle):
                return False
            return not functions_only or any(first <= change.start < end for first, end in inside)

        self.families = {
            family: changes
            for family, all_changes in sorted(collector.families.items())
            if (changes := [change for change in all_changes if is_effective(change)])
        }

    def span(self, node: Any) -> tuple[int, int]:
        """Return where a node begins and ends, in characters."""
        ends = ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        start, end = (self.starts[line - 1] + len(self.lines[line - 1][:column].decode()) for line, column in ends)
        return start, end

    def _idle_nodes(self) -> Iterator[ast.AST]:
        for node in ast.walk(self.tree):
            match node:
                case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation) if annotation:
                    yield annotation
                case ast.FunctionDef(returns=returns) if returns:
                    yield returns
                case ast.JoinedStr() | ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
                    yield node
            if isinstance(node, ast.ClassDef):
                yield from (decorator for decorator in node.decorator_list if "dataclass" in ast.unparse(decorator))

    def entry(self, change: Change, area: str) -> Entry | None:
        """Return the change as an entry; None where it changes nothing or is not told apart by a short text."""
        changed = mutate_code(self.source, get_operator(change.operator)(), change.number)
        try:
            tree = ast.parse(changed)
        except SyntaxError:
            return None
        if ast.dump(tree) == ast.dump(self.tree) or _keywords(tree) != _keywords(self.tree):
            return None
        start = next(i for i, (one, other) in enumerate(zip(self.source, changed, strict=False)) if one != other)
        most = min(len(self.source), len(changed)) - start
        same = next(i for i in range(most + 1) if i == most or self.source[-1 - i] != changed[-1 - i])
        end = len(self.source) - same
        name, first, last = self._scope(start, end)
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.expr | ast.stmt))
        spans = [self.span(node) for node in nodes if not isinstance(node, ast.Name | ast.Attribute | ast.Constant)]
        lines = [point for point in self.starts if point <= start][-1], self.starts[self.source.count("\n", 0, end) + 1]
        for low, high in sorted([*spans, lines], key=lambda span: span[1] - span[0]):
            old = self.source[low:high]
            if not (first <= low <= start <= end <= high <= last):
                continue
            if len(old) <= LONGEST and self.source.count(old.strip(), first, last) == 1:
                new = changed[low : high + len(changed) - len(self.source)]
                entry = Entry(area=area, name=name, old=old, new=new, tests=nearest_tests(name), argument="")
                return self._tidy(entry, ast.dump(tree))
        return None

    def _tidy(self, entry: Entry, tree: str) -> Entry:
        """Take out the blanks that operators leave, where the meaning stays."""
        tidy = entry.copy()
        tidy["old"] = entry["old"].strip()
        tidy["new"] = re.sub(r"(?<=[(\[]) +|(?<=\S) (?= )", "", entry["new"].strip())
        try:
            return tidy if ast.dump(ast.parse(apply(tidy)[1])) == tree else entry
        except (NotApplicable, SyntaxError):
            return entry

    def _scope(self, start: int, end: int) -> tuple[str, int, int]:
        """Return the dotted name of the smallest function or class around the change, and its bounds."""
        words = _module_name(self.path).split(".")
        node: ast.AST = self.tree
        bounds = (0, len(self.source))
        while True:
            for child in ast.walk(node):
                if child is not node and isinstance(child, Scope):
                    _, *inner = scope_of(".".join([*words, child.name]))
                    if inner[0] <= start and end <= inner[1]:
                        node, bounds = child, (inner[0], inner[1])
                        words.append(child.name)
                        break
            else:
                return ".".join(words), *bounds


def _keywords(tree: ast.AST) -> int:
    """How many parameters can be named only; operators take the ``*`` before them for a product."""
    return sum(len(node.kwonlyargs) for node in ast.walk(tree) if isinstance(node, ast.arguments))


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def nearest_tests(name: str) -> list[str]:
    """Return test files that import the module or mention the object, those in the folder of its concept first."""
    path, *_ = scope_of(name)
    module = _module_name(path)
    package, _, stem = module.rpartition(".")
    imports = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    word = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
    ranked = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        text = test.read_text()
        near = sum(part in module.split(".") for part in test.relative_to(ROOT / "tests").parts)
        points = 2 * near + 3 * bool(imports.search(text)) + bool(word.search(text))
        if points > 2 and not NOT_NEAR & set(test.parts) and "pytestmark = pytest.mark.slow" not in text:
            ranked.append((-points, len(text), test.relative_to(ROOT).as_posix()))
    return [test for _, _, test in sorted(ranked)[:MOST_TESTS]]


def main() -> None:
    entries = load()
    for area, globs in AREAS.items():
        generator = random.Random(f"{SEED} {area}")
        paths = sorted({path for glob in globs for path in ROOT.glob(glob)})
        modules = [Module(path, functions_only=area == "constraints") for path in paths]
        modules = [module for module in modules if module.families]
        while sum(entry["area"] == area for entry in entries) < PER_AREA:
            module = generator.choice(modules)
            change = generator.choice(module.families[generator.choice(list(module.families))])
            entry = module.entry(change, area)
            if entry and not any(entry["name"] == other["name"] and entry["old"] == other["old"] for other in entries):
                entries.append(entry)
    save(entries)


if __name__ == "__main__":
    main()
