"""Files on their way in: uploaded, checked by a task, confirmed by their owner, then imported as a whole."""

import csv
import io
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from tempfile import TemporaryFile
from time import monotonic
from typing import IO, Any, NamedTuple, TypeVar
from uuid import uuid4

from django import forms
from django.contrib.auth.models import AbstractBaseUser
from django.core.files import File
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, connection, models, transaction
from django.db.models import F, Q
from django.db.models.constraints import BaseConstraint
from django.http import FileResponse, Http404

from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible, StorageUnavailable
from core.files import text_or_packed
from core.jobs import EVERY_S, JobKind, swept
from core.lists import CONTENT_TYPE, csv_line, plain
from core.media_files import files_delete
from core.texts import checked_name, storable

logger = logging.getLogger(__name__)
CONFIRM_WITHIN = timedelta(days=7)  # a checked file waits so long for a yes
BEING_READ = "A file of yours is still being read; wait until that is done."
NOT_WAITING = "This file does not wait to be imported any more."
MOVED = "UPDATE {} SET bytes_read = LEAST(%s, bytes_total), updated_at = now() WHERE id = %s"
MOST_WARNINGS = 1_000_000  # of a report
WARNINGS_SHOWN = 50


def import_path(row: models.Model, filename: str) -> str:
    return f"imports/{uuid4().hex}"


class Upload(models.Model):
    """One file on its way: it is checked, its owner says yes, then it is imported as a whole."""

    class State(models.TextChoices):
        CHECKING = "checking"
        CHECKED = "checked"  # waits for its owner
        IMPORTING = "importing"
        DONE = "done"
        FAILED = "failed"  # see error
        DISCARDED = "discarded"

    AT_WORK = (State.CHECKING, State.IMPORTING)
    WITH_FILE = (*AT_WORK, State.CHECKED)
    FILES: tuple[str, ...] = ("file",)  # removed when it is done

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    owner: Any  # a foreign key of the table's own, as each has its related name
    skip_bad = models.BooleanField(default=False, help_text="Import the rest of a file with bad lines.")
    file = models.FileField(upload_to=import_path, blank=True, max_length=255)
    file_name = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.CHECKING)
    bytes_read = models.PositiveBigIntegerField(default=0)
    bytes_total = models.PositiveBigIntegerField(default=0)
    counts = models.JSONField(default=dict)
    report = models.FileField(upload_to=import_path, blank=True, max_length=255)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    @property
    def is_at_work(self) -> bool:
        return self.state in self.AT_WORK

    @property
    def percent(self) -> int:
        return 100 * self.bytes_read // self.bytes_total if self.bytes_total else 0


def upload_constraints(name: str) -> list[BaseConstraint]:
    """Return the constraints of every table of uploads; they carry the table's name."""
    return [
        models.UniqueConstraint(
            fields=["owner"], condition=Q(state__in=["checking", "importing"]), name=f"{name}_one_at_work_per_owner"
        ),
        models.CheckConstraint(
            condition=Q(state__in=["checking", "checked", "importing", "done", "failed", "discarded"]),
            name=f"{name}_state_is_known",
        ),
        models.CheckConstraint(
            condition=~Q(state__in=["checking", "checked", "importing"]) | ~Q(file=""),
            name=f"{name}_waiting_has_its_file",
        ),
        models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name=f"{name}_failed_says_why"),
        models.CheckConstraint(condition=Q(bytes_read__lte=F("bytes_total")), name=f"{name}_read_within_total"),
    ]


class UploadField(forms.FileField):
    """A text, plain or packed."""

    def __init__(self, **options: Any) -> None:
        errors = {"required": "Choose a file.", "empty": "The file is empty."}
        super().__init__(validators=[text_or_packed], error_messages=errors, **options)


class NameField(forms.CharField):
    """The name of a corpus or project, as ``checked_name`` wants it."""

    def clean(self, value: Any) -> str:
        try:
            return checked_name(super().clean(value))
        except NotPossible as error:
            raise forms.ValidationError(str(error)) from error


Row = TypeVar("Row", bound=Upload)


