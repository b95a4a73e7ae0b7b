"""Steps of .ci/run around the tests: packages are checked, and an unavailable service stops nothing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.embedded.services import BASE_DIR
from tools.audit import CLEAN, FOUND, NOT_CHECKED

TESTS, REST, PRODUCTION = (
    "make test CI=1",
    'make test-all ARGS=-m "browser_all or deployment" CI=1',
    "make test-production CI=1",
)


def run(folder: Path, audited: int) -> tuple[int, list[str], str]:
    """Status, what was called, and what was said; every program is a stand-in that writes down its name."""
    log = folder / "done"
    (folder / ".ci").mkdir()
    shutil.copy(BASE_DIR / ".ci" / "run", folder / ".ci" / "run")
    stand_in(folder / "bin" / "make", f'echo "make $* CI=$CI" >> {log}')
    stand_in(folder / "bin" / "apt-get", "exit 0")
    stand_in(folder / ".venv" / "bin" / "python", f'echo "python $*" >> {log}; exit {audited}')
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment["PATH"] = f"{folder / 'bin'}:{environment['PATH']}"
    ran = subprocess.run(
        [folder / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    return ran.returncode, log.read_text().splitlines(), ran.stderr


def stand_in(path: Path, command: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


@pytest.mark.parametrize("audited", [CLEAN, NOT_CHECKED, FOUND])
def test_a_known_weakness_fails_it_and_a_service_that_is_unavailable_does_not(tmp_path: Path, audited: int) -> None:
    status, called, stderr = run(tmp_path, audited)
    assert status == (FOUND if audited == FOUND else 0)
    assert called == [TESTS, REST, "python -m tools.audit", PRODUCTION][: 3 if audited == FOUND else 4]
    assert ("WARNING: packages were not checked" in stderr) is (audited == NOT_CHECKED)
