"""Processes told apart for certain: a number alone may have passed to somebody else's process.

A process is known by its number, its start time and its command line (Linux, /proc). Everything the
supervisor starts also carries the run's random mark in its environment, and so do the grandchildren.
"""

import contextlib
import ctypes
import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

MARK = "MOMENTJUDGE_RUN"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@dataclass(frozen=True)
class Identity:
    """One process for as long as it lives; ``started`` is in clock ticks since boot."""

    pid: int
    started: int
    command: tuple[str, ...]


def identify(pid: int) -> Identity | None:
    """Who has this number now; None for nobody, or for a zombie, which has ended."""
    try:
        # The name in parentheses may hold spaces and parentheses itself; the fields follow the last one.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return None
    if fields[0] in ("Z", "X"):
        return None
    return Identity(pid, int(fields[19]), tuple(os.fsdecode(part) for part in command.split(b"\0")[:-1]))


def all_pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdecimal())


def carries_mark(pid: int, mark: str) -> bool:
    """Whether the process was started, directly or not, by the run with this mark."""
    try:
        return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # ended, or another user's: in neither case ours


def marked(mark: str) -> list[Identity]:
    """All living processes of the run with this mark, except the caller itself."""
    found = (identify(pid) for pid in all_pids() if pid != os.getpid() and carries_mark(pid, mark))
    return [process for process in found if process is not None]


def send(process: Identity, number: signal.Signals) -> None:
    """Signal this very process; nothing happens when it is gone and its number may be another's."""
    if identify(process.pid) == process:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def wait_gone(processes: Iterable[Identity], seconds: float) -> list[Identity]:
    """Those still alive after ``seconds``; returns as soon as there are none."""
    deadline = time.monotonic() + seconds
    left = list(processes)
    while left := [process for process in left if identify(process.pid) == process]:
        if time.monotonic() > deadline:
            return left
        time.sleep(0.03)
    return []


def end(processes: Iterable[Identity], patience_s: float) -> None:
    """Ask the processes to end, and kill what still lives after ``patience_s``."""
    asked = list(processes)
    for process in asked:
        send(process, signal.SIGTERM)
    left = wait_gone(asked, patience_s)
    for process in left:
        send(process, signal.SIGKILL)
    wait_gone(left, 2)


def dies_with_parent(number: signal.Signals) -> Callable[[], None]:
    """For Popen's preexec_fn: the kernel sends ``number`` to the child when its parent ends, even by kill -9."""
    parent = os.getpid()

    def ask_kernel() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:  # it ended before the kernel knew
            os._exit(1)

    return ask_kernel


@dataclass(frozen=True)
class RunFile:
    """What a supervisor leaves on disk, so that the next one can find what outlived it."""

    mark: str
    processes: dict[str, Identity]

    @classmethod
    def new(cls) -> Self:
        return cls(secrets.token_hex(16), {})

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """None when there is no readable file: then nothing is known and nothing may be ended."""
        try:
            found = json.loads(path.read_text())
            processes = {
                name: Identity(int(one["pid"]), int(one["started"]), tuple(one["command"]))
                for name, one in found["processes"].items()
            }
            return cls(str(found["mark"]), processes)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(self, path: Path) -> None:
        draft = path.with_name(path.name + ".new")
        draft.write_text(json.dumps(asdict(self), indent=1))
        draft.replace(path)

    def survivors(self) -> list[Identity]:
        """The living processes of this run: those noted, and every other one that carries its mark."""
        noted = [process for process in self.processes.values() if identify(process.pid) == process]
        return list({process.pid: process for process in [*noted, *marked(self.mark)]}.values()) if self.mark else noted
