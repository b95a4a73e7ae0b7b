"""What benchmarks share: arguments, how results are printed, figures, and the machine they were measured on."""

import argparse
import json
import math
import os
import platform
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the module's docstring as it stands, and knows ``--json``."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON, a line for each result")
    return parser


def show(result: Any, *, as_json: bool) -> None:
    """Print a dataclass or mapping as one JSON line, or as indented JSON for people."""
    values = result if isinstance(result, dict) else asdict(result)
    print(json.dumps(values, indent=None if as_json else 2))


def show_lines(facts: dict[str, Any], *, as_json: bool) -> None:
    """Print facts as one JSON line, or as ``name: value`` lines for people."""
    print(json.dumps(facts) if as_json else "\n".join(f"{name}: {value}" for name, value in facts.items()))


def say(text: str) -> None:
    """Tell people how far it is, on standard error."""
    print(text, file=sys.stderr, flush=True)


def peak_mb() -> int:
    """The most memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def machine() -> dict[str, str | int | float]:
    memory = int(_after(Path("/proc/meminfo"), "MemTotal").split()[0]) / 2**20
    return {
        "processor": _after(Path("/proc/cpuinfo"), "model name") or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _after(file: Path, name: str) -> str:
    """What follows the first ``name:`` in a file of /proc; nothing when it is not there."""
    lines = (line.partition(":") for line in file.read_text().splitlines())
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def percentile_ms(ordered_s: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile of ascending seconds, in milliseconds; 0 for none."""
    if not ordered_s:
        return 0.0
    return round(1000 * ordered_s[math.ceil(len(ordered_s) * percent / 100) - 1], 1)


def each_ms(total_s: float, count: int) -> float:
    """Milliseconds for each of ``count``."""
    return round(1000 * total_s / max(1, count), 2)
