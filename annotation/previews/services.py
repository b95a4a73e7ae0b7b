"""Cutting the previews of one video's moments, and one of them anew."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Abs, Greatest, Least

from annotation.corpora.models import PosterState, poster_path, preview_path
from annotation.models import Moment, Video
from annotation.previews import posters
from annotation.previews.cutting import CutFailure, Preview, cut_previews
from annotation.previews.process import VideoUnreadable
from core.exceptions import NotPossible, StorageUnavailable
from core.jobs import durable, swept
from core.media_files import files_delete
from core.messages import send_on_commit

logger = logging.getLogger(__name__)
MOMENTS_TRIED = 5  # for the poster of a video, before its file is
POSTER_TASKS = {Video: "annotation.tasks.video_make_poster", Moment: "annotation.tasks.moment_make_poster"}
NOT_READABLE = "The video cannot be read: {}"


@durable("annotation.tasks.video_cut_previews")
def video_cut_previews(*, video_id: int) -> int:
    """Cut every moment of the video that has no preview yet, or one of an earlier file, and return how many; one that
    cannot be cut says why.

    Safe to repeat: moments that are ready are left alone, and losing a race costs a cut, never a row.
    """
    video = Video.objects.filter(pk=video_id).first()
    return previews_cut(video=video, moments=video.moments.all()) + previews_renew(video=video) if video else 0


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
        if not _has_file(video, str(video.file.name)):
            return n_written  # it has another file by now, whose cutting has its own message
        _fail(waiting, NOT_READABLE.format(error))
    if not _has_file(video, str(video.file.name)):  # replaced while they were cut
        ready = Moment.objects.filter(pk__in=[moment.pk for moment in waiting], preview_state=Moment.Preview.READY)
        ready.update(preview_is_old=True)
    logger.info("video %s: %s of %s previews cut", video.pk, n_written, len(waiting))
    video_make_poster(video_id=video.pk)
    return n_written


def previews_renew(*, video: Video) -> int:
    """Cut anew the previews that show an earlier file of the video, and return how many; until then they stay.

    One that cannot be cut from the new file stays for good and says why. Safe to repeat: a file that was replaced
    meanwhile changes nothing.
    """
    waiting = list(video.moments.filter(preview_is_old=True).order_by("start_s", "end_s"))
    if not waiting or not video.file:
        return 0
    n_written = 0
    try:
        with local_copy(video) as path:
            for preview in cut_previews(path, [(moment.start_s, moment.end_s) for moment in waiting]):
                moment = waiting[preview.index]
                if isinstance(preview, CutFailure):
                    _stays_old(video, [moment], preview.reason)
                else:
                    n_written += _preview_renew(video, moment, preview)
    except (VideoUnreadable, FileNotFoundError) as error:
        _stays_old(video, waiting, NOT_READABLE.format(error))
    logger.info("video %s: %s of %s previews cut anew", video.pk, n_written, len(waiting))
    return n_written


@transaction.atomic
def _preview_renew(video: Video, moment: Moment, preview: Preview) -> bool:
    row = Moment.objects.select_for_update().filter(pk=moment.pk, preview_is_old=True).first()
    if row is None or not _has_file(video, str(video.file.name)):
        return False
    row.video = video
    preview_replace(moment=row, preview=preview, start_s=row.start_s, end_s=row.end_s)
    return True


@transaction.atomic
def _stays_old(video: Video, moments: Sequence[Moment], reason: str) -> None:
    """Say why these previews show the earlier file, unless the video has another one by now."""
    if not _has_file(Video.objects.select_for_update(no_key=True).get(pk=video.pk), str(video.file.name)):
        return
    error = f"The preview is of the earlier file. {reason}"[:300]
    rows = Moment.objects.filter(pk__in=[moment.pk for moment in moments], preview_is_old=True)
    rows.update(preview_is_old=False, preview_error=error)


def _has_file(video: Video, name: str) -> bool:
    return Video.objects.filter(pk=video.pk, file=name).exists()


def preview_save(*, moment: Moment, gif: bytes, clip: bytes) -> bool:
    """Store the moment's preview, GIF and MP4 (empty: none) with its poster, unless it has one by now; say whether they
    were stored."""
    names = _files_save(moment, gif, clip)
    n_updated = Moment.objects.filter(pk=moment.pk, preview_state=Moment.Preview.MISSING).update(
        **names, poster_state=_poster_state(names), preview_state=Moment.Preview.READY, preview_error=""
    )
    if not n_updated:
        files_delete(*names.values())
    return bool(n_updated)


def _files_save(moment: Moment, gif: bytes, clip: bytes) -> dict[str, str]:
    """All or none: what is cut again and again until there is room must leave nothing behind."""
    names = {"preview": "", "preview_clip": "", "poster": ""}
    poster = posters.poster_of_preview(BytesIO(gif)) or b""
    files = (("preview", "preview.gif", gif), ("preview_clip", "preview.mp4", clip), ("poster", "poster.jpg", poster))
    try:
        for field, filename, content in files:
            if content:
                names[field] = default_storage.save(preview_path(moment, filename), ContentFile(content))
    except StorageUnavailable:
        files_delete(*names.values())
        raise
    return names


def _poster_state(names: dict[str, str]) -> PosterState:
    return PosterState.READY if names["poster"] else PosterState.FAILED


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
    """Give the moment these bounds and this preview, under a new name: browsers keep what they have seen. The preview
    was cut from ``moment.video.file``. Raises NotPossible where another moment of the video has these bounds, or the
    video is retired."""
    row = Moment.objects.select_for_update().get(pk=moment.pk)
    if row.preview_state == Moment.Preview.RETIRED:
        raise NotPossible("The video was retired meanwhile; nothing of it is shown any more.")
    old = [str(file.name) for file in (row.preview, row.preview_clip, row.poster) if file]
    names = _files_save(row, preview.gif, preview.clip)
    state = {"preview_state": Moment.Preview.READY, "preview_error": "", "poster_state": _poster_state(names)}
    is_old = not _has_file(moment.video, str(moment.video.file.name))  # replaced while it was cut
    try:
        with transaction.atomic():
            bounds = {"start_s": start_s, "end_s": end_s}
            Moment.objects.filter(pk=row.pk).update(
                preview_uuid=uuid4(), preview_is_old=is_old, **bounds, **names, **state
            )
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


@durable("annotation.tasks.video_make_poster")
def video_make_poster(*, video_id: int) -> bool:
    """Make the picture that stands for the video, unless it has one; return whether it was made.

    It is of the middle moment or one near it, or of the file where those are dark. Safe to repeat: a lost race costs a
    file.
    """
    video = Video.objects.filter(pk=video_id).exclude(poster_state=PosterState.READY).first()
    if video is None:
        return False
    name = poster_save(posters.brightest(chain(_posters_of_moments(video), _posters_of_file(video))))
    unchanged = Video.objects.filter(pk=video.pk, file=video.file.name).exclude(poster_state=PosterState.READY)
    state = PosterState.READY if name else PosterState.FAILED
    if not unchanged.update(poster=name, poster_state=state):
        files_delete(name)
        return False
    return bool(name)


def _posters_of_moments(video: Video) -> Iterator[bytes | None]:
    ready = video.moments.filter(preview_state=Moment.Preview.READY)
    nearest = ready.order_by(Abs(F("start_s") + F("end_s") - video.duration_s), "pk")[:MOMENTS_TRIED]
    return map(_poster_of_moment, nearest)


def _posters_of_file(video: Video) -> Iterator[bytes | None]:
    if not video.file:
        return
    try:
        with local_copy(video) as path:
            yield posters.poster_of_video(path)
    except (VideoUnreadable, FileNotFoundError):
        return


def poster_save(poster: bytes | None) -> str:
    """Store a poster and return the file's name; an empty one for none."""
    return default_storage.save(poster_path(Video(), "poster.jpg"), ContentFile(poster)) if poster else ""


