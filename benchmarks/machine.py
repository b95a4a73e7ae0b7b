"""The machine a figure was measured on, in words that go beside it."""

import os
import platform
from pathlib import Path


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
