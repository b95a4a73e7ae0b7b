"""The folder of a local installation: data, logs, unix sockets, locks on files and the SECRET_KEY."""

import fcntl
import hashlib
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Self

from core.exceptions import MomentJudgeError

LONGEST_SOCKET = 107  # bytes: sun_path holds 108, the last of them a zero
LONGEST_FOLDER = LONGEST_SOCKET - len("/.s.PGSQL.5432")
SAFE_IN_URLS = re.compile(r"[A-Za-z0-9._/-]+")  # the folder stands in the database's and the broker's URL
NOBODY = 65534
POLL_S = 0.05
SHORTEST = 32  # characters of a key
REMEDY = "MOMENTJUDGE_VAR=/some/other/folder chooses another place."


class EmbeddedError(MomentJudgeError):
    """A failure around the embedded services; its text is shown to a person without a traceback."""


def socket_folder(var: Path) -> Path:
    """Name the folder of the sockets: ``<var>/s``, or one in /tmp where a socket or a URL cannot carry that path.

    Raises:
        EmbeddedError: the folder in /tmp exists and belongs to somebody else.
    """
    beside = var.resolve() / "s"
    if len(os.fsencode(beside)) <= LONGEST_FOLDER and SAFE_IN_URLS.fullmatch(str(beside)):
        return beside
    name = hashlib.sha256(os.fsencode(beside)).hexdigest()[:12]
    folder = Path("/tmp") / f"momentjudge-{os.geteuid()}-{name}"  # nosec B108 - checked to be private
    if os.path.lexists(folder):
        _check_private(folder)
    return folder


def make_var_folder(var: Path) -> Path:
    """Make the data folder and its ``log`` for their owner alone; EmbeddedError if they cannot be made or written."""
    for folder in (var, var / "log"):
        _make(folder, "data folder")
    if not os.access(var, os.W_OK | os.X_OK):
        raise EmbeddedError(f"The data folder {var} cannot be written by user {os.geteuid()}. {REMEDY}")
    return var


def make_private_folder(folder: Path) -> Path:
    """Make ``folder`` for its owner alone; EmbeddedError if it cannot be made, or others own it or may enter it."""
    _make(folder, "folder")
    _check_private(folder)
    return folder


def _make(folder: Path, what: str) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EmbeddedError(f"The {what} {folder} cannot be made: {error.strerror}. {REMEDY}") from error


def _check_private(folder: Path) -> None:
    status = folder.lstat()
    # As root PostgreSQL may run as nobody, which then enters through the group (see postgres.share_with).
    allowed = 0o770 if os.geteuid() == 0 and status.st_gid == NOBODY else 0o700
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & ~allowed:
        raise EmbeddedError(
            f"The folder {folder} must be a folder of user {os.geteuid()} that nobody else may enter. "
            f"If it is yours, run: chmod 700 {folder}; otherwise remove it. {REMEDY}"
        )


def no_wait() -> None:
    """The default of every ``waiting``: a hook called while something is awaited; it may raise to give up."""


class FileLock(AbstractContextManager["FileLock"]):
    """One open lock file (flock); ``with`` closes it, which drops the lock, as does the end of its process."""

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise EmbeddedError(f"The lock file {path} cannot be opened: {error.strerror}.") from error

    def try_exclusive(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def exclusive(self, waiting: Callable[[], None] = no_wait) -> Self:
        """Wait until nobody else holds the lock; polls, so that ``waiting`` can give up."""
        while not self.try_exclusive():
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

    def __exit__(self, *error: object) -> None:
        self.close()


def local_secret(var: Path) -> str:
    """Return the key in ``<var>/secret_key``, made on first use; racing processes all get the same one.

    Raises:
        EmbeddedError: the file cannot be made or read, or holds no usable key.
    """
    path = var / "secret_key"
    try:
        if not path.exists():
            # Linked when it is whole; if somebody else was first, theirs stays. The draft has mode 0600.
            with tempfile.NamedTemporaryFile(prefix="secret_key.", dir=make_var_folder(var)) as draft:
                draft.write(secrets.token_urlsafe(48).encode() + b"\n")
                draft.flush()
                os.fsync(draft.fileno())
                with suppress(FileExistsError):
                    os.link(draft.name, path)
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise EmbeddedError(f"The secret key {path} cannot be used: {error}") from error
    if len(secret) < SHORTEST:
        raise EmbeddedError(f"{path} holds no usable key. Delete it: a new one is made, and everybody logs in again.")
    return secret
