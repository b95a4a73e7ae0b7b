"""The same benchmark on two revisions, in turns on one machine: this tree, and a worktree of another revision.

A figure of one run says little about a machine that others use too. Taken in turns, both sides meet the same
neighbours, and their ratio stands.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / "var" / "against"  # one for each set of locks, kept for the next time
Row = Mapping[str, Any]


def compare(
    revision: str, script: str, arguments: Sequence[str], *, rounds: int, ratios: Mapping[str, tuple[int, str]]
) -> dict[str, Any]:
    """Run ``script --json`` on both sides, ``rounds`` times in turns.

    Args:
        revision: what git calls the other side.
        script: the benchmark, from the top of the tree; its output is one JSON object a line.
        arguments: its arguments, the same on both sides.
        ratios: the number of the line and the name of the figure that each ratio compares.

    Returns:
        ``ratio`` of the medians, this tree's over the other's; ``here`` and ``there`` with the figures of each round.

    Raises:
        subprocess.CalledProcessError: git, pip or the benchmark failed; what it said is on stderr.
    """
    sides: dict[str, list[list[Row]]] = {"here": [], "there": []}
    with worktree(revision) as other:
        commands = {
            "here": (ROOT, Path(sys.executable)),
            "there": (other, python_for(other)),
        }
        for number in range(rounds):
            for side in ("here", "there") if number % 2 else ("there", "here"):
                print(f"Round {number + 1} of {rounds}: {side}", file=sys.stderr, flush=True)
                sides[side].append(run(*commands[side], script, arguments))
    medians = {
        side: {name: statistics.median(rows[line][figure] for rows in taken) for name, (line, figure) in ratios.items()}
        for side, taken in sides.items()
    }
    ratio = {name: round(medians["here"][name] / medians["there"][name], 3) for name in ratios}
    return {"against": revision, "ratio": ratio, "medians": medians, **sides}


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Check the revision out into a folder of its own, which goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="against-") as folder:
        path = Path(folder) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(path), revision)
        try:
            yield path
        finally:
            git("worktree", "remove", "--force", str(path))


def git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True)


def python_for(tree: Path) -> Path:
    """Return the interpreter that has the packages the tree locks; its environment is made where there is none."""
    locks = [Path("requirements", name) for name in ("base.lock", "dev.lock")]
    if all((tree / lock).read_bytes() == (ROOT / lock).read_bytes() for lock in locks):
        return Path(sys.executable)
    digest = hashlib.sha256(b"".join((tree / lock).read_bytes() for lock in locks)).hexdigest()
    venv = VENVS / digest[:16]
    python = venv / "bin" / "python"
    if not (venv / "whole").exists():
        print("Installing the packages of the other side ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        asked = [word for lock in locks for word in ("--requirement", str(tree / lock))]
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", *asked]
        subprocess.run(install, check=True, stdout=sys.stderr)
        (venv / "whole").touch()
    return python


def run(tree: Path, python: Path, script: str, arguments: Sequence[str]) -> list[Row]:
    """Return what the benchmark printed: one object a line."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"
    command = [str(python), script, *arguments, "--json"]
    done = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
