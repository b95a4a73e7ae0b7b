"""Shows the output of a child that works in the background, line by line, and keeps it in a log."""

import os
from pathlib import Path

from config.embedded.screen import say
from config.embedded.services import Child


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
