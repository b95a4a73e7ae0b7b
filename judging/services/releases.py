"""Making a release: its row, its files, its archive."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile

from django.core.files import File
from django.db import connection, transaction

from annotation.locks import only_one
from annotation.messages import send_on_commit
from annotation.models import Project, User
from annotation.services.audit import audit_record
from judging import releases
from judging.models import Release

logger = logging.getLogger(__name__)
BUILD_TASK = "judging.tasks.release_build"
LATE = timedelta(minutes=1)  # a release still without files by then has lost its message, or its worker is busy
READY_TASK = "models_runner.tasks.similarity_runs_make"


@transaction.atomic
def release_create(*, project: Project, actor: User | None, includes_pilot: bool = False, wake: bool = True) -> Release:
    """A new version of the project's judged data; a task writes its files unless the caller does."""
    Project.objects.select_for_update().get(pk=project.pk)
    last = Release.objects.filter(project=project).order_by("-version").first()
    release = Release.objects.create(
        project=project, version=last.version + 1 if last else 1, includes_pilot=includes_pilot, created_by=actor
    )
    said = {"version": release.version, "includes_pilot": includes_pilot}
    audit_record(project=project, actor=actor, action="release.create", subject=release.uuid, **said)
    if wake:
        send_on_commit(BUILD_TASK, release.pk)
    return release


def release_build(*, release_id: int, folder: Path | None = None) -> Release:
    """Write the files of a release into ``folder`` (a temporary one by default) and its archive into the storage."""
    release = Release.objects.select_related("project").get(pk=release_id)
    if release.state == Release.State.READY:
        return release
    with only_one("release", release.pk) as alone, _folder(folder) as target:
        if not alone:
            return release
        try:
            with _snapshot():
                releases.write_files(release, target)
                manifest = _manifest_write(release, target)
        except Exception as error:
            Release.objects.filter(pk=release.pk).update(state=Release.State.FAILED, error=str(error)[:2000])
            raise
        _archive_save(release, target, manifest)
    logger.info("release %s ready: %s", release.pk, release.manifest["counts"])
    return release


def releases_sweep(*, now: datetime) -> None:
    """Send the building of releases whose files were not written: the message may have been lost."""
    late = Release.objects.filter(created_at__lte=now - LATE)
    for pk in late.filter(state=Release.State.PREPARING).values_list("pk", flat=True):
        send_on_commit(BUILD_TASK, pk)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Everything read inside is of one instant, so that files and counts agree while people go on judging."""
    outermost = not connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        if outermost:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    if folder:
        yield folder
    else:
        with TemporaryDirectory(prefix="momentjudge-release-") as made:
            yield Path(made)


def _manifest_write(release: Release, folder: Path) -> dict[str, object]:
    files = {path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)} for path in sorted(folder.iterdir())}
    manifest: dict[str, object] = {**releases.manifest_facts(release), "files": files}
    (folder / releases.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def _sha256(path: Path) -> str:
    with path.open("rb") as source:
        return file_digest(source, "sha256").hexdigest()


@transaction.atomic
def _archive_save(release: Release, folder: Path, manifest: dict[str, object]) -> None:
    name = f"release-{release.version}.zip"
    with TemporaryDirectory(prefix="momentjudge-zip-") as place:
        path = Path(place) / name
        with ZipFile(path, "w", ZIP_DEFLATED) as archive:
            for file in sorted(folder.iterdir()):
                archive.write(file, file.name)
        with path.open("rb") as source:
            release.archive.save(name, File(source), save=False)
    release.manifest, release.state, release.error = manifest, Release.State.READY, ""
    release.save(update_fields=["archive", "manifest", "state", "error"])
    send_on_commit(READY_TASK, release.pk)
