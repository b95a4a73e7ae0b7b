import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from config.celery_app import QUEUES
from core.embedded.folder import FileLock
from core.embedded.processes import wait_gone
from core.embedded.services import (
    PAUSES_S,
    WORKERS,
    Child,
    Relay,
    Restarts,
    end_children,
    environment_for,
    static_fingerprint,
    static_is_collected,
    static_note_collected,
    worker_command,
)


def started(tmp_path: Path, code: str) -> Child:
    return Child([sys.executable, "-c", code], tmp_path / "probe.log", environment=dict(os.environ))


def test_quick_deaths_wait_longer_each_time_and_are_given_up_but_a_long_life_forgives_them() -> None:
    restarts = Restarts()
    assert [restarts.pause_after(0.1) for _ in range(5)] == [*PAUSES_S, None]
    restarts = Restarts(quick_deaths=4)
    assert restarts.pause_after(3600) == PAUSES_S[0]
    assert restarts.pause_after(0.1) == PAUSES_S[0]


def test_only_the_web_server_pools_connections(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_POOL", "9")
    web, worker = (environment_for(name, var=tmp_path, mark={}) for name in ("web", "worker"))
    assert web["DATABASE_POOL"] == "4" and "DATABASE_POOL" not in worker
    assert worker["OMP_NUM_THREADS"] == "1" and worker["HF_HUB_OFFLINE"] == "1"
    assert web["DJANGO_SETTINGS_MODULE"] == worker["DJANGO_SETTINGS_MODULE"] == "config.settings.local"


def test_every_queue_has_a_worker_that_listens() -> None:
    commands = [worker_command(name) for name in WORKERS]
    listened = [command[command.index("--queues") + 1].split(",") for command in commands]
    assert sorted(queue for queues in listened for queue in queues) == sorted(QUEUES)  # and none is listened to twice
    assert listened[0] == ["judging"]
    assert WORKERS["judging"].processes == WORKERS["gpu"].processes == 1


DEAF_PARENT = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGQUIT, signal.SIG_IGN)
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def test_the_end_reaches_the_whole_group(tmp_path: Path) -> None:
    child = started(tmp_path, DEAF_PARENT)
    while not (text := child.log.read_text().strip()):
        time.sleep(0.02)
    grandchild = psutil.Process(int(text))
    end_children([child], patience_s=0.1)
    assert child.process.returncode == -signal.SIGKILL
    assert wait_gone([grandchild], 60) == []


def test_the_end_waits_for_nobody_when_everybody_listens(tmp_path: Path) -> None:
    child, patience_s = started(tmp_path, "import time; time.sleep(600)"), 60
    began = time.monotonic()
    end_children([child], patience_s=patience_s)
    assert child.process.returncode == -signal.SIGTERM
    assert time.monotonic() - began < patience_s


def test_relay_shows_every_line_and_the_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    child = started(tmp_path, "print('one\\rtwo\\nthree', end='', flush=True); exit(3)")
    relay = Relay(child, prefix="demo | ")
    while not relay.pump("http://here/"):
        time.sleep(0.02)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["demo | one", "demo | two", "demo | three"] and "status 3" in lines[3]
    assert (tmp_path / "probe.log").read_bytes() == b"one\rtwo\nthree"


def test_static_fingerprint_follows_the_sources(tmp_path: Path) -> None:
    (tmp_path / "static").mkdir()
    file = tmp_path / "static" / "a.css"
    file.write_text("a")
    before = static_fingerprint(tmp_path)
    (tmp_path / "var" / "static").mkdir(parents=True)
    (tmp_path / "var" / "static" / "a.css").write_text("a")
    assert static_fingerprint(tmp_path) == before
    static_note_collected(tmp_path / "var", before)
    assert static_is_collected(tmp_path / "var", before)
    file.write_text("ab")
    assert not static_is_collected(tmp_path / "var", static_fingerprint(tmp_path))


def test_second_supervisor_learns_who_runs(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "supervisor.lock")
    assert lock.try_exclusive()
    lock.write("4711 http://127.0.0.1:8000/")
    environment, command = os.environ | {"MOMENTJUDGE_VAR": str(tmp_path), "PORT": ""}, [sys.executable, "-m"]
    process = subprocess.run(
        [*command, "core.embedded"], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert "process 4711, http://127.0.0.1:8000/" in process.stdout
