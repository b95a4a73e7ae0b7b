"""Processes of ours: found by a mark in their environment, ended together, tied to their parent; and locks on files.

What a marked process starts carries the mark, too. psutil tells a process by its number and its start, as a number
alone may have passed to somebody else's.
"""

import contextlib
import ctypes
import fcntl
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

import psutil

PR_SET_PDEATHSIG = 1
POLL_S = 0.05
_libc = ctypes.CDLL(None)


def is_alive(process: psutil.Process) -> bool:
    """Whether this very process is there, and no zombie: that has ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def marked(name: str, mark: str) -> list[psutil.Process]:
    """Return all living processes whose environment names this mark, except the caller itself."""
    candidates = psutil.process_iter(["environ"])  # None of one that has ended, or that is another user's
    matches = [process for process in candidates if (process.info["environ"] or {}).get(name) == mark]
    return [process for process in matches if process.pid != os.getpid() and is_alive(process)]


def wait_gone(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Return those still alive after ``seconds``, or as soon as there are none; no child is reaped."""
    deadline = time.monotonic() + seconds
    alive = list(processes)
    while (alive := list(filter(is_alive, alive))) and time.monotonic() < deadline:
        time.sleep(0.03)
    return alive


def end(
    processes: Iterable[psutil.Process],
    patience_s: float,
    *,
    first: signal.Signals = signal.SIGTERM,
    then: Iterable[tuple[signal.Signals, float]] = ((signal.SIGKILL, 2),),
) -> list[psutil.Process]:
    """Ask the processes to end, and by harsher signals those that still live; return who outlives them all."""
    alive = list(processes)
    for number, seconds in ((first, patience_s), *then):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):  # gone, and its number may be another's
                process.send_signal(number)
        alive = wait_gone(alive, seconds)
    return alive


def dies_with_parent(number: signal.Signals) -> Callable[[], None]:
    """For Popen's preexec_fn: the kernel sends ``number`` to the child when its parent ends, even by kill -9."""
    parent = os.getpid()

    def ask_kernel() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # it ended before the kernel knew
            os._exit(1)

    return ask_kernel


def no_wait() -> None:
    """The default of every ``waiting``: a hook called while something is awaited; it may raise to give up."""


class FileLock(contextlib.AbstractContextManager["FileLock"]):
    """One open lock file (flock); ``with`` closes it, which drops the lock, as does the end of its process."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 - it is one

    def fileno(self) -> int:
        return self._file.fileno()

    def try_exclusive(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def exclusive(self, waiting: Callable[[], None] = no_wait) -> Self:
        """Wait until no other process has the lock; polls, so that ``waiting`` can give up."""
        while not self.try_exclusive():
            waiting()
            time.sleep(POLL_S)
        return self

    def shared(self) -> Self:
        """Wait until no other process has the lock exclusively."""
        fcntl.flock(self._file, fcntl.LOCK_SH)
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
