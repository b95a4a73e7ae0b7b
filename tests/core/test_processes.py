import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from core import processes

MARK = "MOMENTJUDGE_TEST_MARK"
SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark ``tests-<own pid>``."""
    mark = {MARK: f"tests-{os.getpid()}"}
    with subprocess.Popen([sys.executable, "-c", SLEEP], env={**os.environ, **mark}) as process:
        yield process
        process.kill()


def test_zombie_has_ended(sleeper: subprocess.Popen[bytes]) -> None:
    process = psutil.Process(sleeper.pid)
    assert processes.wait_gone([process], 0) == [process]
    sleeper.kill()
    assert processes.wait_gone([process], 60) == []  # not reaped yet
    assert sleeper.wait(60) == -signal.SIGKILL


def test_number_that_passed_to_another_process_is_left_alone(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = psutil.Process(sleeper.pid)
    with monkeypatch.context() as patch:
        patch.setattr(earlier, "_create_time", earlier.create_time() - 60)
        patch.setattr(earlier, "_ident", (sleeper.pid, earlier.create_time()))
        processes.end([earlier], 0)
    assert sleeper.poll() is None


def test_mark_finds_what_a_run_started(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.marked(MARK, f"tests-{os.getpid()}") == [psutil.Process(sleeper.pid)]
    assert processes.marked(MARK, f"tests-{os.getpid()}0") == []
    sleeper.kill()
    processes.wait_gone([psutil.Process(sleeper.pid)], 60)
    assert processes.marked(MARK, f"tests-{os.getpid()}") == []


def test_end_kills_who_does_not_listen() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        processes.end([psutil.Process(process.pid)], 0.2)
        assert process.wait(60) == -signal.SIGKILL


def test_child_dies_with_a_killed_parent() -> None:
    parent_code = (
        "import signal, subprocess, sys, time\n"
        "from core.processes import dies_with_parent\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], preexec_fn=dies_with_parent(signal.SIGTERM))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        assert processes.wait_gone([child], 60) == []
