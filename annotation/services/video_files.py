"""Files of videos, taken from a folder into the storage."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from annotation.messages import send_on_commit
from annotation.models import Moment, Video

VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")


def video_files_add(*, videos: Mapping[str, Video], folder: Path) -> int:
    """Store the file of each video the corpus lacks and wake its cutting; moments of videos not found say so."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in VIDEO_SUFFIXES]
    found = {path.stem: path for path in files} | {path.name: path for path in files}
    added = 0
    for name, video in videos.items():
        if video.file and (name not in found or not _is_better(video, found[name])):
            continue
        if name not in found:
            video.moments.filter(preview_state=Moment.Preview.MISSING).update(
                preview_state=Moment.Preview.FAILED, preview_error="The folder of videos holds no file of this name."
            )
            continue
        replaced = video.file.name
        with found[name].open("rb") as source:
            video.file.save(found[name].name, File(source), save=True)
        if replaced:
            transaction.on_commit(partial(default_storage.delete, replaced))
        video.moments.filter(preview_state=Moment.Preview.FAILED).update(
            preview_state=Moment.Preview.MISSING, preview_error=""
        )
        added += 1
    if added:
        send_on_commit("annotation.tasks.previews_sweep")
    return added


def _is_better(video: Video, path: Path) -> bool:
    """Whether a file may replace the stored one: something could not be cut from that, and this is another."""
    failed = video.moments.filter(preview_state=Moment.Preview.FAILED).exists()
    return failed and path.stat().st_size != video.file.size
