"""Every published vector of the baselines is compared, or given to our models to compute from."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from tests.moment_retrieval.baselines.vectors import PARITY, WHOLE, needs_parity

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FOLDERS = ("xml", "relocl", "conquer", "units")
GIVEN_WHOLE = {"xml/inputs.npz", "relocl/inputs.npz", "conquer/inputs_neg0.npz", "conquer/inputs_neg2.npz"}
PROGRAM = """
import json, sys
from pathlib import Path
import pytest
from tests.moment_retrieval.baselines import vectors
status = pytest.main(["-q", "-p", "no:randomly", *sys.argv[2:]])
Path(sys.argv[1]).write_text(json.dumps(vectors.READ))
sys.exit(status)
"""


@pytest.mark.slow
@needs_parity
def test_no_published_vector_is_left_unread(tmp_path: Path) -> None:
    """The tests that use vectors run once more, in a process that notes what they ask for."""
    users = [str(path) for path in sorted(HERE.glob("test_*.py")) if uses_vectors(path)]
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "read.json"), *users]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    read = json.loads((tmp_path / "read.json").read_text())
    assert list(unread(read)) == []


def uses_vectors(path: Path) -> bool:
    return path != Path(__file__) and "baselines.vectors import" in path.read_text()


def unread(read: dict[str, list[str]]) -> Iterator[str]:
    """Inputs may be taken as a whole, weights and gradients are; each other array is asked for by its name."""
    for folder in FOLDERS:
        for path in sorted(path for path in (PARITY / folder).iterdir() if path.suffix in (".npz", ".safetensors")):
            name = f"{folder}/{path.name}"
            read_keys = set(read.get(name, ()))
            if WHOLE not in read_keys or (path.suffix == ".npz" and name not in GIVEN_WHOLE):
                yield from (f"{name}: {key}" for key in keys_of(path) if key not in read_keys)


def keys_of(path: Path) -> list[str]:
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return list(arrays.files)
    with safe_open(path, framework="pt") as tensors:
        return list(tensors.keys())
