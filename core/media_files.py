"""Removing stored files: only once no backup may still copy them, and again when the storage did not answer.

Whoever calls this has committed, or never wrote, the row that named the file. A backup holds its lock before it takes
its snapshot; so a file that is removed without that lock in sight is named by no snapshot.
"""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.core.files.storage import default_storage
from django.db import DatabaseError

from core.exceptions import StorageUnavailable
from core.jobs import swept
from core.models import LeftFile
from core.sql import is_locked

logger = logging.getLogger(__name__)
BACKUP = "backup"  # the lock of a backup, from before its snapshot until its last file is copied
AT_ONCE = 1000


def files_delete(*names: str) -> None:
    """Remove these files, now or when a backup has ended or the storage answers again; never raises."""
    file_names = [name for name in names if name]
    if not file_names:
        return
    try:
        if is_locked(BACKUP):
            _leave(file_names)
            return
    except DatabaseError:  # it is why they are not needed; whether a backup runs cannot be asked
        logger.warning("%s files stay in the storage, named by no row", len(file_names))
        return
    for index, name in enumerate(file_names):
        try:
            default_storage.delete(name)
        except StorageUnavailable as error:
            logger.warning("files are removed later: %s", error.reason)
            _leave(file_names[index:])
            return


@swept
def left_files_sweep(now: datetime | None = None) -> int:
    """Remove what was left, unless a backup runs; returns how many files went."""
    if is_locked(BACKUP):
        return 0
    rows = list(LeftFile.objects.order_by("pk")[:AT_ONCE])
    for row in rows:
        default_storage.delete(row.name)
        row.delete()
    return len(rows)


def _leave(names: Iterable[str]) -> None:
    LeftFile.objects.bulk_create([LeftFile(name=name) for name in names], ignore_conflicts=True)
