"""What the site lacks just now, in words for people and programs: its database, room on its disks."""

from typing import NamedTuple

from django.db import InterfaceError, OperationalError, connection

from core.exceptions import MomentJudgeError, StorageFull, disk_is_full

DISK_FULL = "53100"  # PostgreSQL's code


class Absence(NamedTuple):
    status: int
    code: str
    message: str


DATABASE = Absence(
    503,
    "database_away",
    "The database does not answer just now. Nothing you sent was half stored; wait a minute, then try the same again.",
)
FULL_DISK = Absence(StorageFull.status, StorageFull.code, StorageFull.message)


def absence_of(error: BaseException | None) -> Absence | None:
    """What this error says that the site lacks; None for an error of another kind."""
    if isinstance(error, MomentJudgeError):
        return Absence(error.status, error.code, str(error)) if error.status >= 500 else None
    if isinstance(error, OSError):
        return FULL_DISK if disk_is_full(error) else None
    if isinstance(error, OperationalError):
        return FULL_DISK if getattr(error.__cause__, "sqlstate", None) == DISK_FULL else DATABASE
    return DATABASE if isinstance(error, InterfaceError) else None


def pool_renew() -> None:
    """Connections that lie idle lead to the database as it was: each would fail somebody else."""
    pool = getattr(connection, "pool", None)
    if pool is not None:
        pool.drain()
