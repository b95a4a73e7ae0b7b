"""The process that a training is: its folder is held while it runs, what it started ends with it, what it is told."""

import ctypes
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.views.debug import SafeExceptionReporterFilter

from models_runner.experiments import devices
from models_runner.experiments.child import TrainingChild, folder_lock
from models_runner.experiments.devices import devices_shown


def test_a_folder_is_locked_until_the_program_has_ended(tmp_path: Path) -> None:
    with folder_lock(tmp_path) as lock_fd:
        assert lock_fd is not None
        orphan = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], pass_fds=[lock_fd])
    try:
        with folder_lock(tmp_path, patience_s=0) as again:
            assert again is None
    finally:
        orphan.send_signal(signal.SIGKILL)
        orphan.wait()
    with folder_lock(tmp_path, patience_s=0) as free:
        assert free is not None


def test_what_the_program_started_in_a_session_of_its_own_ends_with_it(tmp_path: Path) -> None:
    """As torchrun's processes are; the first is at work yet, the second has lost its parent."""
    waits = "[sys.executable, '-c', 'import signal; signal.pause()']"
    start = f"subprocess.Popen({waits}, start_new_session=True).pid"
    for last in ("time.sleep(600)", "os.kill(os.getpid(), 9)"):
        code = f"import os, subprocess, sys, time; print({start}, flush=True); {last}"
        with folder_lock(tmp_path) as lock_fd:
            assert lock_fd is not None
            child = TrainingChild([sys.executable, "-c", code], tmp_path, lock_fd=lock_fd, cwd=tmp_path)
            while not child.last_words().isdigit():
                assert not child.wait(0.05) or child.last_words()
            child.end()
        assert not is_alive(int(child.last_words()))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def program_environment(folder: Path, **how: Any) -> dict[str, str]:
    with folder_lock(folder) as lock_fd:
        assert lock_fd is not None
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        child = TrainingChild([sys.executable, "-c", code], folder, lock_fd=lock_fd, cwd=folder, **how)
        assert (child.process.wait(), child.end()) == (0, 0)
        environment: dict[str, str] = json.loads(child.last_words(100_000))
        return environment


READ = re.compile(r"env_(?:str|secret)\(\s*\"(\w+)\"")  # by the settings


def test_the_program_gets_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    sources = [path for name in ("config", "core") for path in (settings.BASE_DIR / name).rglob("*.py")]
    read = {name for source in sources for name in READ.findall(source.read_text())}
    secret_names = {name for name in read if SafeExceptionReporterFilter.hidden_settings.search(name)}
    names = {"SECRET_KEY", "EMAIL_PASSWORD", "REWRITING_API_KEY", "S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"}
    assert names <= secret_names
    secrets = {*secret_names, "DATABASE_URL", "BROKER_URL", "SENTRY_DSN", "PGPASSWORD", "HF_TOKEN"}
    for name in secrets:
        monkeypatch.setenv(name, "hidden")
    monkeypatch.setenv("SOME_PROXY", "http://me:hidden@proxy:3128")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    environment = program_environment(tmp_path)
    assert set(environment) & {*secrets, "SOME_PROXY", "OMP_NUM_THREADS"} == set()
    assert "hidden" not in environment.values()
    assert {"NCCL_DEBUG", "PATH"} <= set(environment)


@pytest.mark.parametrize(
    ("device", "gpus", "visible_devices"),
    [("cuda:1", 1, "1"), ("cuda:2", 2, "2,3"), ("cuda", 1, None), ("auto", 1, None)],
)
def test_a_program_sees_the_gpu_of_its_worker(
    device: str, gpus: int, visible_devices: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    visible = devices_shown(device, gpus)
    assert program_environment(tmp_path, devices=visible).get("CUDA_VISIBLE_DEVICES") == visible_devices
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert program_environment(tmp_path, devices=visible)["CUDA_VISIBLE_DEVICES"] == "7"


class Driver:
    """Stands in for CUDA's, with two GPUs."""

    def __init__(self, name: str) -> None:
        assert name == "libcuda.so.1"

    def cuInit(self, flags: int) -> int:
        return flags

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, number: int) -> int:
        device._obj.value = number
        return 0

    def cuDeviceGetUuid(self, uuid: Any, device: Any) -> int:
        uuid._obj[0], uuid._obj[15] = device.value, 255
        return 0


def test_cuda_is_queried_for_its_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.gpus_seen() == []
    monkeypatch.setattr(ctypes, "CDLL", Driver)
    assert devices._gpus() == [f"0{number}000000-0000-0000-0000-0000000000ff" for number in range(2)]
