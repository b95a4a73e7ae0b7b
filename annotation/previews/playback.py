"""The copy of a video that browsers play, where they do not play the file that was uploaded."""

import logging
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files import File
from django.core.files.storage import default_storage

from annotation.corpora.models import PlaybackState, video_path
from annotation.models import Video
from annotation.previews.process import VideoUnreadable, open_source, playback_write
from annotation.previews.services import local_copy
from core.jobs import durable, swept
from core.media_files import files_delete
from core.messages import send_on_commit
from core.sql import only_one

logger = logging.getLogger(__name__)
TASK = "annotation.tasks.video_make_playback"
SENT_AT_ONCE = 500


@durable(TASK)
def video_make_playback(*, video_id: int) -> bool:
    """Make the copy that browsers play, where they do not play the file; return whether one was made.

    Safe to repeat: one worker at a time makes it, and a copy of a file that was replaced meanwhile is deleted.
    """
    with only_one(TASK, video_id) as alone:
        requested = Video.objects.filter(pk=video_id, playback_state=PlaybackState.REQUESTED).exclude(file="")
        video = requested.first() if alone else None
        if video is None:
            return False
        name, state = _copy(video)
        if not requested.filter(file=video.file.name).update(playback=name, playback_state=state):
            files_delete(name)
            return False
    logger.info("video %s: playback %s", video.pk, state)
    return bool(name)


def _copy(video: Video) -> tuple[str, PlaybackState]:
    """Return the name of the stored copy, empty where there is none, and how far that is."""
    try:
        with local_copy(video) as path, TemporaryDirectory(prefix="momentjudge-") as folder:
            source = open_source(path)
            if source.plays_in_browsers(Path(str(video.file.name)).suffix):
                return "", PlaybackState.NOT_NEEDED
            copy = Path(folder) / "playback.mp4"
            if not playback_write(source, copy):
                return "", PlaybackState.FAILED
            with copy.open("rb") as content:
                return default_storage.save(video_path(video, copy.name), File(content)), PlaybackState.READY
    except (VideoUnreadable, FileNotFoundError) as error:
        logger.info("video %s: no copy to play: %s", video.pk, error)
        return "", PlaybackState.FAILED


@swept
def playback_sweep(now: datetime | None = None) -> None:
    """Send the making of copies again whose message was lost."""
    requested = Video.objects.filter(playback_state=PlaybackState.REQUESTED).exclude(file="")
    for video_id in list(requested.order_by("pk").values_list("pk", flat=True)[:SENT_AT_ONCE]):
        send_on_commit(TASK, video_id)
