"""Subtitles of a video from a file of their own, which replace those that it has."""

import logging
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from django.db import transaction

from accounts.models import Project, User
from annotation.corpora.importers.base import BadLine, Given, SubtitleRecord
from annotation.corpora.importers.subtitles import read_srt
from annotation.corpora.services.videos import SUBTITLE_SUFFIXES, VideoRefused, retired_check, subtitles_add
from annotation.models import Corpus, Video, VideoUpload
from annotation.previews.process import SUBTITLE_BYTES
from core.audit import audit_record
from core.exceptions import MomentJudgeError, TooLarge

logger = logging.getLogger(__name__)
FAULTS_LISTED = 3


class VideoUnfinished(MomentJudgeError):
    """The video of these subtitles is being uploaded or read; the same file is taken once that is done."""

    status, code = 409, "video_on_its_way"


class SubtitleCounts(NamedTuple):
    """A video that has new subtitles: how many were added, and how many it had before."""

    video: Video
    added: int
    replaced: int

    def __str__(self) -> str:
        added = _count(self.added)
        if self.replaced:
            verb = "replaces" if self.added == 1 else "replace"
            return f"{added} of {self.video.name} {verb} the {self.replaced:,} that it had."
        return f"{added} of {self.video.name} added."


def _count(n: int) -> str:
    return f"{n:,} subtitle{'' if n == 1 else 's'}"


def subtitles_set(*, project: Project, file_name: str, content: bytes, actor: User | None) -> SubtitleCounts:
    """Give the video that an .srt or .vtt file is named after the lines in it, in the place of those it has.

    Lines may overlap; what ends after the video is cut at its end.

    Raises:
        VideoRefused: the file has another ending, no video of the corpus has its name, or a line of it is wrong;
            nothing is changed.
        VideoUnfinished: an upload of the video is not finished.
        TooLarge: the file is too large for subtitles.
    """
    path = Path(file_name.replace("\\", "/").rpartition("/")[2])
    if path.suffix.lower() not in SUBTITLE_SUFFIXES:
        raise VideoRefused(f"{path.name} holds no subtitles by its name; choose .srt or .vtt files.")
    if len(content) > SUBTITLE_BYTES:
        raise TooLarge(f"{path.name} is larger than {SUBTITLE_BYTES >> 20} MB, which no subtitles are.")
    corpus = project.dataset.corpus
    with transaction.atomic():
        video = corpus.videos.select_for_update(no_key=True).filter(name=path.stem).first()
        if video is None:
            raise _missing(corpus, path)
        retired_check(video)
        records = _records(content, path.name, video)
        replaced, _ = video.subtitles.all().delete()
        result = SubtitleCounts(video, subtitles_add(video, records), replaced)
        facts = {"video": video.name, "subtitles": result.added, "replaced": replaced}
        audit_record(project=project, actor=actor, action="corpus.subtitles", subject=corpus.uuid, **facts)
    logger.info("video %s: %s subtitles replace %s", video.pk, result.added, replaced)
    return result


def _missing(corpus: Corpus, path: Path) -> MomentJudgeError:
    if corpus.video_uploads.filter(name=path.stem, state__in=VideoUpload.UNFINISHED).exists():
        return VideoUnfinished(f"The video {path.stem} is on its way. Choose {path.name} again when it is there.")
    return VideoRefused(
        f"The corpus has no video {path.stem}. Upload that first, or name the file of subtitles after its video."
    )


def _records(content: bytes, file_name: str, video: Video) -> list[SubtitleRecord]:
    """Return all lines of a file. Raises VideoRefused where one is wrong, with its number."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise VideoRefused(f"{file_name} is not written in UTF-8. Save it in UTF-8 and choose it again.") from error
    options = Given({video.name: (video.duration_s, 0)}, clip=True, stem=video.name)
    items = list(read_srt(StringIO(text, newline=None), options))
    faults = [item for item in items if isinstance(item, BadLine)]
    if faults:
        reasons = "; ".join(str(fault) for fault in faults[:FAULTS_LISTED])
        others = len(faults) - FAULTS_LISTED
        more = f"; and {others:,} more" if others > 0 else ""
        raise VideoRefused(f"{file_name}, {reasons}{more}. The subtitles of {video.name} stay as they were.")
    records = [item for item in items if isinstance(item, SubtitleRecord)]
    if not records:
        raise VideoRefused(f"{file_name} holds no subtitles. Those of {video.name} stay as they were.")
    return records
