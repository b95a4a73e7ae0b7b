"""Ending children: a polite word, an urgent one, then the end.

Shows the output of a child that works in the background, line by line, and keeps it in a log.

What ``make run`` says in the terminal.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from core.embedded.services import Child

POLITE_S = 4.0  # a request or a short task may finish
URGENT_S = 1.2  # the worker drops its tasks, which go back into their queue


def end_children(children: Sequence[Child], *, patience_s: float = POLITE_S) -> None:
    """End the children together, their whole groups included; takes patience_s + URGENT_S at most."""
    for number, seconds in ((signal.SIGTERM, patience_s), (signal.SIGQUIT, URGENT_S)):
        for child in children:
            child.tell(number)
        deadline = time.monotonic() + seconds
        while any(child.alive() for child in children) and time.monotonic() < deadline:
            time.sleep(0.03)
    for child in children:
        child.kill_group()


class Relay:
    """The pipe of one child; ``pump`` never waits."""

    def __init__(self, child: Child, *, prefix: str) -> None:
        self.child, self.prefix = child, prefix
        self._rest = b""
        assert child.process.stdout is not None, "the child must be started with piped=True"
        self._pipe = child.process.stdout
        os.set_blocking(self._pipe.fileno(), False)

    def pump(self, log: Path, address: str) -> bool:
        """Show what has arrived; True when the child has ended and everything is shown."""
        ended = not self.child.alive()  # asked first: what it wrote before it ended is then in the pipe
        while (chunk := self._read()) is not None:
            with log.open("ab") as file:
                file.write(chunk)
            *lines, self._rest = (self._rest + chunk).replace(b"\r", b"\n").split(b"\n")
            self._show(lines)
        if ended:
            self._show([self._rest])
            self._pipe.close()
            status = self.child.process.returncode
            say(f"{self.prefix}{f'not complete (status {status}); see {log}' if status else f'done: {address}'}")
        return ended

    def _read(self) -> bytes | None:
        try:
            return os.read(self._pipe.fileno(), 65_536) or None
        except BlockingIOError:
            return None

    def _show(self, lines: list[bytes]) -> None:
        for line in lines:
            if line.strip():
                say(self.prefix + line.decode(errors="replace").rstrip())


LOGINS = (
    ("annotator", "annotator-demo", "judge the pairs that wait for you; ? opens the guideline"),
    ("lead", "lead-demo", "the review queue: a query's 20 candidates, a second batch or not; releases"),
    ("admin", "admin-demo", "corpus, queries, releases, runs and their scores"),
)


def say(text: str) -> None:
    """Print a line; a terminal that has gone away must not stop an orderly end."""
    try:
        print(text, flush=True)
    except (OSError, ValueError):
        sys.stdout = None  # print() then does nothing


def welcome(address: str, var: Path, seconds: float) -> str:
    """The block that is shown when the site answers."""
    rows = [("log in as", "password", "and look at"), *LOGINS]
    table = "\n".join(f"    {name:<11} {password:<16} {task}" for name, password, task in rows)
    return f"""
  MomentJudge is running (ready in {seconds:.1f} s)

    {address}

{table}

    Data       {var}
    Logs       {var / "log"}
    Stop       Ctrl-C
"""
