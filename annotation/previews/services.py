"""Cutting the previews of one video's moments, and one of them anew."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Abs

from annotation.corpora.models import preview_path
from annotation.models import Moment, Video
from annotation.previews import posters
from annotation.previews.cutting import CutFailure, Preview, cut_previews
from annotation.previews.process import VideoUnreadable
from core.exceptions import NotPossible, StorageUnavailable
from core.jobs import durable, swept
from core.media_files import files_delete
from core.messages import send_on_commit

logger = logging.getLogger(__name__)
NOT_READABLE = "The video cannot be read: {}"


@durable("annotation.tasks.video_cut_previews")
def video_cut_previews(*, video_id: int) -> int:
    """Cut every moment of the video that has no preview yet, and return how many; one that cannot be cut says why.

    Safe to repeat: moments that are ready are left alone, and losing a race costs a cut, never a row.
    """
    video = Video.objects.filter(pk=video_id).first()
    return previews_cut(video=video, moments=video.moments.all()) if video else 0


def previews_cut(*, video: Video, moments: QuerySet[Moment]) -> int:
    """Cut those of these moments of the video that have no preview yet, and return how many."""
    waiting = list(moments.filter(preview_state=Moment.Preview.MISSING).order_by("start_s", "end_s"))
    if not waiting:
        return 0
    if not video.file:
        _fail(waiting, "The video file is missing.")
        return 0
    n_written = 0
    try:
        with local_copy(video) as path:
            for preview in cut_previews(path, [(moment.start_s, moment.end_s) for moment in waiting]):
                moment = waiting[preview.index]
                if isinstance(preview, CutFailure):
                    _fail([moment], preview.reason)
                else:
                    n_written += preview_save(moment=moment, gif=preview.gif, clip=preview.clip)
    except (VideoUnreadable, FileNotFoundError) as error:
        _fail(waiting, NOT_READABLE.format(error))
    logger.info("video %s: %s of %s previews cut", video.pk, n_written, len(waiting))
    return n_written


def preview_save(*, moment: Moment, gif: bytes, clip: bytes) -> bool:
    """Store the moment's preview, GIF and MP4 (empty: none), unless it has one by now; say whether they were stored."""
    names = _files_save(moment, gif, clip)
    n_updated = Moment.objects.filter(pk=moment.pk, preview_state=Moment.Preview.MISSING).update(
        **names, preview_state=Moment.Preview.READY, preview_error=""
    )
    if not n_updated:
        files_delete(*names.values())
    return bool(n_updated)


def _files_save(moment: Moment, gif: bytes, clip: bytes) -> dict[str, str]:
    """Both or none: what is cut again and again until there is room must leave nothing behind."""
    names: dict[str, str] = {}
    try:
        for field, filename, content in (("preview", "preview.gif", gif), ("preview_clip", "preview.mp4", clip)):
            if content:
                names[field] = default_storage.save(preview_path(moment, filename), ContentFile(content))
    except StorageUnavailable:
        files_delete(*names.values())
        raise
    return names


def preview_cut(*, video: Video, start_s: float, end_s: float) -> Preview:
    """A preview of this stretch of the video, not stored anywhere yet. Raises NotPossible where the video is
    missing or cannot be read; the message says why."""
    if not video.file:
        raise NotPossible("The video file is missing.")
    try:
        with local_copy(video) as path:
            [preview] = cut_previews(path, [(start_s, end_s)])
    except (VideoUnreadable, FileNotFoundError) as error:
        raise NotPossible(NOT_READABLE.format(error)) from error
    if isinstance(preview, CutFailure):
        raise NotPossible(preview.reason)
    return preview


@transaction.atomic
def preview_replace(*, moment: Moment, preview: Preview, start_s: float, end_s: float) -> None:
    """Give the moment these bounds and this preview, under a new name: browsers keep what they have seen. Raises
    NotPossible where another moment of the video has these bounds."""
    row = Moment.objects.select_for_update().get(pk=moment.pk)
    old = [str(file.name) for file in (row.preview, row.preview_clip) if file]
    names = {"preview_clip": "", **_files_save(row, preview.gif, preview.clip)}
    state = {"preview_state": Moment.Preview.READY, "preview_error": "", "preview_uuid": uuid4()}
    try:
        with transaction.atomic():
            Moment.objects.filter(pk=row.pk).update(start_s=start_s, end_s=end_s, **names, **state)
    except IntegrityError as error:
        files_delete(*names.values())
        raise NotPossible("Another moment has these bounds, or this one has been judged meanwhile.") from error
    transaction.on_commit(partial(files_delete, *old))


def _fail(moments: Sequence[Moment], reason: str) -> None:
    Moment.objects.filter(pk__in=[moment.pk for moment in moments], preview_state=Moment.Preview.MISSING).update(
        preview_state=Moment.Preview.FAILED, preview_error=reason[:300]
    )


@contextmanager
def local_copy(video: Video) -> Iterator[Path]:
    """The video as a file on this machine, copied there for the time being when the storage is elsewhere."""
    try:
        path = Path(video.file.path)
    except NotImplementedError:
        with TemporaryDirectory(prefix="momentjudge-") as folder:
            path = Path(folder) / Path(str(video.file.name)).name
            with video.file.open("rb") as source, path.open("wb") as target:
                for chunk in source.chunks():
                    target.write(chunk)
            yield path
    else:
        yield path


def poster_of(video: Video, span: tuple[float, float] | None = None) -> bytes | None:
    """Return a picture that stands for the video, a JPEG: of its middle moment, else of its file where that is here.

    ``span``, seconds: of this part of it, where the file is here. None where nothing can be shown.
    """
    is_here = bool(video.file) and isinstance(video.file.storage, FileSystemStorage)
    if not (is_here and span):
        ready = video.moments.filter(preview_state=Moment.Preview.READY)
        middle = ready.order_by(Abs(F("start_s") + F("end_s") - video.duration_s), "pk").first()
        if middle is not None and (poster := poster_of_moment(middle)):
            return poster
    try:
        return posters.poster_of_video(Path(video.file.path), span) if is_here else None
    except VideoUnreadable:
        return None


def poster_of_moment(moment: Moment) -> bytes | None:
    """Return a picture that stands for the moment, a JPEG; None where its preview cannot be read."""
    try:
        with moment.preview.open("rb") as gif:
            return posters.poster_of_preview(gif)
    except OSError:
        return None


@swept
@durable("annotation.tasks.previews_sweep")
def previews_sweep(now: datetime | None = None) -> int:
    """Send the cutting of every video that still waits for it; an earlier message may have been lost. No ``JobKind``:
    two workers may cut one video, and an import sends this sweep instead of a message a video."""
    waiting = Video.objects.exclude(file="").filter(moments__preview_state=Moment.Preview.MISSING)
    ids = list(waiting.distinct().values_list("pk", flat=True)[:500])
    for video_id in ids:
        send_on_commit("annotation.tasks.video_cut_previews", video_id)
    return len(ids)
