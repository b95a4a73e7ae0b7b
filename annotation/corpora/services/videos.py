"""Files of videos: from a folder beside an import, from the command line, or from a browser once all of it is here."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Max

from accounts.models import User
from annotation.corpora.importers.base import Given, SubtitleRecord
from annotation.corpora.importers.fields import END_SLACK_S
from annotation.corpora.importers.subtitles import read_srt
from annotation.corpora.models import PlaybackState, PosterState, video_path
from annotation.models import Corpus, Moment, Subtitle, Video
from annotation.previews.posters import poster_of_video
from annotation.previews.process import SUBTITLE_BYTES, Source, VideoUnreadable, open_source, subtitles_of
from annotation.previews.services import poster_save
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.media_files import files_delete
from core.messages import send_on_commit
from core.texts import checked_name

SUBTITLE_SUFFIXES = (".srt", ".vtt")
VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")
NOT_FOUND = "The folder of videos holds no file of this name."
AT_ONCE = 1000
Preview = Moment.Preview


class VideoRefused(MomentJudgeError):
    """The file cannot become a video of the corpus; the message says why and what to do."""

    status, code = 422, "video_refused"


def video_name(file_name: str) -> tuple[str, str]:
    """Return the name of the video in a file of this name, and the file's ending.

    Raises:
        VideoRefused: it does not end as a video does, or no video may have that name.
    """
    path = Path(file_name.replace("\\", "/").rpartition("/")[2])
    if path.suffix.lower() not in VIDEO_SUFFIXES:
        *others, last = (suffix[1:] for suffix in VIDEO_SUFFIXES)
        raise VideoRefused(f"{file_name} is no video by its name; choose files of {', '.join(others)} or {last}.")
    try:
        return checked_name(path.stem), path.suffix.lower()
    except NotPossible as error:
        raise VideoRefused(f"The file cannot give the video its name. {error} Rename the file.") from error


def takes_file(video: Video) -> bool:
    """Whether a file may be added: the video has none, or some moment could not be cut from the one it has."""
    return not video.file or video.moments.filter(preview_state=Preview.FAILED).exists()


def retired_check(video: Video) -> None:
    """Raise VideoRefused where the video is retired: it never gets a file again."""
    if video.retired_at is not None:
        raise VideoRefused(
            f"{video.name} was retired on {video.retired_at:%Y-%m-%d} and gets no file again: {video.retired_because}"
        )


def video_check(*, corpus: Corpus, name: str, source: Source | None = None, sha256: str = "") -> None:
    """Check that a file may become the video ``name``; ``source`` and ``sha256`` are the file's, once it is here.

    Raises:
        VideoRefused: the corpus has another file of it, knows another length, or has this file under another name.
    """
    if corpus.is_placeholder:
        raise VideoRefused(f"The corpus {corpus.name!r} stands in for historic judgments; make another one.")
    video = corpus.videos.filter(name=name).first()
    if video is None:
        duplicate = corpus.videos.filter(sha256=sha256).first() if sha256 else None
        if duplicate is not None:
            raise VideoRefused(f"The corpus has this very file already, as {duplicate.name}.")
        return
    retired_check(video)
    if not takes_file(video):
        raise VideoRefused(f"The corpus has the file of {name} already, and all its moments could be cut from it.")
    if source and abs(source.duration_s - video.duration_s) > END_SLACK_S:
        raise VideoRefused(
            f"This file is {source.duration_s:.2f} s long, but {name} is {video.duration_s:.2f} s long in the corpus."
            " Its moments would show something else. Upload the file that was annotated, or rename this one."
        )


def subtitles_read(*, name: str, source: Source) -> list[SubtitleRecord]:
    """Return the subtitles in the file of a video; what ends after it is cut at its end, what is broken is left out."""
    return _subtitle_records(subtitles_of(source), name, source)


def subtitles_beside(*, path: Path, name: str, source: Source) -> list[SubtitleRecord]:
    """Return the subtitles in the .srt or .vtt file that lies beside a video's; none where there is no such file."""
    for suffix in SUBTITLE_SUFFIXES:
        file = path.with_suffix(suffix)
        if file.is_file():
            with file.open("rb") as content:
                text = content.read(SUBTITLE_BYTES).decode("utf-8-sig", "replace")
            return _subtitle_records(text, name, source)
    return []


def _subtitle_records(text: str, name: str, source: Source) -> list[SubtitleRecord]:
    lines = text.splitlines(keepends=True)
    options = Given({name: (source.duration_s, 0)}, clip=True, stem=name)
    return [record for record in read_srt(lines, options) if isinstance(record, SubtitleRecord)]


