"""The folder of a local installation: data, logs and unix sockets; and what its wheels hold."""

import hashlib
import os
import re
import stat
from importlib.util import find_spec
from pathlib import Path

from core.exceptions import MomentJudgeError

LONGEST_SOCKET = 107  # bytes: sun_path holds 108, the last of them a zero
LONGEST_FOLDER = LONGEST_SOCKET - len("/.s.PGSQL.5432")
SAFE_IN_URLS = re.compile(r"[A-Za-z0-9._/-]+")  # the folder stands in the database's and the broker's URL
NOBODY = 65534
MARK = "MOMENTJUDGE_RUN"  # in the environment of all that the supervisor starts: the data folder
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


def wheel_file(wheel: str, pattern: str) -> Path:
    """Return what an installed wheel holds below its package; EmbeddedError where it is missing."""
    spec = find_spec(wheel.replace("-", "_"))
    matches = list(Path(spec.origin).parent.glob(pattern)) if spec and spec.origin else []
    if not matches:
        raise EmbeddedError(f"The package {wheel} is missing: run `make run` or install requirements/base.lock.")
    return matches[0]