class UploadKind(JobKind[Row]):
    """The uploads of one table, as durable work.

    Args:
        table: where they are rows.
        task: the name of the task that checks or imports one; it takes the row's key.
        lock: names the lock of a row that is worked on.
        actions: what the audit log calls an upload, the yes to it, and its discarding.
        bad: which of its counts is of what cannot be imported.
        bad_error: refuses the yes to a file with such, unless the owner agrees to leave them out.
    """

    def __init__(
        self, table: type[Row], task: str, *, lock: str, actions: tuple[str, str, str], bad: str, bad_error: str
    ) -> None:
        self.table, self.bad, self.bad_error = table, bad, bad_error
        self.uploaded, self.confirmed, self.discarded = actions
        super().__init__(
            task,
            lambda: table._default_manager.filter(state__in=table.AT_WORK).select_related("owner"),
            moved="updated_at",
            lock=lock,
            expected=(MomentJudgeError,),
            fail=upload_fail,
        )
        swept(self.discard_unconfirmed)

    def create(self, row: Row, file: "UploadedFile[Any]", **data: object) -> Row:
        """Store a new row with its file and wake the task that checks it; ``data`` is for the audit log.

        Raises:
            NotPossible: another file of the owner is still at work.
        """
        row.file_name, row.bytes_total = (file.name or "file")[-200:], file.size or 0
        try:
            with transaction.atomic():
                row.file = file
                row.save()
                data |= {"bytes": row.bytes_total}
                audit_record(project=None, actor=row.owner, action=self.uploaded, subject=row.uuid, **data)
                self.send(row.pk)
        except (IntegrityError, StorageUnavailable) as error:
            for name in row.FILES:
                field_file = getattr(row, name)
                if field_file and field_file._committed:  # what is not still has the name that its owner gave it
                    files_delete(str(field_file.name))
            if isinstance(error, StorageUnavailable):
                raise
            raise NotPossible(BEING_READ) from error
        return row

    @transaction.atomic
    def confirm(self, row: Row, *, actor: AbstractBaseUser, skip_bad: bool) -> None:
        """Say yes to a checked file and wake the task that imports it.

        Raises:
            NotPossible: it does not wait for a yes, holds bad lines and the owner did not agree to leave them out, or
                another file of the owner is at work.
        """
        row = self.table._default_manager.select_for_update().get(pk=row.pk)
        if row.state != Upload.State.CHECKED:
            raise NotPossible(NOT_WAITING)
        if row.counts.get(self.bad) and not skip_bad:
            raise NotPossible(self.bad_error)
        row.state, row.skip_bad, row.bytes_read = Upload.State.IMPORTING, skip_bad, 0
        try:
            with transaction.atomic():
                row.save(update_fields=["state", "skip_bad", "bytes_read", "updated_at"])
        except IntegrityError as error:
            raise NotPossible(BEING_READ) from error
        audit_record(project=None, actor=actor, action=self.confirmed, subject=row.uuid, skip_bad=skip_bad)
        self.send(row.pk)

    def step(self, key: int, *, check: Callable[[Row, IO[str]], None], store: Callable[[Row, IO[str]], None]) -> None:
        """Take the next step of a file: check it, or store what it holds in one transaction that also marks it done.

        Either is given the row and where its remarks go. A repeat finds the step done.
        """
        with self.claim(key) as row, TemporaryFile("w+", encoding="utf-8", newline="") as warnings:
            if row is None:
                return
            if row.state == Upload.State.CHECKING:
                check(row, warnings)
                return
            with transaction.atomic():
                store(row, warnings)
            logger.info("%s %s done: %s", self.lock, row.pk, row.counts)

    @transaction.atomic
    def discard(self, row: Row, *, actor: AbstractBaseUser | None) -> None:
        """Discard a checked file. Raises NotPossible where it is not waiting any more."""
        waiting = self.table._default_manager.filter(pk=row.pk, state=Upload.State.CHECKED)
        if not waiting.update(state=Upload.State.DISCARDED, **dict.fromkeys(row.FILES, "")):
            raise NotPossible(NOT_WAITING)
        audit_record(project=None, actor=actor, action=self.discarded, subject=row.uuid)
        _files_delete(row)

    def discard_unconfirmed(self, now: datetime) -> None:
        """Discard the checked files that nobody confirmed."""
        for row in self.table._default_manager.filter(state=Upload.State.CHECKED, updated_at__lte=now - CONFIRM_WITHIN):
            self.discard(row, actor=None)