def video_store(
    *,
    corpus: Corpus,
    name: str,
    source: Source,
    subtitles: Sequence[SubtitleRecord],
    file_name: str,
    sha256: str,
    poster_name: str,
    actor: User | None,
) -> tuple[Video, int]:
    """Make a stored file that of a video, new or not, with its poster, length, frame rate and subtitles; wake the
    cutting, and the making of a copy where browsers do not play the file.

    The caller has a transaction, and removes both files where this raises.

    Returns:
        The video, and how many subtitles it got: those of the file where it had none.

    Raises:
        VideoRefused: see ``video_check``.
    """
    corpus = Corpus.objects.select_for_update(no_key=True).get(pk=corpus.pk)
    video_check(corpus=corpus, name=name, source=source, sha256=sha256)
    video = corpus.videos.select_for_update(no_key=True).filter(name=name).first()
    if video is None:
        last = corpus.videos.aggregate(last=Max("index"))["last"]
        video = Video(corpus=corpus, name=name, index=0 if last is None else last + 1, index_is_given=False)
        video.duration_s = source.duration_s
    replaced = [str(file.name or "") for file in (video.file, video.poster, video.playback)]
    video.file.name, video.fps, video.poster.name, video.playback.name = file_name, source.fps, poster_name, ""
    video.sha256 = sha256
    video.poster_state = PosterState.READY if poster_name else PosterState.FAILED
    plays = source.plays_in_browsers(Path(file_name).suffix)
    video.playback_state = PlaybackState.NOT_NEEDED if plays else PlaybackState.REQUESTED
    video.save()
    video.moments.filter(preview_state=Preview.FAILED).update(preview_state=Preview.MISSING, preview_error="")
    n_subtitles = 0 if video.subtitles.exists() else subtitles_add(video, subtitles)
    facts = {"video": name, "seconds": round(source.duration_s, 2), "subtitles": n_subtitles}
    audit_record(project=None, actor=actor, action="corpus.video", subject=corpus.uuid, **facts)
    transaction.on_commit(partial(files_delete, *replaced))
    send_on_commit("annotation.tasks.video_cut_previews", video.pk)
    if video.playback_state == PlaybackState.REQUESTED:
        send_on_commit("annotation.tasks.video_make_playback", video.pk)
    return video, n_subtitles


def subtitles_add(video: Video, records: Iterable[SubtitleRecord]) -> int:
    """Store lines of speech of a video, and return how many."""
    rows = [Subtitle(video=video, start_s=one.start_s, end_s=one.end_s, text=one.text) for one in records]
    return len(Subtitle.objects.bulk_create(rows, batch_size=AT_ONCE))


def poster_store(path: Path) -> str:
    """Make and store the poster of a video file, and return its name; an empty one where no frame can be read."""
    try:
        return poster_save(poster_of_video(path))
    except VideoUnreadable:
        return ""


def video_add(*, corpus: Corpus, path: Path, actor: User | None = None) -> tuple[Video, int]:
    """Store the file at ``path`` as a video of the corpus, as ``video_store`` does.

    A file of subtitles beside it, of the same name, comes before those in it.

    Raises:
        VideoRefused: see ``video_name`` and ``video_check``.
        VideoUnreadable: it is no video.
    """
    name, _ = video_name(path.name)
    video_check(corpus=corpus, name=name)
    source = open_source(path)
    with path.open("rb") as content:
        sha256 = file_digest(content, "sha256").hexdigest()
    video_check(corpus=corpus, name=name, source=source, sha256=sha256)
    subtitles = subtitles_beside(path=path, name=name, source=source) or subtitles_read(name=name, source=source)
    with path.open("rb") as content:
        file_name = default_storage.save(video_path(Video(), path.name), File(content))
    poster_name = ""
    try:
        poster_name = poster_store(path)
        with transaction.atomic():
            about: dict[str, Any] = {"corpus": corpus, "name": name, "source": source, "actor": actor}
            about |= {"sha256": sha256}
            return video_store(file_name=file_name, poster_name=poster_name, subtitles=subtitles, **about)
    except BaseException:
        files_delete(file_name, poster_name)
        raise


def video_files_add(*, videos: Mapping[str, Video], folder: Path) -> int:
    """Store the file of each video the corpus lacks and wake its cutting; moments of videos not found say so.

    Each file is committed by itself. A repeat, after an end however sudden, stores only what is not there.
    """
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in VIDEO_SUFFIXES]
    paths_by_name = {path.stem: path for path in files} | {path.name: path for path in files}
    corpora = {video.corpus_id for video in videos.values()}
    failures = Moment.objects.filter(video__corpus__in=corpora, preview_state=Preview.FAILED)
    failed = set(failures.values_list("video_id", flat=True))  # another file may replace theirs
    added = 0
    for name, video in videos.items():
        path = paths_by_name.get(name)
        if path and (not video.file or (video.pk in failed and path.stat().st_size != video.file.size)):
            added += _file_add(video, path)
    missing = [video.pk for name, video in videos.items() if name not in paths_by_name and not video.file]
    for first in range(0, len(missing), AT_ONCE):
        waiting = Moment.objects.filter(video__in=missing[first : first + AT_ONCE], preview_state=Preview.MISSING)
        waiting.update(preview_state=Preview.FAILED, preview_error=NOT_FOUND)
    if added:
        send_on_commit("annotation.tasks.previews_sweep")
    return added


def _file_add(video: Video, path: Path) -> bool:
    """Store this file as the video's, unless somebody else has given it one meanwhile."""
    replaced = str(video.file.name or "")
    with path.open("rb") as source:
        name = default_storage.save(video_path(video, path.name), File(source))
    with transaction.atomic():
        unchanged = Video.objects.select_for_update(no_key=True).filter(pk=video.pk, file=replaced).first()
        if unchanged is not None:
            poster = {"poster": "", "poster_state": PosterState.REQUESTED}  # cutting makes it, or the sweep
            playback = {"playback": "", "playback_state": PlaybackState.REQUESTED, "sha256": ""}
            Video.objects.filter(pk=video.pk).update(file=name, **poster, **playback)
            video.moments.filter(preview_state=Preview.FAILED).update(preview_state=Preview.MISSING, preview_error="")
    if unchanged is None:
        files_delete(name)
        return False
    files_delete(replaced, str(unchanged.poster.name), str(unchanged.playback.name))
    video.file.name = name
    return True
