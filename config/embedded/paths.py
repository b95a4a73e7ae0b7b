"""Where the data, the logs and the unix sockets lie."""

import hashlib
import os
import re
import stat
from pathlib import Path

from config.embedded.errors import FolderUnusable

LONGEST_SOCKET = 107  # bytes: sun_path holds 108, the last of them a zero
LONGEST_FOLDER = LONGEST_SOCKET - len("/.s.PGSQL.5432")
SAFE_IN_URLS = re.compile(r"[A-Za-z0-9._/-]+")  # the folder stands in the database's and the broker's URL
NOBODY = 65534


def socket_folder(var: Path) -> Path:
    """Name the folder of the sockets; nothing is created here, see ``make_private_folder``.

    It is ``<var>/s``, or a folder in /tmp where that is too long for a unix socket or holds
    characters that a connection URL cannot carry.

    Raises:
        FolderUnusable: the folder in /tmp exists and belongs to somebody else.
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
    """Make the data folder and its ``log`` unless they exist, readable by their owner alone.

    Raises:
        FolderUnusable: it cannot be made or written.
    """
    for folder in (var, var / "log"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FolderUnusable(f"The data folder {folder} cannot be made: {error.strerror}. {_remedy()}") from error
    if not os.access(var, os.W_OK | os.X_OK):
        raise FolderUnusable(f"The data folder {var} cannot be written by user {os.geteuid()}. {_remedy()}")
    return var


def make_private_folder(folder: Path) -> Path:
    """Make ``folder`` for its owner alone, or check that an existing one is.

    Raises:
        FolderUnusable: it cannot be made, or others own it or may enter it.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise FolderUnusable(f"The folder {folder} cannot be made: {error.strerror}. {_remedy()}") from error
    _check_private(folder)
    return folder


def _check_private(folder: Path) -> None:
    found = folder.lstat()
    # As root PostgreSQL may run as nobody, which then enters through the group (see postgres.share_with).
    allowed = 0o770 if os.geteuid() == 0 and found.st_gid == NOBODY else 0o700
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & ~allowed:
        raise FolderUnusable(
            f"The folder {folder} must be a folder of user {os.geteuid()} that nobody else may enter. "
            f"If it is yours, run: chmod 700 {folder}; otherwise remove it. {_remedy()}"
        )


def _remedy() -> str:
    return "MOMENTJUDGE_VAR=/some/other/folder chooses another place."
