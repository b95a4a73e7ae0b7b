"""One server of the site: started, asked whether it answers, paused, stopped politely or killed; by its process id."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import psutil

from core.embedded.services import BASE_DIR
from core.processes import dies_with_parent, wait_gone

READY_S = 300
POLITE_S = 120


class ServerFailed(Exception):
    """A server did not start, or did not end; the message holds the end of its log."""


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def program(name: str, *folders: str) -> str | None:
    """Where Debian puts it, be it for administrators alone."""
    search_path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", *folders])
    return shutil.which(name, path=search_path)


def descendants(pid: int) -> list[int]:
    """All living processes below this one."""
    return [process.pid for process in psutil.Process(pid).children(recursive=True)]


class Server:
    """Subclasses say how it is started and when it is ready. Start servers from the main thread: the kernel ties a
    child to the thread that started it, so that none outlives a killed test run."""

    polite = signal.SIGTERM

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name, self.address, self.folder = name, address, folder / name
        self.folder.mkdir(mode=0o711)
        self.port = free_port(address)
        self.log = folder / "log" / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def __repr__(self) -> str:
        return f"<{self.name} at {self.address}:{self.port}>"

    # What subclasses say

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def prepare(self) -> None:
        """Create what a start needs; called before every one."""

    def ready(self) -> bool:
        raise NotImplementedError

    # What tests do

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} was never started"
        return self.process.pid

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, *, wait: bool = True) -> None:
        assert not self.alive(), f"{self.name} runs"
        self.prepare()
        with self.log.open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                self.command(),
                cwd=BASE_DIR,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=dies_with_parent(self.polite),  # noqa: PLW1509 - no thread runs Python code meanwhile
            )
        if wait:
            self.await_ready()

    def await_ready(self, seconds: float = READY_S) -> None:
        deadline = time.monotonic() + seconds
        while not self.ready():
            if not self.alive():
                raise ServerFailed(f"{self.name} ended with {self.process and self.process.returncode}.\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"{self.name} has not been ready for {seconds:.0f} s.\n{self.tail()}")
            time.sleep(0.05)

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the leader alone."""
        if self.alive():
            os.kill(self.pid, number)

    def stop(self, seconds: float = POLITE_S) -> None:
        """Ask it to end and wait; what asks for longer is killed."""
        self.send_signal(self.polite)
        if not self.ended_within(seconds):
            self.kill()

    def kill(self) -> None:
        """kill -9, its children too, without a word."""
        if not self.alive():
            return
        leader = psutil.Process(self.pid)
        family = [leader, *leader.children(recursive=True)]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        assert self.process is not None
        self.process.wait()
        if alive := wait_gone(family, seconds=60):
            raise ServerFailed(f"Processes {alive} outlive kill -9.")

    def restart(self) -> None:
        self.stop()
        self.start()

    def pause(self) -> None:
        """It stays, and answers nothing: a machine that hangs, or a cut cable."""
        for pid in [self.pid, *descendants(self.pid)]:
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        for pid in [self.pid, *descendants(self.pid)]:
            os.kill(pid, signal.SIGCONT)

    def ended_within(self, seconds: float) -> bool:
        if self.process is None:
            return True
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.alive()

    # Its log

    def log_output(self) -> str:
        """Return its output since its last start."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            return file.read().decode(errors="replace")

    def tail(self, lines: int = 30) -> str:
        return "\n".join(f"  | {line}" for line in self.log_output().splitlines()[-lines:]) if self.log.exists() else ""

    def listens(self) -> bool:
        try:
            socket.create_connection((self.address, self.port), timeout=1).close()
        except OSError:
            return False
        return True
