"""What every import through the web does with its file: progress, outcome, throwing away."""

from datetime import timedelta
from functools import partial
from time import monotonic
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.db import connection, transaction
from django.db.models import F

from annotation.corpora.importers.limits import Limits
from annotation.corpora.models import Upload
from core.stored_files import files_delete
from core.texts import storable

KEPT = timedelta(days=7)  # a checked file waits so long for a yes
BEING_READ = "A file of yours is still being read; wait until that is done."
EVERY_S = 1.0  # how often progress is written
MOVED = "UPDATE {} SET bytes_read = LEAST(%s, bytes_total), updated_at = now() WHERE id = %s"


def upload_limits() -> Limits:
    """Return the limits of one upload of annotations or judgments."""
    return Limits(
        size=settings.IMPORT_MAX_UNPACKED_MB * 2**20,
        lines=settings.UPLOAD_MAX_LINES,
        ratio=settings.UPLOAD_MAX_RATIO,
        seconds=settings.UPLOAD_MAX_S,
    )


def upload_finish(row: Upload, remarks: IO[str], **values: Any) -> None:
    """Write down the outcome of a step with its report."""
    old = row.report.name
    remarks.flush()
    row.report.save("report", File(remarks.buffer), save=False)  # type: ignore[attr-defined]
    done = {**values, "report": row.report.name, "bytes_read": F("bytes_total")}
    _rows(row).update(**done)
    if old:
        transaction.on_commit(partial(files_delete, old))
    row.counts = values["counts"]


def upload_fail(row: Upload, error: str) -> None:
    values = {"state": Upload.State.FAILED, "error": storable(error)[:2000], **no_files(row)}
    with transaction.atomic():
        if _rows(row).update(**values):
            upload_throw_away(row)


def upload_throw_away(row: Upload) -> None:
    """Remove its files once that is committed."""
    for name in row.FILES:
        if stored := getattr(row, name):
            transaction.on_commit(partial(files_delete, str(stored.name)))


def upload_forget(row: Upload) -> None:
    """Remove the files of a row that could not be written."""
    for name in row.FILES:
        stored = getattr(row, name)
        if stored and stored._committed:  # what is not still has the name that its owner gave it
            files_delete(str(stored.name))


def no_files(row: Upload) -> dict[str, str]:
    return dict.fromkeys(row.FILES, "")


def _rows(row: Upload) -> Any:
    """The row, unless somebody has taken it a step further."""
    return type(row)._default_manager.filter(pk=row.pk, state=row.state)


class Progress:
    """How much of a file was read, written on a connection of its own: the import's is inside its transaction."""

    def __init__(self, row: Upload) -> None:
        self.row_id, self.read, self.written_at = row.pk, 0, monotonic()
        self.statement = MOVED.format(connection.ops.quote_name(row._meta.db_table))
        self.side = connection.copy()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        self.side.close()

    def add(self, count: int) -> None:
        self.read += count
        if monotonic() - self.written_at < EVERY_S:
            return
        self.written_at = monotonic()
        with self.side.cursor() as cursor:
            cursor.execute(self.statement, [self.read, self.row_id])
