"""Find names that a stranger could not guess. ``python -m tools.words [--check]``; ``--check`` fails where one is left.

A name is whatever the code binds or uses: functions, classes, arguments, variables, attributes, modules. It is split
at underscores and capitals. Found is each part for which ``tools/words.toml`` has better words, a variable that is
nothing but a participle, and a docstring that opens with "What". Reviewed exceptions stand there with their reasons.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from tools import size

PACKAGES = (*size.PACKAGES, "tests", "docs")
LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
INSTEAD: dict[str, str] = LISTS["instead"]
DICTATED: dict[str, str] = LISTS["dictated"]
PARTICIPLES = set(LISTS["participles"].split())
PARTICIPLES_THAT_STAY: dict[str, list[str]] = LISTS["participles_that_stay"]
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Finding(NamedTuple):
    """A name to be changed, or a docstring."""

    line: int
    name: str
    advice: str


def parts(name: str) -> Iterator[str]:
    """Yield the words of an identifier in lower case, without the plural's s where only the singular is listed."""
    for part in PART.findall(name):
        word = part.lower()
        yield word if word in INSTEAD or not word.endswith("s") else word[:-1]


def names_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name that is bound or used, once for each time, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name


def variables_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every argument, and every variable each time it is bound, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name


def findings(source: str, module: str = "", stay: Collection[str] = ()) -> list[Finding]:
    """Return what is to be changed in a module, whose own name counts, too; ``stay`` are participles that need not."""
    tree = ast.parse(source)
    names = [(1, module), *names_in(tree)]
    rows = [
        Finding(line, name, f"say {INSTEAD[word]}")
        for line, name in names
        if name not in DICTATED
        for word in parts(name)
        if word in INSTEAD
    ]
    rows += [
        Finding(line, name, "name the thing, not what was done to it")
        for line, name in variables_in(tree)
        if name in PARTICIPLES.difference(stay)
    ]
    rows += [
        Finding(getattr(node, "lineno", 1), "docstring", "open with a verb, not with What")
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and (ast.get_docstring(node) or "").startswith("What ")
    ]
    return sorted(rows)


def repository_findings() -> Iterator[tuple[Path, Finding]]:
    """Yield what is to be changed in the whole repository; migrations stay as they were released."""
    for path in sorted(path for package in PACKAGES for path in (size.ROOT / package).rglob("*.py")):
        if "migrations" not in path.parts:
            relative = path.relative_to(size.ROOT)
            for row in findings(path.read_text(), path.stem, PARTICIPLES_THAT_STAY.get(relative.as_posix(), [])):
                yield relative, row


def main() -> int:
    parser = argparse.ArgumentParser(description="Find names that a stranger could not guess.")
    parser.add_argument("--check", action="store_true", help="fail where there are any")
    options = parser.parse_args()
    rows = list(repository_findings())
    for path, (line, name, advice) in rows:
        print(f"{path}:{line}: {name}: {advice}", file=sys.stderr if options.check else sys.stdout)
    if not options.check:
        print(f"{len(rows)} to change; {sum(map(len, PARTICIPLES_THAT_STAY.values()))} participles stay")
    return int(options.check and bool(rows))


if __name__ == "__main__":
    sys.exit(main())
