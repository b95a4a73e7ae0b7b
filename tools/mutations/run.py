"""Run every mutation of the ledger against the tests it names: ``python -m tools.mutations.run``.

An entry of ``ledger.json`` names the smallest function, class or module around the change by its dotted name and holds
the text before and after it. The old text occurs exactly once there, so that an entry survives whatever else moves.

Each job has a copy of the tree and a PostgreSQL of its own. The named tests first run once on the code as it is and
must pass. A mutation is killed where a test fails, and by nothing else: one that makes a test run into its limit counts
apart and has to say so in ``hangs``; where pytest could not run, or PostgreSQL ended, nothing is known of it.
Exit status 1: a mutation survived without an argument, timed out unannounced, broke the run, or no longer applies.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from shutil import copy2, copytree, ignore_patterns
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple, NotRequired, TypedDict

from core.embedded.holding import hold_database
from core.embedded.postgres import Postgres

ROOT = Path(__file__).resolve().parents[2]
LEDGER = Path(__file__).with_name("ledger.json")
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
MARKERS = "not slow and not browser_all and not deployment and not production and not fuzz and not mutations"
LIMIT_S = 240  # of one mutation
ALL_LIMIT_S = 1800
TEST_LIMIT = "from pytest-timeout"  # in what pytest prints of a test that took too long
PASSED, FAILED, NOTHING_RAN = 0, 1, 5  # pytest's exit statuses
LATE, NO_SERVER = -1001, -1002  # beside them, and beside the signals that may end it
KILLED, SURVIVED, ARGUED, GONE = "killed", "survived", "survived, as argued", "no longer applies"
TIMED_OUT, HANGS, BROKEN = "timed out", "timed out, as announced", "broken"
FAULTS = {SURVIVED, GONE, TIMED_OUT, BROKEN}
LEFT_OUT = ignore_patterns(".*", "var", "__pycache__", "node_modules")


# The ledger


class Entry(TypedDict):
    """One mutation, and the test files that must notice it unless ``argument`` says why none can.

    ``hangs`` says why they notice it by a test that never ends.
    """

    area: str
    name: str
    old: str
    new: str
    tests: list[str]
    argument: str
    hangs: NotRequired[str]


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


# Running it


class Copy(NamedTuple):
    """A copy of the tree, and the PostgreSQL that its tests use."""

    tree: Path
    postgres: Postgres


@contextmanager
def copy_of_tree(folder: Path) -> Iterator[Copy]:
    """Copy the tree into ``folder``; the copy's PostgreSQL runs inside the block."""
    tree = folder / "tree"
    copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
    with hold_database(tree / "var" / "test") as postgres:
        yield Copy(tree, postgres)


def run_tests(copy: Copy, files: list[str], limit_s: int) -> tuple[int, str]:
    """Return pytest's exit status, or LATE or NO_SERVER, and what it printed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    command += ["--hypothesis-seed=0", "-o", "timeout=60", "-m", MARKERS, *files]
    own = {"DJANGO_SETTINGS_MODULE": "config.settings.test", "MOMENTJUDGE_VAR": str(copy.tree / "var" / "test")}
    server = copy.postgres.server()
    try:
        run = subprocess.run(
            command, cwd=copy.tree, env=os.environ | own, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return LATE, f"more than {limit_s} s"
    is_running = server is not None and copy.postgres.server() == server
    return (run.returncode if is_running else NO_SERVER), run.stdout


def outcome_of(entry: Entry, status: int, output: str) -> tuple[str, str]:
    """Return what the tests' status and output say of the mutation, and the line that shows it."""
    failures = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
    first = "".join(failures[:1])
    if status in (PASSED, NOTHING_RAN):
        return (ARGUED if entry["argument"] else SURVIVED), ""
    if status == LATE or (status == FAILED and TEST_LIMIT in output):
        return (HANGS if entry.get("hangs") else TIMED_OUT), first or output
    if status == FAILED and failures:
        return KILLED, first
    return BROKEN, "PostgreSQL ended" if status == NO_SERVER else f"pytest's exit status {status} {first}".strip()


def run_mutation(copy: Copy, number: int, entry: Entry) -> dict[str, Any]:
    """Return the entry with its outcome, the seconds it took, and the test that failed."""
    began = monotonic()
    try:
        path, text = apply(entry)
    except NotApplicable as error:
        return {**entry, "outcome": GONE, "seconds": 0, "by": str(error)}
    changed = copy.tree / path.relative_to(ROOT)
    changed.write_text(text)
    os.utime(changed, (number, number))  # bytecode is recognised by this time and the size
    try:
        outcome, line = outcome_of(entry, *run_tests(copy, entry["tests"], LIMIT_S))
    finally:
        copy2(path, changed)
    return {**entry, "outcome": outcome, "seconds": round(monotonic() - began, 1), "by": line}


def run(entries: list[Entry], jobs: int) -> list[dict[str, Any]]:
    """Return the outcomes in the ledger's order. Raises SystemExit where a named test fails on the code as it is."""
    files = sorted({file for entry in entries for file in entry["tests"]})
    copies: SimpleQueue[Copy] = SimpleQueue()

    def in_a_copy(work: Any, *values: Any) -> Any:
        copy = copies.get()
        try:
            return work(copy, *values)
        finally:
            copies.put(copy)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mutations-")))
        for number in range(jobs):
            copies.put(stack.enter_context(copy_of_tree(folder / str(number))))
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        shares = [files[number::jobs] for number in range(jobs)]
        for status, output in pool.map(lambda share: in_a_copy(run_tests, share, ALL_LIMIT_S), shares):
            if status != PASSED:
                sys.exit(f"The tests fail without any mutation:\n{output[-2000:]}")
        print(f"{len(files)} test files pass without a mutation", flush=True)
        outcomes = []
        for outcome in pool.map(lambda item: in_a_copy(run_mutation, *item), enumerate(entries, start=1)):
            outcomes.append(outcome)
            words = (f"{outcome['seconds']:6.1f} s", f"{outcome['outcome']:23}", outcome["name"], outcome["by"])
            print(*words, sep="  ", flush=True)
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description="Run the ledger's mutations against the tests they name.")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--only", default="", help="those whose name or area holds this text")
    parser.add_argument("--json", type=Path, help="write the outcomes to this file, too")
    options = parser.parse_args()
    entries = [entry for entry in load() if options.only in f"{entry['area']} {entry['name']}"]
    began = monotonic()
    outcomes = run(entries, options.jobs)
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    counts = Counter(outcome["outcome"] for outcome in outcomes)
    print(*(f"{count} {outcome}" for outcome, count in counts.most_common()), f"{monotonic() - began:.0f} s", sep=", ")
    for outcome in outcomes:
        if outcome["outcome"] in FAULTS:
            print(f"\n{outcome['outcome']}: {outcome['name']} {outcome['by']}\n- {outcome['old']}\n+ {outcome['new']}")
    sys.exit(1 if FAULTS & counts.keys() else 0)


if __name__ == "__main__":
    main()
