"""Runs a reader of files from outside in a child process with limits on memory, time and files.

HDF5, LMDB and Parquet are read by C and C++: a file that is damaged, or made to do harm, can end the process that opens
it, keep it busy for hours, or fill the memory with what a few kilobytes claim. Here that happens to a child, and the
caller gets an error that says so.

A reader is a module of this library with ``serve(request, output)``. It runs without the site's environment: no secret,
no address of a database.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from moment_retrieval.errors import RetrievalError

logger = logging.getLogger(__name__)
LONGEST_MESSAGE = 10_000  # of a traceback
MOST_FILES = 64  # open at once
MOST_WRITTEN = 2**16  # bytes of a file: what it says when it fails
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR")  # of the environment
SET = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS"), "1"),
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # others reserve more than they use
    "HDF5_PLUGIN_PRELOAD": "::",  # a file may name filters; no library is loaded for one
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "PYTHONSAFEPATH": "1",
}


class ReaderEnded(RetrievalError):
    """The child ended before it was done; ``str`` says how, in words that follow the name of the file."""


@dataclass(frozen=True)
class Limits:
    """Limits of a child: megabytes that are its own (a file it maps does not count), and seconds of computing."""

    memory_mb: int
    cpu_s: int


@contextmanager
def reader(module: str, request: bytes, limits: Limits) -> Iterator[IO[bytes]]:
    """The output of a reader, which gets the request as its standard input; it is killed when the block is left early.

    Raises:
        ReaderEnded: the child did not come to its end; raised when the block is left, unless it raised something.
    """
    arguments = [str(limits.memory_mb), str(limits.cpu_s), module]
    with TemporaryFile() as source, TemporaryFile() as messages:
        source.write(request)
        source.seek(0)
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", __name__, *arguments],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=messages,
            cwd="/",
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ} | SET,
        )
        assert child.stdout is not None  # a pipe
        try:
            with child.stdout:
                yield child.stdout
        except BaseException:
            child.kill()
            child.wait()
            raise
        if status := child.wait():
            raise ReaderEnded(_reason(status, limits, messages))


def _reason(status: int, limits: Limits, messages: IO[bytes]) -> str:
    if status == -signal.SIGXCPU:
        return f"reading it takes more than {limits.cpu_s:,} s of computing, and was stopped"
    if status < 0:
        return f"it is damaged: whoever reads it is ended by the system ({_signal_name(-status)})"
    messages.seek(max(0, messages.seek(0, os.SEEK_END) - LONGEST_MESSAGE))
    message = messages.read().decode("utf-8", "replace").strip()
    if "MemoryError" in message.rpartition("\n")[2]:
        return f"reading it takes more than {limits.memory_mb:,} MB of memory, and was stopped"
    logger.error("a reader ended with status %s: %s", status, message)
    return "it cannot be read; those who run the site find the reason in the log"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _limit(memory_mb: int, cpu_s: int) -> None:
    """Let this process, and what it starts, take no more; it leaves nothing behind."""
    import resource

    for kind, most, most_at_all in (
        (resource.RLIMIT_DATA, memory_mb * 2**20, memory_mb * 2**20),
        (resource.RLIMIT_NOFILE, MOST_FILES, MOST_FILES),
        (resource.RLIMIT_FSIZE, MOST_WRITTEN, MOST_WRITTEN),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu_s, cpu_s + 1),  # SIGXCPU says why, SIGKILL ends whoever does not listen
    ):
        _, allowed = resource.getrlimit(kind)  # no process may raise what the system set
        soft, hard = (
            least if allowed == resource.RLIM_INFINITY else min(least, allowed) for least in (most, most_at_all)
        )
        resource.setrlimit(kind, (soft, hard))


def main(memory_mb: str, cpu_s: str, module: str) -> None:
    _limit(int(memory_mb), int(cpu_s))
    import_module(module).serve(sys.stdin.buffer, sys.stdout.buffer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
