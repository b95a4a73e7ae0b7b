import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from config.celery_app import QUEUES
from core.embedded.folder import EmbeddedError
from core.embedded.services import WORKERS, Child, command_of, end_children, environment_for
from core.embedded.supervisor import PAUSES_S, Supervisor
from core.processes import FileLock, wait_gone


def started(tmp_path: Path, code: str) -> Child:
    return Child([sys.executable, "-c", code], tmp_path / "probe.log", environment=dict(os.environ))


def test_quick_ends_wait_longer_each_time_and_are_given_up_but_a_long_life_forgives_them(tmp_path: Path) -> None:
    supervisor = Supervisor(var=tmp_path, port=8000, report=lambda text: None)

    def pause_after(lived_s: float) -> float:
        began = time.monotonic()
        supervisor._plan_return("web", lived_s, "ended")
        return supervisor.due["web"] - began

    assert [pause_after(0.1) for _ in PAUSES_S] == pytest.approx(PAUSES_S, abs=0.25)
    with pytest.raises(EmbeddedError, match="web ended again and again"):
        pause_after(0.1)
    assert [pause_after(3600), pause_after(0.1)] == pytest.approx([PAUSES_S[0]] * 2, abs=0.25)


def test_only_the_web_server_pools_connections(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_POOL", "9")
    web, worker = (environment_for(name, var=tmp_path) for name in ("web", "worker"))
    assert web["DATABASE_POOL"] == "4" and "DATABASE_POOL" not in worker
    assert worker["OMP_NUM_THREADS"] == "1"
    assert web["DJANGO_SETTINGS_MODULE"] == worker["DJANGO_SETTINGS_MODULE"] == "config.settings.local"


@pytest.mark.parametrize("value", ["0", "1", None])
def test_the_caller_decides_whether_models_come_from_the_hub(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str | None
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    if value is not None:
        monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert {environment_for(name, var=tmp_path).get("HF_HUB_OFFLINE") for name in ("web", "worker", "gpu")} == {value}


def test_every_queue_has_a_worker_that_listens() -> None:
    commands = [command_of(name) for name in WORKERS]
    listened = [command[command.index("--queues") + 1].split(",") for command in commands]
    assert sorted(queue for queues in listened for queue in queues) == sorted(QUEUES)  # and none is listened to twice
    assert listened[0] == ["judging"]
    assert WORKERS["judging"]["processes"] == WORKERS["gpu"]["processes"] == 1


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


def test_the_seeding_is_shown_line_by_line_with_its_failure(tmp_path: Path) -> None:
    lines: list[str] = []
    supervisor = Supervisor(var=tmp_path, port=8000, seed="demo", report=lines.append)
    code = "print('one\\rtwo\\nthree', end='', flush=True); exit(3)"
    child = supervisor.children["demo"] = started(tmp_path, code)
    while "demo" in supervisor.children:
        supervisor._show_seeding(child)
        time.sleep(0.02)
    assert lines[:3] == ["demo | one", "demo | two", "demo | three"] and "status 3" in lines[3]
    assert child.log.read_bytes() == b"one\rtwo\nthree"


def test_second_supervisor_learns_who_runs(tmp_path: Path) -> None:
    environment, command = os.environ | {"MOMENTJUDGE_VAR": str(tmp_path), "PORT": ""}, [sys.executable, "-m"]
    with FileLock(tmp_path / "supervisor.lock").exclusive():
        (tmp_path / "supervisor.lock").write_text("4711 http://127.0.0.1:8000/")
        process = subprocess.run(
            [*command, "core.embedded"], env=environment, capture_output=True, text=True, check=False, timeout=600
        )
    assert process.returncode == 1 and "Traceback" not in process.stderr
    assert "process 4711, http://127.0.0.1:8000/" in process.stdout