def upload_finish(row: Upload, warnings: IO[str], **values: Any) -> None:
    """Write down the outcome of a step with its report; the files go after the last step."""
    old = row.report.name
    warnings.flush()
    row.report.save("report", File(warnings.buffer), save=False)  # type: ignore[attr-defined]
    is_last = values["state"] not in Upload.WITH_FILE
    empty_files = dict.fromkeys(row.FILES, "") if is_last else {}
    with transaction.atomic():
        _as_it_was(row).update(**values, **empty_files, report=row.report.name, bytes_read=F("bytes_total"))
        if old:
            transaction.on_commit(partial(files_delete, old))
        if is_last:
            _files_delete(row)
    row.counts = values["counts"]


def upload_fail(row: Upload, error: str) -> None:
    """Write down why a step failed; the files go."""
    values = {"state": Upload.State.FAILED, "error": storable(error)[:2000], **dict.fromkeys(row.FILES, "")}
    with transaction.atomic():
        if _as_it_was(row).update(**values):
            _files_delete(row)


def _as_it_was(row: Upload) -> Any:
    """The row, unless another process has taken it a step further."""
    return type(row)._default_manager.filter(pk=row.pk, state=row.state)


def _files_delete(row: Upload) -> None:
    """Remove its files once that is committed."""
    for name in row.FILES:
        if field_file := getattr(row, name):
            transaction.on_commit(partial(files_delete, str(field_file.name)))


class BytesProgress(AbstractContextManager["BytesProgress"]):
    """How much of a file was read, written on a connection of its own: the import's is inside its transaction. No
    ``core.jobs.Progress``: pieces are added up, what unpacks is more than the total, and there are no steps."""

    def __init__(self, row: Upload) -> None:
        self.row_id, self.read, self.written_at = row.pk, 0, monotonic()
        self.statement = MOVED.format(connection.ops.quote_name(row._meta.db_table))
        self.side = connection.copy()

    def __exit__(self, *error: object) -> None:
        self.side.close()

    def add(self, count: int) -> None:
        self.read += count
        if monotonic() - self.written_at < EVERY_S:
            return
        self.written_at = monotonic()
        with self.side.cursor() as cursor:
            cursor.execute(self.statement, [self.read, self.row_id])


class LineWarning(NamedTuple):
    """One thing a person should know about a line: it was ``refused``, ``clipped``, or kept and ``flagged``."""

    file: str
    line: int
    item: str
    outcome: str
    reason: str
    text: str = ""


OnWarning = Callable[[LineWarning], object]


def warnings_writer(target: IO[str]) -> OnWarning:
    """A function that writes remarks to ``target`` as rows of CSV, the header first, MOST_WARNINGS at most.

    A line of two characters gives a remark of a hundred; a file that is all bad must not fill the disk.
    """
    target.write(csv_line(LineWarning._fields))
    count = 0

    def write(warning: LineWarning) -> None:
        nonlocal count
        count += 1
        if count <= MOST_WARNINGS:
            target.write(csv_line(warning))
        elif count == MOST_WARNINGS + 1:
            end = f"No more than {MOST_WARNINGS:,} remarks are listed."
            target.write(csv_line(["", warning.line, "", "", end, ""]))

    return write


def first_warnings(row: Upload) -> list[dict[str, str]]:
    """The first lines of an upload's report."""
    if not row.report:
        return []
    with row.report.open("rb") as source, io.TextIOWrapper(source, encoding="utf-8", newline="") as text:
        rows = islice(csv.DictReader(text), WARNINGS_SHOWN)
        return [{name: plain(cell or "") for name, cell in row.items()} for row in rows]


def report_download(row: Upload) -> FileResponse:
    """The whole report as CSV; 404 where there is none."""
    if not row.report:
        raise Http404
    name = f"report-{row.created_at:%Y%m%d-%H%M}.csv"
    return FileResponse(row.report.open("rb"), content_type=CONTENT_TYPE, as_attachment=True, filename=name)
