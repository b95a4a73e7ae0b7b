"""The processes of one run of the site: found by the run's mark, ended together, tied to their parent.

Everything that the supervisor starts carries the run's random mark in its environment, and so do the grandchildren.
psutil tells a process by its number and its start, as a number alone may have passed to somebody else's.
"""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable

import psutil

MARK = "MOMENTJUDGE_RUN"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def is_alive(process: psutil.Process) -> bool:
    """Whether this very process is there, and no zombie: that has ended."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def marked(mark: str) -> list[psutil.Process]:
    """Return all living processes of the run with this mark, except the caller itself."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # ended, or another user's: in neither case ours
            if process.pid != os.getpid() and process.environ().get(MARK) == mark and is_alive(process):
                processes.append(process)
    return processes


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
