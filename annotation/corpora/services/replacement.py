"""Another file for a video that has one: of the same length, for what was made of the old one is made anew."""

import logging
from functools import partial
from pathlib import Path

from django.db import transaction

from accounts.models import Project, User
from annotation.corpora.models import PlaybackState, PosterState
from annotation.corpora.services.videos import VideoRefused, retired_check
from annotation.models import Corpus, Moment, Video
from annotation.previews.process import Source
from core.audit import audit_record
from core.media_files import files_delete
from core.messages import send_on_commit

logger = logging.getLogger(__name__)
FRAMES_PER_S = 25.0  # where neither file says its own
ROUNDING_S = 1e-6
Preview = Moment.Preview


def frame_s(*rates: float | None) -> float:
    """Return how long a frame lasts, in seconds: the longest of files of these frame rates."""
    return 1 / min((rate for rate in rates if rate), default=FRAMES_PER_S)


def replacement_check(*, video: Video, source: Source | None = None, sha256: str = "") -> None:
    """Check that a file may replace that of ``video``; ``source`` and ``sha256`` are the file's, once it is here.

    Raises:
        VideoRefused: the video has no file, the new one differs by more than a frame in length, or it is the file of
            a video of the corpus.
    """
    retired_check(video)
    if not video.file:
        raise VideoRefused(f"{video.name} has no file. Upload one of this name under Videos.")
    same = Video.objects.filter(corpus=video.corpus_id, sha256=sha256).first() if sha256 else None
    if same is not None:
        owner = "it" if same.pk == video.pk else f"the video {same.name}"
        raise VideoRefused(f"This is the very file that {owner} has already. Choose another one.")
    if source is None:
        return
    frame, gap = frame_s(video.fps, source.fps), abs(source.duration_s - video.duration_s)
    if gap > frame + ROUNDING_S:
        raise VideoRefused(
            f"This file is {source.duration_s:.3f} s long and {video.name} is {video.duration_s:.3f} s: they differ by"
            f" {gap:.3f} s, and a replacement may differ by one frame ({frame:.3f} s). Choose a file of the same"
            " length, or upload this one as another video."
        )


def video_replace(
    *,
    video: Video,
    source: Source,
    file_name: str,
    sha256: str,
    poster_name: str,
    project: Project | None,
    actor: User | None,
) -> Video:
    """Give a video another stored file and poster; wake the making of its copy to play, and of its previews.

    Its length stays, as moments and releases rest on it; so do its subtitles, and each preview until its new one is
    cut. The caller has a transaction, and removes both files where this raises.

    Raises:
        VideoRefused: see ``replacement_check``.
    """
    Corpus.objects.select_for_update(no_key=True).get(pk=video.corpus_id)
    row = Video.objects.select_for_update(no_key=True).get(pk=video.pk)
    replacement_check(video=row, source=source, sha256=sha256)
    replaced = [str(file.name or "") for file in (row.file, row.poster, row.playback)]
    was = row.sha256
    plays = source.plays_in_browsers(Path(file_name).suffix)
    row.file.name, row.poster.name, row.playback.name = file_name, poster_name, ""
    row.fps, row.sha256 = source.fps, sha256
    row.poster_state = PosterState.READY if poster_name else PosterState.FAILED
    row.playback_state = PlaybackState.NOT_NEEDED if plays else PlaybackState.REQUESTED
    row.save()
    row.moments.filter(preview_state=Preview.FAILED).update(preview_state=Preview.MISSING, preview_error="")
    n_old = row.moments.filter(preview_state=Preview.READY).update(preview_is_old=True, preview_error="")
    facts = {"video": row.name, "was": was, "sha256": sha256, "previews": n_old}
    audit_record(project=project, actor=actor, action="video.replace", subject=row.uuid, **facts)
    transaction.on_commit(partial(files_delete, *replaced))
    send_on_commit("annotation.tasks.video_cut_previews", row.pk)
    if row.playback_state == PlaybackState.REQUESTED:
        send_on_commit("annotation.tasks.video_make_playback", row.pk)
    logger.info("video %s has another file: %s previews are cut anew", row.pk, n_old)
    return row
