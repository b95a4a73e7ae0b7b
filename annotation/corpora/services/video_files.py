"""Files of videos, taken from a folder into the storage one by one, and the cast list of a corpus."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from accounts.models import User
from annotation.captions.rewriting.lexicon import Member
from annotation.corpora.models import video_path
from annotation.models import CastMember, Corpus, Moment, Video
from core.audit import audit_record
from core.messages import send_on_commit
from core.stored_files import files_delete

VIDEO_SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")
NOT_FOUND = "The folder of videos holds no file of this name."
AT_ONCE = 1000
Preview = Moment.Preview


def video_files_add(*, videos: Mapping[str, Video], folder: Path) -> int:
    """Store the file of each video the corpus lacks and wake its cutting; moments of videos not found say so.

    Each file is committed by itself. A repeat, after an end however sudden, stores only what is not there.
    """
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in VIDEO_SUFFIXES]
    found = {path.stem: path for path in files} | {path.name: path for path in files}
    failed = _with_failures(videos.values())
    added = 0
    for name, video in videos.items():
        path = found.get(name)
        if path and (not video.file or (video.pk in failed and path.stat().st_size != video.file.size)):
            added += _file_add(video, path)
    _say_not_found([video.pk for name, video in videos.items() if name not in found and not video.file])
    if added:
        send_on_commit("annotation.tasks.previews_sweep")
    return added


def _file_add(video: Video, path: Path) -> bool:
    """Store this file as the video's, unless somebody else has given it one meanwhile."""
    replaced = str(video.file.name or "")
    with path.open("rb") as source:
        name = default_storage.save(video_path(video, path.name), File(source))
    with transaction.atomic():
        taken = Video.objects.filter(pk=video.pk, file=replaced).update(file=name)
        if taken:
            video.moments.filter(preview_state=Preview.FAILED).update(preview_state=Preview.MISSING, preview_error="")
    files_delete(replaced if taken else name)
    if taken:
        video.file.name = name
    return bool(taken)


def _with_failures(videos: Iterable[Video]) -> set[int]:
    """Videos something could not be cut from: another file may replace theirs."""
    corpora = {video.corpus_id for video in videos}
    failed = Moment.objects.filter(video__corpus__in=corpora, preview_state=Preview.FAILED)
    return set(failed.values_list("video_id", flat=True))


def _say_not_found(videos: list[int]) -> None:
    for first in range(0, len(videos), AT_ONCE):
        waiting = Moment.objects.filter(video__in=videos[first : first + AT_ONCE], preview_state=Preview.MISSING)
        waiting.update(preview_state=Preview.FAILED, preview_error=NOT_FOUND)


def members_of(corpus_id: int) -> tuple[Member, ...]:
    rows = CastMember.objects.filter(corpus=corpus_id).order_by("pk")
    return tuple(Member(row.name, row.gender, row.kind, row.noun, row.videos) for row in rows)


@transaction.atomic
def cast_import(*, corpus: Corpus, members: Sequence[Member], actor: User | None) -> int:
    """Add members to the corpus; a name it holds already is replaced. Captions made before stay as they are.

    Returns:
        How many names were given.
    """
    last = {(member.name, member.videos): member for member in members}
    rows = [
        CastMember(corpus=corpus, name=m.name, gender=m.gender, kind=m.kind, noun=m.noun, videos=m.videos)
        for m in last.values()
    ]
    CastMember.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["corpus", "name", "videos"],
        update_fields=["gender", "kind", "noun"],
        batch_size=1000,
    )
    audit_record(project=None, actor=actor, action="cast.import", subject=corpus.uuid, names=len(rows))
    return len(rows)
