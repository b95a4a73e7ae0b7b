"""Count names that a stranger could not guess. ``python -m tools.words [--check | --write]``.

A name is whatever the code binds or uses: functions, classes, arguments, variables, attributes, modules. It is split
at underscores and capitals; each part for which ``tools/words.toml`` has better words is counted, as is a variable
that is nothing but a participle, and a docstring that opens with "What". Numbers only go down: ``--check`` compares
with ``tools/words.json``, ``--write`` lowers what stands there.
"""

import argparse
import ast
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools import size

MOST = Path(__file__).with_suffix(".json")
PACKAGES = (*size.PACKAGES, "tests", "docs")
LISTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
INSTEAD: dict[str, str] = LISTS["instead"]
PARTICIPLES = set(LISTS["participles"].split())
PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def parts(name: str) -> Iterator[str]:
    """Yield the words of an identifier in lower case, without the plural's s where only the singular is listed."""
    for part in PART.findall(name):
        word = part.lower()
        yield word if word in INSTEAD or not word.endswith("s") else word[:-1]


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield every name that is bound or used, once for each time."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name


def variables_in(tree: ast.AST) -> Iterator[str]:
    """Yield every argument, and every variable each time it is bound."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name


def opens_with_what(tree: ast.AST) -> int:
    """Return how many docstrings open with "What"."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented))
    return sum(text is not None and text.startswith("What ") for text in docstrings)


def word_counts(source: str, module: str = "") -> Counter[str]:
    """Return how often each word stands in the names of a module, its own name included."""
    tree, counts = ast.parse(source), Counter[str]()
    for name in (module, *names_in(tree)):
        counts.update(word for word in parts(name) if word in INSTEAD)
    counts["participles as variables"] = sum(name in PARTICIPLES for name in variables_in(tree))
    counts["docstrings that open with What"] = opens_with_what(tree)
    return counts


def repository_counts() -> Counter[str]:
    """Return the counts of the whole repository."""
    counts = Counter[str]()
    paths = (path for package in PACKAGES for path in (size.ROOT / package).rglob("*.py"))
    for path in paths:
        if "migrations" not in path.parts:
            counts.update(word_counts(path.read_text(), path.stem))
    return +counts


def more_than(counts: Counter[str], most: dict[str, int]) -> list[str]:
    """Return a line for each word that stands more often than it may."""
    return [
        f"{word!r} stands {n} times in names, {most.get(word, 0)} before"
        + (f"; say {INSTEAD[word]}" if word in INSTEAD else "")
        for word, n in sorted(counts.items())
        if n > most.get(word, 0)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="Count names that a stranger could not guess.")
    parser.add_argument("--check", action="store_true", help="fail where a number has grown")
    parser.add_argument("--write", action="store_true", help="lower the numbers to what they are now")
    options = parser.parse_args()
    counts, most = repository_counts(), json.loads(MOST.read_text())
    grown = more_than(counts, most)
    if options.check or options.write:
        print("\n".join(grown), file=sys.stderr, end="\n" if grown else "")
    if options.write and not grown:
        MOST.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
    if not options.check and not options.write:
        for word, n in counts.most_common():
            print(f"{n:6} {word:32} {INSTEAD.get(word, '')}")
    return int(bool(grown) and (options.check or options.write))


if __name__ == "__main__":
    sys.exit(main())
