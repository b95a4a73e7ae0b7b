"""Make releases and compare two of them, each by a task; keep what the team says of its releases."""

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

from django.core.files import File
from django.db import connection, transaction
from django.dispatch import Signal

from accounts.models import Project, User
from core import clock
from core.audit import audit_record
from core.exceptions import ImportRefused, StorageFull, StorageUnavailable, disk_is_full
from core.jobs import JobKind, Progress, durable
from judging.exceptions import FormStale, NotPossibleNow
from judging.models import WORDS, Release, ReleaseChange, ReleaseComparison, ReleaseWords
from judging.releases import files
from judging.releases.compare import Compared
from judging.releases.selectors import DAMAGED, Scope, archive_opened, scope_of
from judging.webhooks.models import Event
from judging.webhooks.services import event_record

logger = logging.getLogger(__name__)
release_ready = Signal()  # with `release`, in the transaction: other apps go on from its files
USED = "This form made another release already. Load the page again; nothing was stored."
RELEASES = JobKind(
    "judging.tasks.release_build",
    lambda: Release.objects.filter(state=Release.State.PREPARING).select_related("project"),
    lock="release",
    expected=(),
)


@transaction.atomic
def release_create(
    *,
    project: Project,
    actor: User | None,
    includes_pilot: bool = False,
    is_anonymised: bool = False,
    key: UUID | None = None,
    wake: bool = True,
) -> Release:
    """A new version of the project's judged data; a task writes its files unless the caller does.

    Args:
        key: what the form carried; a form sent again is answered with the release that it made.

    Raises:
        FormStale: the form made a release already, of another kind.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    options = {"includes_pilot": includes_pilot, "is_anonymised": is_anonymised}
    if key and (earlier_release := Release.objects.filter(uuid=key).first()):
        if not Release.objects.filter(pk=earlier_release.pk, project=project, **options).exists():
            raise FormStale(USED)
        return earlier_release
    last = Release.objects.filter(project=project).order_by("-version").first()
    version = last.version + 1 if last else 1
    release = Release.objects.create(uuid=key or uuid4(), project=project, version=version, created_by=actor, **options)
    facts = {"version": release.version, **options}
    audit_record(project=project, actor=actor, action="release.create", subject=release.uuid, **facts)
    if wake:
        RELEASES.send(release.pk)
    return release


@transaction.atomic
def release_retry(*, release: Release, actor: User) -> None:
    """Build a release again that failed. Raises NotPossibleNow where it did not fail, or somebody has tried again
    already."""
    row = Release.objects.select_for_update(of=("self",)).select_related("project").get(pk=release.pk)
    if row.state != Release.State.FAILED:
        raise NotPossibleNow(f"Release {row.version} is {row.get_state_display().lower()} already.")
    RELEASES.resume(row, state=Release.State.PREPARING)
    audit_record(project=row.project, actor=actor, action="release.retry", subject=row.uuid, version=row.version)


@durable(RELEASES.task)
def release_build(*, release_id: int, folder: Path | None = None) -> Release | None:
    """Write the files of a release into ``folder`` (a temporary one by default) and its archive into the storage.

    Safe to repeat and to kill: nothing is kept before the archive is whole, and one that is ready, or failed and that
    nobody asked for again, stays as it is.
    """
    with RELEASES.claim(release_id) as release, TemporaryDirectory(prefix="momentjudge-release-") as temp_folder:
        if release is None:
            return Release.objects.filter(pk=release_id).first()
        try:
            with closing(_Progress(release)) as progress:
                _write(release, folder or Path(temp_folder), progress.report)
        except StorageUnavailable as error:  # it is tried again, and the team can see why it waits
            Release.objects.filter(pk=release.pk, state=Release.State.PREPARING).update(error=str(error))
            raise
    logger.info("release %s ready: %s", release.pk, release.manifest["counts"])
    return release


def _write(release: Release, folder: Path, report: files.OnStep) -> None:
    try:
        with _snapshot():
            release.state_at = clock.now()
            scope = scope_of(release)
            manifest = files.write_files(release, scope, folder, report)
        _archive_save(release, scope, folder, manifest, report)
    except OSError as error:
        if disk_is_full(error):
            raise StorageFull from error
        raise


@transaction.atomic
def release_words_set(*, project: Project, actor: User | None, **words: str) -> list[str]:
    """Keep what the team says of its releases, from the next one on; the names of what changed. Which words they are
    goes into the audit log, not the words: they may name people."""
    Project.objects.select_for_update().get(pk=project.pk)
    row, _ = ReleaseWords.objects.get_or_create(project=project)
    changed = [name for name in WORDS if name in words and getattr(row, name) != words[name]]
    if not changed:
        return []
    for name in changed:
        setattr(row, name, words[name])
    row.edited_by = actor
    row.save()
    audit_record(project=project, actor=actor, action="release.words", subject=project.uuid, changed=changed)
    return changed


@contextmanager
def _snapshot() -> Iterator[None]:
    """Everything read inside is of one instant, so that files and counts agree while people go on judging."""
    outermost = not connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        if outermost:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _archive_save(release: Release, scope: Scope, folder: Path, manifest: dict[str, Any], report: files.OnStep) -> None:
    name = f"release-{release.version}.zip"
    with TemporaryDirectory(prefix="momentjudge-zip-") as temp_folder:
        path = Path(temp_folder) / name
        files.pack(folder, path, report)
        release.archive_bytes, release.archive_sha256 = path.stat().st_size, files.digest_of(path)
        with path.open("rb") as source:
            release.archive.save(name, File(source), save=False)
    release.manifest, release.content_sha256 = manifest, manifest["content_sha256"]
    release.is_partial, release.state, release.error = scope.is_partial, Release.State.READY, ""
    with transaction.atomic():
        of_archive = ("archive", "archive_bytes", "archive_sha256", "content_sha256", "manifest")
        release.save(update_fields=[*of_archive, "is_partial", "state", "state_at", "error"])
        release_ready.send(sender=Release, release=release)
        about = {"release": release.uuid, "number": release.version, "state": release.state}
        event_record(project_id=release.project_id, event=Event.RELEASE_READY, **about)


WRITE = """
UPDATE judging_release SET step = %s, done = %s, total = %s, moved_at = %s WHERE id = %s AND state = 'preparing'"""


class _Progress(Progress[Release]):
    """Writes on a connection of its own, past the snapshot, which shows nobody anything before its end."""

    def __init__(self, release: Release) -> None:
        super().__init__(RELEASES, release, None)
        self.own = None if connection.in_atomic_block else connection.copy()

    def write(self, step: str, n_done: int, total: int) -> None:
        with (self.own or connection).cursor() as cursor:
            cursor.execute(WRITE, [step, n_done, total, clock.now(), self.row.pk])

    def close(self) -> None:
        if self.own:
            self.own.close()


CHUNK = 5000
UNREADABLE = "The archive of one of them is not in the storage, or cannot be read."
State = ReleaseComparison.State


def _comparison_fail(row: ReleaseComparison) -> None:
    values = {"counts": {}, "state": State.FAILED, "error": UNREADABLE, "moved_at": clock.now()}
    ReleaseComparison.objects.filter(pk=row.pk).update(**values)


COMPARISONS = JobKind(
    "judging.tasks.release_compare",
    lambda: ReleaseComparison.objects.filter(state=State.WORKING).select_related("before", "after"),
    lock="release comparison",
    expected=(NotPossibleNow, ImportRefused, OSError, ValueError, *DAMAGED),
    fail=lambda row, error: _comparison_fail(row),
)


@transaction.atomic
def release_comparison_of(*, before: Release, after: Release, now: datetime) -> ReleaseComparison:
    """The comparison of two releases, which a task makes when it is asked for first, or a while after it failed."""
    row, is_new = ReleaseComparison.objects.get_or_create(before=before, after=after)
    failed = ReleaseComparison.objects.filter(pk=row.pk, state=State.FAILED, moved_at__lte=now - COMPARISONS.late)
    if is_new or failed.update(state=State.WORKING, error="", moved_at=now):
        COMPARISONS.send(row.pk)
        row.refresh_from_db()
    return row


@durable(COMPARISONS.task)
def release_compare(*, comparison_id: int) -> None:
    """Read both archives and keep what differs; a repeat finds it done."""
    with COMPARISONS.claim(comparison_id) as row:
        if row is None:
            return
        with transaction.atomic(), archive_opened(row.before) as before, archive_opened(row.after) as after:
            compared = Compared(before, after)
            changes = _rows(row, compared)
            while chunk := list(islice(changes, CHUNK)):
                ReleaseChange.objects.bulk_create(chunk)
            COMPARISONS.move(row, counts=compared.facts(), state=State.READY)


def _rows(row: ReleaseComparison, compared: Compared) -> Iterator[ReleaseChange]:
    of_kind: Counter[str] = Counter()
    for number, change in enumerate(compared.changes(), start=1):
        of_kind[change.kind] += 1
        yield ReleaseChange(comparison=row, number=number, number_of_kind=of_kind[change.kind], **change._asdict())
