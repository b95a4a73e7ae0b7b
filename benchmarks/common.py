"""Parts that benchmarks share: options, output, processes, figures, the machine, and two revisions in turns.

A figure of one run says little about a machine that others use too. Taken in turns, both sides meet the same
neighbours, and their ratio stands.
"""

import argparse
import hashlib
import json
import math
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENVS = ROOT / "var" / "against"  # one for each set of locks, kept for the next time
Row = Mapping[str, Any]
Machine = dict[str, str | int | float]


def arguments(doc: str | None, **options: Any) -> argparse.ArgumentParser:
    """Return a parser that shows the module's docstring as it stands, and knows ``--json`` and an option for each name.

    An option is its default, whose type it takes, or default and help; False makes a flag.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON, a line for each result")
    for name, value in options.items():
        default, meaning = value if isinstance(value, tuple) else (value, "")
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true", help=meaning)
        else:
            parser.add_argument(flag, type=type(default), default=default, help=f"{meaning} (%(default)s)".strip())
    return parser


def require_positive(parser: argparse.ArgumentParser, options: argparse.Namespace, *names: str) -> None:
    """End the program with a message where one of the options is 0 or less."""
    for name in names:
        if getattr(options, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be positive")


def stoppable(main: Callable[[Sequence[str] | None], int]) -> Callable[..., int]:
    """Have SIGTERM end ``main`` as Ctrl-C does: what it started is stopped, and the exit status is 130."""

    @wraps(main)
    def run(argv: Sequence[str] | None = None) -> int:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            return main(argv)
        except KeyboardInterrupt:
            return 130

    return run


def command_of(module: str, options: Mapping[str, Any]) -> list[str]:
    """Return the command that starts a module with these options; those that are False or None are left out."""
    command = [sys.executable, "-m", module]
    for name, value in options.items():
        if value is not None and value is not False:
            command += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return command


def show(result: Mapping[str, Any], *, as_json: bool) -> None:
    """Print a result as one JSON line, or as indented JSON for people."""
    print(json.dumps(result, indent=None if as_json else 2))


def say(text: str) -> None:
    """Print a message for people on standard error."""
    print(text, file=sys.stderr, flush=True)


def peak_mb() -> int:
    """Return the most memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def machine() -> Machine:
    memory = int(_value_in(Path("/proc/meminfo"), "MemTotal").split()[0]) / 2**20
    return {
        "processor": _value_in(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _value_in(file: Path, name: str) -> str:
    """Return the text behind the first ``name:`` in a file of /proc; nothing when it is not there."""
    lines = (line.partition(":") for line in file.read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def device_name(device: str) -> str:
    """Return the name of the GPU; ``cpu`` for the processor."""
    import torch

    return torch.cuda.get_device_name() if device.startswith("cuda") else "cpu"


def load_now() -> float:
    return round(os.getloadavg()[0], 2)


def percentile_ms(ascending_s: Sequence[float], percent: int) -> float:
    """Return the nearest-rank percentile of ascending seconds, in milliseconds; 0 for none."""
    if not ascending_s:
        return 0.0
    return round(1000 * ascending_s[math.ceil(len(ascending_s) * percent / 100) - 1], 1)


def each_ms(total_s: float, count: int) -> float:
    """Return milliseconds for each of ``count``."""
    return round(1000 * total_s / max(1, count), 2)


# Two revisions: this tree, and a worktree of another one


def compare(
    revision: str, script: str, arguments: Sequence[str], *, rounds: int, ratios: Mapping[str, tuple[int, str]]
) -> dict[str, Any]:
    """Run ``script --json`` on this tree and on one of another revision, ``rounds`` times in turns.

    Each of ``ratios`` is of the medians, this tree's over the other's, of the figure of this name in the line of this
    number. Raises CalledProcessError where git, pip or the benchmark failed; the reason is on stderr.
    """
    script = Path(script).relative_to(ROOT).as_posix() if Path(script).is_absolute() else script
    sides: dict[str, list[list[Row]]] = {"here": [], "there": []}
    with worktree(revision) as other:
        commands = {"here": (ROOT, Path(sys.executable)), "there": (other, python_for(other))}
        for number in range(rounds):
            for side in ("here", "there") if number % 2 else ("there", "here"):
                say(f"Round {number + 1} of {rounds}: {side}")
                sides[side].append(run_script(*commands[side], script, arguments))
    medians = {
        side: {name: statistics.median(rows[line][figure] for rows in runs) for name, (line, figure) in ratios.items()}
        for side, runs in sides.items()
    }
    ratio = {name: round(medians["here"][name] / medians["there"][name], 3) for name in ratios}
    return {"against": revision, "ratio": ratio, "medians": medians, **sides}


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """Check the revision out into a folder of its own, which goes when the block ends."""
    with tempfile.TemporaryDirectory(prefix="against-") as folder:
        path = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(path), revision], cwd=ROOT, check=True)
        try:
            yield path
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(path)], cwd=ROOT, check=True)


def python_for(tree: Path) -> Path:
    """Return the interpreter that has the packages the tree locks; its environment is made where there is none."""
    locks = [Path("requirements", name) for name in ("base.lock", "dev.lock")]
    if all((tree / lock).read_bytes() == (ROOT / lock).read_bytes() for lock in locks):
        return Path(sys.executable)
    digest = hashlib.sha256(b"".join((tree / lock).read_bytes() for lock in locks)).hexdigest()
    venv = VENVS / digest[:16]
    python = venv / "bin" / "python"
    if not (venv / "whole").exists():
        say("Installing the packages of the other side ...")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
        requirements = [word for lock in locks for word in ("--requirement", str(tree / lock))]
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", *requirements]
        subprocess.run(install, check=True, stdout=sys.stderr)
        (venv / "whole").touch()
    return python


def run_script(tree: Path, python: Path, script: str, arguments: Sequence[str]) -> list[Row]:
    """Return the JSON objects that the benchmark printed, one a line."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment["PATH"] = f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"
    command = [str(python), script, *arguments, "--json"]
    process = subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
