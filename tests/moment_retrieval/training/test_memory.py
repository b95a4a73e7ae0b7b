"""Memory of a program that trains: what is freed is kept, so that the kernel clears its pages once and not at every
step, and large pages are asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models_runner.experiments.child import HUGE_PAGES

STEPS = """
import resource
import numpy as np
from moment_retrieval.distributed import keep_freed

def faults():
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        np.ones(2**24, np.float32)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

given_back, keeps = faults(), keep_freed()
print(int(keeps), given_back, faults())
"""
PAGES = 4 * 2**24 // 4096  # of what a step writes, if the kernel hands out none that are larger


def test_the_next_step_finds_its_pages_there() -> None:
    result = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True)
    keeps, given_back, n_faults = map(int, result.stdout.split())
    assert keeps
    assert n_faults < PAGES / 100
    assert given_back > n_faults


IN_HUGE_PAGES = """
import re
from pathlib import Path
from moment_retrieval.distributed import keep_freed

keep_freed()
held = b"x" * 2**26  # numpy would ask for large pages itself
print(re.search(r"AnonHugePages: +([0-9]+) kB", Path("/proc/self/smaps_rollup").read_text())[1])
"""
HUGE_PAGE_FILES = [Path(f"/sys/kernel/mm/transparent_hugepage/{file}") for file in ("enabled", "defrag")]


def gives_on_request() -> bool:
    """Whether the kernel looks for large pages where a program asks for them, and only there."""
    if not all(file.is_file() for file in HUGE_PAGE_FILES):
        return False
    enabled, defrag = (file.read_text() for file in HUGE_PAGE_FILES)
    return "[madvise]" in enabled and "[never]" not in defrag


@pytest.mark.slow
@pytest.mark.skipif(not gives_on_request(), reason="this kernel gives no large pages when asked")
def test_a_program_that_trains_gets_large_pages() -> None:
    def huge_kb(environment: dict[str, str]) -> int:
        result = subprocess.run(
            [sys.executable, "-c", IN_HUGE_PAGES], check=True, capture_output=True, text=True, env=environment
        )
        return int(result.stdout)

    bare = {name: value for name, value in os.environ.items() if name not in HUGE_PAGES}
    assert huge_kb(bare) < 2**16 / 100  # of the 64 MiB
    assert huge_kb({**HUGE_PAGES, **bare}) > 2**16 / 2
