"""Advisory file locks (flock): the kernel drops them when their process ends, however it ends."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from config.embedded.errors import FolderUnusable

POLL_S = 0.05


def no_wait() -> None:
    """The default of every ``waiting``: a hook called while something is awaited; it may raise to give up."""


class FileLock:
    """One open lock file; ``with`` closes it, which drops the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FolderUnusable(f"The lock file {path} cannot be opened: {error.strerror}.") from error

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def exclusive(self, waiting: Callable[[], None] = no_wait) -> Self:
        """Wait until nobody else holds the lock; polls, so that ``waiting`` can give up."""
        while not self._try(fcntl.LOCK_EX):
            waiting()
            time.sleep(POLL_S)
        return self

    def shared(self) -> Self:
        """Wait until nobody holds the lock exclusively."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        return self

    def write(self, text: str) -> None:
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text.encode(), 0)

    def read(self) -> str:
        return os.pread(self._fd, 4096, 0).decode(errors="replace")

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
