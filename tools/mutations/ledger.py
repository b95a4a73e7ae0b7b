"""Read the ledger of mutations and apply one: ``ledger.json``, a list of ``Entry``.

An entry names the smallest function, class or module around the change by its dotted name and holds the text before
and after it. The old text occurs exactly once there, so that an entry survives whatever else moves.
"""

import ast
import json
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parents[2]
LEDGER = Path(__file__).with_name("ledger.json")
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Entry(TypedDict):
    """One mutation, and the test files that must notice it unless ``argument`` says why none can."""

    area: str
    name: str
    old: str
    new: str
    tests: list[str]
    argument: str


class NotApplicable(Exception):
    """The named object is gone, or does not hold the old text exactly once."""


def load() -> list[Entry]:
    entries: list[Entry] = json.loads(LEDGER.read_text())
    return entries


def save(entries: list[Entry], path: Path = LEDGER) -> None:
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n")


def scope_of(name: str, root: Path = ROOT) -> tuple[Path, int, int]:
    """Return the file of a dotted name and where its object begins and ends in that file's text, decorators included.

    Raises:
        NotApplicable: no module, or no such function or class in it.
    """
    words = name.split(".")
    for count in range(len(words), 0, -1):
        folder = root.joinpath(*words[:count])
        for path in (folder.with_suffix(".py"), folder / "__init__.py"):
            if path.is_file():
                return path, *_bounds(path.read_text(), words[count:], name)
    raise NotApplicable(f"{name}: no such module")


def _bounds(source: str, words: list[str], name: str) -> tuple[int, int]:
    node: ast.AST = ast.parse(source)
    for word in words:
        scopes = (child for child in ast.walk(node) if isinstance(child, Scope) and child is not node)
        match = next((child for child in scopes if child.name == word), None)
        if match is None:
            raise NotApplicable(f"{name}: {word} is not defined")
        node = match
    if not isinstance(node, Scope):
        return 0, len(source)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = source.splitlines(keepends=True)
    return sum(map(len, lines[: first - 1])), sum(map(len, lines[: node.end_lineno]))


def apply(entry: Entry, root: Path = ROOT) -> tuple[Path, str]:
    """Return the file that the entry changes and the file's text with the change.

    Raises:
        NotApplicable: the entry no longer fits the code.
    """
    path, start, end = scope_of(entry["name"], root)
    source = path.read_text()
    times = source.count(entry["old"], start, end)
    if times != 1:
        raise NotApplicable(f"{entry['name']}: the old text occurs {times} times")
    at = source.index(entry["old"], start)
    return path, source[:at] + entry["new"] + source[at + len(entry["old"]) :]
