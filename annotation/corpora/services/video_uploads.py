"""Videos that come from browsers in pieces, by tus 1.0.0: https://tus.io/protocols/resumable-upload (core, creation,
expiration, termination).

Each piece is a file of its own in the storage, so that an upload that broke off goes on at any web host. When the last
one is here a task joins them, looks into the file, and makes it a video of the corpus. What nobody goes on with is
discarded a day after its last piece.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.db import transaction
from django.db.models import Sum

from accounts.models import Project, User
from annotation.corpora.importers.base import SubtitleRecord
from annotation.corpora.models import part_path, video_path
from annotation.corpora.services.replacement import replacement_check, video_replace
from annotation.corpora.services.videos import (
    VideoRefused,
    poster_store,
    subtitles_read,
    video_check,
    video_name,
    video_store,
)
from annotation.models import Corpus, Video, VideoPart, VideoUpload
from annotation.previews.process import Source, open_source
from core import clock
from core.exceptions import MomentJudgeError, NotPossible, StorageFull, TooLarge, disk_is_full
from core.files import upload_temp_folder
from core.jobs import LONGEST_ERROR, JobKind, durable, swept
from core.media_files import files_delete
from core.sql import only_one
from core.texts import storable

logger = logging.getLogger(__name__)
LIFETIME = timedelta(hours=24)  # since the last piece, or the end
PIECE = 1 << 16  # bytes in memory
EXPIRED_AT_ONCE = 100
LOCK = "video-upload"
State = VideoUpload.State
Read = Callable[[int], bytes]
UPLOADS: JobKind[VideoUpload] = JobKind(
    "annotation.tasks.video_upload_read",
    lambda: VideoUpload.objects.filter(state=State.READING).select_related("owner", "corpus", "replaces"),
    lock="video-upload-read",
    expected=(MomentJudgeError,),
    unexpected="The site could not read this file. Upload it again; if that ends the same, tell whoever runs the site.",
)


class UploadBusy(MomentJudgeError):
    """Another request is sending a piece of this upload."""

    status, code = 423, "upload_busy"


class UploadExpired(MomentJudgeError):
    """Nobody went on with the upload in time."""

    status, code = 410, "upload_expired"


def video_upload_create(
    *, project: Project, actor: User, file_name: str, size: int, modified_ms: int = 0, replaces: Video | None = None
) -> VideoUpload:
    """Begin the upload of a file of ``size`` bytes; a try of this name that failed gives way.

    With ``replaces`` the file becomes that of this video, whatever its own name is.

    Raises:
        VideoRefused: by its name it is no video, it is empty, on its way already, or the corpus has its file; the
            video that it replaces has none.
        TooLarge: one video may not be so large, or unfinished uploads of the corpus leave no room for it.
    """
    name, suffix = video_name(file_name)
    name = replaces.name if replaces else name
    if size <= 0:
        raise VideoRefused(f"{file_name} is empty. Choose another file.")
    if size > settings.VIDEO_MAX_MB * 2**20:
        raise TooLarge(
            f"{file_name} has {_mb(size)} MB, and a video may have {settings.VIDEO_MAX_MB:,}. Make it smaller, or have"
            " it added on the server: manage.py add_videos."
        )
    with transaction.atomic():
        corpus = Corpus.objects.select_for_update(no_key=True).get(pk=project.dataset.corpus_id)
        if replaces:
            replacement_check(video=replaces)
        else:
            video_check(corpus=corpus, name=name)
        unfinished = corpus.video_uploads.filter(state__in=VideoUpload.UNFINISHED)
        if unfinished.filter(name=name).exists():
            raise VideoRefused(
                f"A file of the name {name} is on its way already. Choose the same file to go on with it, or discard"
                " what is here of it first."
            )
        total, quota = unfinished.aggregate(total=Sum("size"))["total"] or 0, settings.VIDEO_UPLOAD_QUOTA_MB
        if total + size > quota * 2**20:
            raise TooLarge(
                f"{file_name} has {_mb(size)} MB. Uploads of this corpus that are not finished take {_mb(total)} of"
                f" {quota:,} MB; finish or discard some of them first."
            )
        _delete(list(corpus.video_uploads.filter(name=name, state=State.FAILED)))
        now = clock.now()
        about = {"name": name, "suffix": suffix, "size": size, "modified_ms": modified_ms, "replaces": replaces}
        times = {"moved_at": now, "expires_at": now + LIFETIME}
        return VideoUpload.objects.create(project=project, corpus=corpus, owner=actor, **about, **times)


def _mb(size: int) -> str:
    return f"{size / 2**20:,.0f}"


def video_part_add(*, upload: VideoUpload, offset: int, read: Read) -> VideoUpload:
    """Store the bytes that ``read`` gives as those from ``offset`` on; with the last ones the file is read by a task.

    What came before the connection broke is stored, too. ``read`` gets the most bytes it may return at a time.

    Returns:
        The upload, as it is now.

    Raises:
        UploadBusy: another request is storing a piece of it.
        UploadExpired: its time is over.
        NotPossible: it goes on at another offset, or it is finished.
        TooLarge: more bytes come than the file has, or than one piece may have.
    """
    with only_one(LOCK, upload.pk) as alone:
        if not alone:
            raise UploadBusy(f"Another browser is sending {upload} just now. Wait until it has ended.")
        row = VideoUpload.objects.filter(pk=upload.pk).first()
        now = clock.now()
        if row is None or (row.state == State.UPLOADING and row.expires_at <= now):
            raise UploadExpired(f"What was here of {upload} has been discarded. Choose the file again to begin anew.")
        if row.state != State.UPLOADING or offset != row.offset:
            raise NotPossible(f"{row} goes on at byte {row.offset:,}, not at {offset:,}.")
        file_name, size = _piece_store(row, read)
        if not size:
            return row
        try:
            _part_record(row, file_name, size, now)
        except BaseException:
            files_delete(file_name)
            raise
        return row


def _piece_store(row: VideoUpload, read: Read) -> tuple[str, int]:
    """Name and size of what ``read`` gives, as a file of the storage; no file for nothing."""
    most = min(settings.VIDEO_PIECE_BYTES, row.size - row.offset)
    with _temporary_file() as file:
        size = 0
        for piece in _pieces(read):
            size += len(piece)
            if size > most:
                raise TooLarge(
                    f"{row} has {row.size:,} bytes, of which {row.offset:,} are here; a piece may have"
                    f" {settings.VIDEO_PIECE_BYTES:,} bytes at most."
                )
            file.write(piece)
        file.flush()
        file.size = size
        return (default_storage.save(part_path(VideoPart(), ""), file) if size else ""), size


def _pieces(read: Read) -> Iterator[bytes]:
    """Until nothing more comes, or the connection breaks: what came before that is as good."""
    with suppress(OSError):
        while piece := read(PIECE):
            yield piece


@contextmanager
def _temporary_file() -> Iterator[TemporaryUploadedFile]:
    """A file on the disk of uploads, which a storage in a folder takes over by moving it."""
    upload_temp_folder()
    try:
        with TemporaryUploadedFile("video", "", 0, None) as file:
            yield file
    except OSError as error:
        if disk_is_full(error):
            raise StorageFull from error
        raise


@transaction.atomic
def _part_record(row: VideoUpload, file_name: str, size: int, now: datetime) -> None:
    """Count a piece that is stored. Raises UploadExpired where the upload was discarded meanwhile."""
    start, end = row.offset, row.offset + size
    state = State.READING if end == row.size else State.UPLOADING
    values = {"offset": end, "state": state, "moved_at": now, "expires_at": now + LIFETIME}
    if not VideoUpload.objects.filter(pk=row.pk, state=State.UPLOADING, offset=start).update(**values):
        raise UploadExpired(f"{row} was discarded meanwhile. Choose the file again to begin anew.")
    VideoPart.objects.create(upload=row, start=start, size=size, file=file_name)
    for name, value in values.items():
        setattr(row, name, value)
    if state == State.READING:
        UPLOADS.send(row.pk)


@transaction.atomic
def video_upload_discard(*, upload: VideoUpload) -> None:
    """Discard what is here of an upload, or what is left to say of one. Raises NotPossible while it is being read."""
    row = VideoUpload.objects.select_for_update().filter(pk=upload.pk).first()
    if row is None:
        return
    if row.state == State.READING:
        raise NotPossible(f"{row} is being read; wait until that is done.")
    _delete([row])


def uploads_discard(video: Video) -> None:
    """Discard what is on its way to a video; what is being read is refused by ``video_store`` or ``video_replace``."""
    rows = VideoUpload.objects.filter(corpus=video.corpus_id, name=video.name, state=State.UPLOADING)
    _delete(list(rows.select_for_update()))


def _delete(rows: Sequence[VideoUpload]) -> None:
    parts = VideoPart.objects.filter(upload__in=rows)
    names = list(parts.values_list("file", flat=True))
    VideoUpload.objects.filter(pk__in=[row.pk for row in rows]).delete()
    transaction.on_commit(partial(files_delete, *names))


@swept
@transaction.atomic
def video_uploads_expire(now: datetime) -> int:
    """Discard uploads that nobody went on with, and what is left to say of others; return how many."""
    over = VideoUpload.objects.filter(expires_at__lte=now).exclude(state=State.READING).order_by("pk")
    rows = list(over.select_for_update(skip_locked=True)[:EXPIRED_AT_ONCE])
    if rows:
        logger.info("%s uploads of videos have expired", len(rows))
        _delete(rows)
    return len(rows)


@durable(UPLOADS.task)
def video_upload_read(*, upload_id: int) -> None:
    """Join the pieces of an upload that is whole, and make them a video; a repeat finds it done."""
    with UPLOADS.claim(upload_id) as row:
        if row is not None:
            _read(row)


def _read(row: VideoUpload) -> None:
    with _temporary_file() as file:
        checksum = _join(row, file)
        path = Path(file.temporary_file_path())
        source = open_source(path)
        if row.replaces:
            replacement_check(video=row.replaces, source=source, sha256=checksum)
        else:
            video_check(corpus=row.corpus, name=row.name, source=source, sha256=checksum)
        subtitles = [] if row.replaces else subtitles_read(name=row.name, source=source)
        poster_name, file_name = poster_store(path), ""  # first: a storage in a folder moves the file away
        try:
            file_name = default_storage.save(video_path(Video(), row.file_name), file)
            _finish(row, source, subtitles, {"file_name": file_name, "sha256": checksum, "poster_name": poster_name})
        except BaseException:
            files_delete(file_name, poster_name)
            raise
    logger.info("upload %s is video %s", row.pk, row.video_id)


def _join(row: VideoUpload, file: TemporaryUploadedFile) -> str:
    """Write the pieces one after the other, and return their SHA-256."""
    digest = sha256()
    try:
        for part in row.parts.filter(start__lt=row.size).order_by("start"):
            with part.file.open("rb") as piece:
                for content in piece.chunks():
                    file.write(content)
                    digest.update(content)
    except FileNotFoundError as error:
        raise VideoRefused(f"A piece of {row} is lost. Upload the file again.") from error
    if file.tell() != row.size:
        raise VideoRefused(f"Of {row.size:,} bytes of {row} {file.tell():,} are here. Upload the file again.")
    file.flush()
    file.size = row.size
    return digest.hexdigest()


@transaction.atomic
def _finish(row: VideoUpload, source: Source, subtitles: Sequence[SubtitleRecord], files: Mapping[str, str]) -> None:
    about: dict[str, Any] = {"source": source, "actor": row.owner, **files}
    if row.replaces:
        video, n_subtitles = video_replace(video=row.replaces, project=row.project, **about), 0
    else:
        video, n_subtitles = video_store(corpus=row.corpus, name=row.name, subtitles=subtitles, **about)
    UPLOADS.move(row, state=State.DONE, video=video, subtitles=n_subtitles, expires_at=clock.now() + LIFETIME)
    _parts_delete(row)


@UPLOADS.failure
@transaction.atomic
def _fail(row: VideoUpload, error: str) -> None:
    """Say why the file became no video, unless it became one meanwhile; its pieces go."""
    values = {"state": State.FAILED, "error": storable(error)[:LONGEST_ERROR], "expires_at": clock.now() + LIFETIME}
    if UPLOADS.rows().filter(pk=row.pk).update(**values):
        _parts_delete(row)


def _parts_delete(row: VideoUpload) -> None:
    names = list(row.parts.values_list("file", flat=True))
    row.parts.all().delete()
    transaction.on_commit(partial(files_delete, *names))
