"""Memory of a program that trains: what is freed is kept, so that the kernel clears its pages once and not at every
step, and large pages are asked for."""

import subprocess
import sys

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