@durable("annotation.tasks.moment_make_poster")
def moment_make_poster(*, moment_id: int) -> bool:
    """Store a frame of the moment's preview, unless one is there; return whether one was stored.

    Cutting stores it; moments cut before it did get it here. Safe to repeat: a lost race costs a file.
    """
    ready = Moment.objects.filter(preview_state=Moment.Preview.READY).exclude(poster_state=PosterState.READY)
    moment = ready.filter(pk=moment_id).first()
    if moment is None:
        return False
    poster = _poster_of_gif(moment)
    name = default_storage.save(preview_path(moment, "poster.jpg"), ContentFile(poster)) if poster else ""
    state = PosterState.READY if name else PosterState.FAILED
    if not ready.filter(pk=moment.pk, preview_uuid=moment.preview_uuid).update(poster=name, poster_state=state):
        files_delete(name)
        return False
    return bool(name)


@transaction.atomic
def poster_request(row: Video | Moment) -> None:
    """Order the poster of a video or moment that nobody has ordered yet; a task makes it."""
    missing = type(row).objects.filter(pk=row.pk, poster_state=PosterState.MISSING)
    if missing.update(poster_state=PosterState.REQUESTED):
        send_on_commit(POSTER_TASKS[type(row)], row.pk)


@swept
def posters_sweep(now: datetime | None = None) -> int:
    """Send the making of posters again whose message was lost; cutting makes those of videos that wait for it."""
    uncut = Moment.objects.filter(preview_state=Moment.Preview.MISSING, video=OuterRef("pk"))
    videos = Video.objects.exclude(~Q(file="") & Exists(uncut))
    moments = Moment.objects.filter(preview_state=Moment.Preview.READY)
    n_sent = 0
    for rows in (videos, moments):
        requested = rows.filter(poster_state=PosterState.REQUESTED)
        for pk in list(requested.order_by("pk").values_list("pk", flat=True)[:500]):
            send_on_commit(POSTER_TASKS[rows.model], pk)
            n_sent += 1
    return n_sent


def moment_of_part(video: Video, start_s: float, end_s: float) -> Moment | None:
    """Return the moment with a preview that overlaps this part of the video most; None where none does."""
    overlap = Least(F("end_s"), Value(end_s)) - Greatest(F("start_s"), Value(start_s))
    ready = video.moments.filter(preview_state=Moment.Preview.READY, start_s__lt=end_s, end_s__gt=start_s)
    return ready.order_by(overlap.desc(), "pk").first()


def _poster_of_moment(moment: Moment) -> bytes | None:
    if moment.poster:
        with suppress(OSError), moment.poster.open("rb") as file:
            return bytes(file.read())
    return _poster_of_gif(moment)


def _poster_of_gif(moment: Moment) -> bytes | None:
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
    uncut = Q(moments__preview_state=Moment.Preview.MISSING) | Q(moments__preview_is_old=True)
    waiting = Video.objects.exclude(file="").filter(uncut)
    ids = list(waiting.distinct().values_list("pk", flat=True)[:500])
    for video_id in ids:
        send_on_commit("annotation.tasks.video_cut_previews", video_id)
    return len(ids)
