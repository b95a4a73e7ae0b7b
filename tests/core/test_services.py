import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from config.celery_app import QUEUES
from core.embedded import services
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


@pytest.mark.parametrize(
    ("host", "setting", "value"),
    [
        *(("127.0.0.1", None, "1"), ("::1", None, "1"), ("127.0.0.1", "0", "0")),
        *(("0.0.0.0", None, None), ("::", None, None), ("192.168.1.5", None, None), ("0.0.0.0", "1", "1")),
    ],
)
def test_webhooks_reach_private_addresses_where_nobody_else_reaches_the_site(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, setting: str | None, value: str | None
) -> None:
    """Or where whoever runs it says so."""
    monkeypatch.setattr(services, "HOST", host)
    monkeypatch.delenv("WEBHOOK_PRIVATE_ADDRESSES", raising=False)
    if setting is not None:
        monkeypatch.setenv("WEBHOOK_PRIVATE_ADDRESSES", setting)
    for name in ("web", "worker"):
        assert environment_for(name, var=tmp_path).get("WEBHOOK_PRIVATE_ADDRESSES") == value


DEFAULTS = ("LEADS_RUN_BENCHMARKS", "WEBHOOK_PRIVATE_ADDRESSES", "HF_HUB_CACHE")
PRINT = """
import json
from django.conf import settings
from huggingface_hub import constants
print(json.dumps([settings.LEADS_RUN_BENCHMARKS, settings.WEBHOOK_PRIVATE_ADDRESSES, constants.HF_HUB_CACHE]))
"""


def settings_in(environment: dict[str, str]) -> tuple[bool, bool, str]:
    """Return the settings of a process of this environment, and where it keeps models of the hub."""
    output = subprocess.run(
        [sys.executable, "-c", PRINT], env=environment, capture_output=True, check=True, timeout=600
    )
    leads_run_benchmarks, reaches_private, models = json.loads(output.stdout)
    return leads_run_benchmarks, reaches_private, models


def test_an_embedded_site_lets_leads_run_benchmarks_and_keeps_models_in_its_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in DEFAULTS:
        monkeypatch.delenv(name, raising=False)
    for name in ("web", "gpu"):
        assert settings_in(environment_for(name, var=tmp_path)) == (True, True, str(tmp_path / "models"))


def test_whoever_starts_an_embedded_site_decides_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in zip(DEFAULTS, ("0", "0", str(tmp_path / "elsewhere")), strict=True):
        monkeypatch.setenv(name, value)
    assert settings_in(environment_for("web", var=tmp_path)) == (False, False, str(tmp_path / "elsewhere"))


def test_a_server_started_by_hand_may_listen_anywhere_and_sends_to_the_internet_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in DEFAULTS:
        monkeypatch.delenv(name, raising=False)
    own = {"DJANGO_SETTINGS_MODULE": "config.settings.local", "MOMENTJUDGE_VAR": str(tmp_path)}
    assert settings_in({**os.environ, **own})[:2] == (True, False)


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
