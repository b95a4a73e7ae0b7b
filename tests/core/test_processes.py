import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from core.embedded import processes
from core.embedded.processes import Identity, RunFile

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark ``tests-<own pid>``."""
    mark = {processes.MARK: f"tests-{os.getpid()}"}
    with subprocess.Popen([sys.executable, "-c", SLEEP], env={**os.environ, **mark}) as process:
        yield process
        process.kill()


def known(pid: int) -> Identity:
    found = processes.identify(pid)
    assert found is not None
    return found


def test_living_process_is_identified(sleeper: subprocess.Popen[bytes]) -> None:
    assert known(sleeper.pid).command == (sys.executable, "-c", SLEEP)
    assert known(sleeper.pid) == known(sleeper.pid) != known(os.getpid())


def test_zombie_has_ended(sleeper: subprocess.Popen[bytes]) -> None:
    was = known(sleeper.pid)
    sleeper.kill()
    assert processes.wait_gone([was], 60) == []  # not reaped yet


@pytest.mark.parametrize("field", ["started", "command"])
def test_number_that_passed_to_another_process_is_left_alone(sleeper: subprocess.Popen[bytes], field: str) -> None:
    was = known(sleeper.pid)
    stale = replace(was, started=1) if field == "started" else replace(was, command=("postgres",))
    processes.send(stale, signal.SIGKILL)
    processes.end([stale], 0)
    assert RunFile("", {"web": stale}).survivors() == []
    assert sleeper.poll() is None


def test_mark_finds_what_a_run_started(sleeper: subprocess.Popen[bytes]) -> None:
    assert processes.marked(f"tests-{os.getpid()}") == [known(sleeper.pid)]
    assert processes.marked(f"tests-{os.getpid()}0") == []


def test_end_kills_who_does_not_listen(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        processes.end([known(process.pid)], 0.2)
        assert process.wait(60) == -signal.SIGKILL


def test_run_file_comes_back_as_it_was(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    run = RunFile.new()
    run.processes["web"] = known(sleeper.pid)
    run.save(tmp_path / "run.json")
    assert RunFile.load(tmp_path / "run.json") == run
    assert run.survivors() == [known(sleeper.pid)]


@pytest.mark.parametrize("text", ["", "[]", '{"mark": "x"}', '{"mark": "x", "processes": {"web": 3}}'])
def test_unreadable_run_file_ends_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert RunFile.load(tmp_path / "run.json") is None
    assert RunFile.load(tmp_path / "absent.json") is None


def test_child_dies_with_a_killed_parent() -> None:
    parent_code = (
        "import signal, subprocess, sys, time\n"
        "from core.embedded.processes import dies_with_parent\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], preexec_fn=dies_with_parent(signal.SIGTERM))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = known(int(parent.stdout.readline()))
        parent.kill()
        assert processes.wait_gone([child], 60) == []
