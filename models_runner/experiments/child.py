"""The program that trains, as a child process of the worker: alone in its folder, and ended with the worker."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from core.processes import FileLock, dies_with_parent, end, marked

OUTPUT, LOCK = "output.txt", "lock"
PATIENCE_S = 8.0  # to finish a step and to write a checkpoint
KILLING_S = 5.0  # for the kernel to clear what was killed
MARK = "MOMENTJUDGE_TRAINING"  # in the environment of all that a program starts
SECRET = re.compile(r"SECRET|PASS|TOKEN|KEY|CREDENTIAL|AUTH|DSN|(DATABASE|BROKER)_URL")  # in names of variables
WITH_PASSWORD = re.compile(r"://[^/@\s]+@")  # in values: an address with a password
OURS = ("OMP_NUM_THREADS",)


@contextmanager
def folder_lock(folder: Path, *, patience_s: float = PATIENCE_S) -> Iterator[int | None]:
    """The open lock of a training's folder; None where a child of a worker that was killed does not leave it. The child
    inherits it, so that the folder is free when the last of both has ended."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK) as lock:
        deadline = time.monotonic() + patience_s
        while not (is_locked := lock.try_exclusive()) and time.monotonic() < deadline:
            time.sleep(0.1)
        yield lock.fileno() if is_locked else None


class TrainingChild:
    """One run of the program, with nothing of the site's secrets.

    Args:
        folder: of the training. lock_fd: its open lock.
        devices: numbers of the GPUs that CUDA shows it, with commas between; empty: as CUDA shows them to the worker.
    """

    def __init__(self, command: Sequence[str], folder: Path, *, lock_fd: int, cwd: Path, devices: str = "") -> None:
        self.folder, self.mark = folder, uuid4().hex
        visible_devices = {"CUDA_VISIBLE_DEVICES": devices} if devices else {}
        environment = {
            **visible_devices,
            **without_secrets(os.environ),
            "PYTHONUNBUFFERED": "1",
            MARK: self.mark,
        }
        with (folder / OUTPUT).open("ab") as output:
            self.written = output.tell()
            self.process = subprocess.Popen(  # noqa: S603
                [*command, str(folder)],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[lock_fd],
                preexec_fn=dies_with_parent(signal.SIGTERM),  # noqa: PLW1509 - workers have one thread
            )

    def wait(self, seconds: float) -> bool:
        """Whether it has ended; looks again after ``seconds`` at the latest."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, patience_s: float = PATIENCE_S) -> int:
        """Have it ended, and everything it started, in sessions of their own too; returns its status."""
        if self.process.poll() is None:
            self.process.terminate()  # it writes a checkpoint and ends
            self.wait(patience_s)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        status = self.process.wait()
        # torchrun may end before its processes, which then have no parent here; a killed one may have started another
        deadline = time.monotonic() + KILLING_S
        while (processes := marked(MARK, self.mark)) and time.monotonic() < deadline:
            end(processes, 0.1, first=signal.SIGKILL, then=())
        return status

    def last_words(self, most: int = 2000) -> str:
        """The end of what this run printed."""
        with (self.folder / OUTPUT).open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self.written, end - most))
            return file.read().decode("utf-8", "replace").strip()


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a program without database, broker or service."""
    return {
        name: value
        for name, value in environment.items()
        if name not in OURS and not SECRET.search(name) and not WITH_PASSWORD.search(value)
    }


def status_words(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
