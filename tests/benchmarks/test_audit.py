"""The benchmark of the audit on a small site."""

import json
import subprocess
import sys

import pytest

from core.embedded.services import BASE_DIR


@pytest.mark.slow
def test_a_small_site() -> None:
    """Check results, not speed: other work on the machine may slow it."""
    size = ["--pairs", "8000", "--judgments", "20000", "--annotators", "120", "--events", "2000", "--answers", "2"]
    command = [sys.executable, "-m", "benchmarks.audit", *size, "--json"]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=300, check=False)
    result = json.loads(process.stdout)
    assert result["events"] == 2000
    assert len(result["pages"]) == 14 and result["file_mb"] > 0
