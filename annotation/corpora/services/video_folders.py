"""Folders of the server whose videos a lead adds to a corpus: what may be looked at, what it needs, and the adding.

Only what lies below a folder of the setting VIDEO_FOLDERS is looked at, once links are followed.
"""

import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import IntegrityError, transaction

from accounts.models import Project, User
from annotation.corpora.services.videos import (
    SUBTITLE_SUFFIXES,
    VIDEO_SUFFIXES,
    VideoRefused,
    takes_file,
    video_add,
    video_name,
)
from annotation.models import VideoFolder
from annotation.previews.process import VideoUnreadable
from core import clock
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible, disk_is_full
from core.jobs import JobKind, durable

logger = logging.getLogger(__name__)
PROBLEMS_LISTED = 200
LONGEST_NAME = 300
SPARE_BYTES = 2**30  # stays free for copies to play, previews and the database
State = VideoFolder.State
FOLDERS: JobKind[VideoFolder] = JobKind(
    "annotation.tasks.video_folder_add",
    lambda: VideoFolder.objects.filter(state=State.RUNNING).select_related("corpus", "project", "started_by"),
    lock="video-folder",
    expected=(MomentJudgeError,),
    unexpected="The site could not read this folder. Go on with it; if that ends the same, tell whoever runs the site.",
    attempts=3,
)


@dataclass(frozen=True)
class Contents:
    """Hold what lies in a folder: folders in it, and its files of videos with their sizes in bytes, by name."""

    path: Path
    folders: list[str]
    sizes: dict[str, int]
    n_subtitles: int
    problems: list[tuple[str, str]]  # a file, and why it cannot be added

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def roots() -> list[Path]:
    """Return the folders that the site's owner names, and that are there."""
    return [root for root in (Path(one).resolve() for one in settings.VIDEO_FOLDERS) if root.is_dir()]


def folder_below(root: int, relative: str) -> Path:
    """Return a folder below the root of this number, by its path from there.

    Raises:
        NotPossible: there is no such root or folder, it may not be read, or a link on the way leads out of the root.
    """
    every = roots()
    if not 0 <= root < len(every):
        raise NotPossible("There is no such folder on this server. Choose one of those that are listed.")
    if "\0" in relative or Path(relative).is_absolute():
        raise NotPossible("Name a folder by its path from the one that was chosen.")
    path = (every[root] / relative).resolve()
    if not path.is_relative_to(every[root]):
        raise NotPossible(f"{relative} leads out of {every[root]}, below which folders may be chosen.")
    if not path.is_dir():
        raise NotPossible(f"There is no folder {relative} in {every[root]}.")
    return path


def contents_of(path: Path) -> Contents:
    """Return what lies in a folder; files that lead out of its root or that cannot be read are problems.

    Raises:
        NotPossible: the folder may not be read.
    """
    contents = Contents(path, [], {}, 0, [])
    n_subtitles = 0
    try:
        entries = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        raise NotPossible(f"The server may not read {path}: {error.strerror}.") from error
    for entry in entries:
        file = Path(entry.path)
        suffix = file.suffix.lower()
        n_subtitles += suffix in SUBTITLE_SUFFIXES
        try:
            if entry.is_dir():
                if _is_below_a_root(file) and not entry.name.startswith("."):
                    contents.folders.append(entry.name)
            elif suffix in VIDEO_SUFFIXES:
                contents.sizes[entry.name] = entry.stat().st_size
                if problem := _problem_of(file):
                    contents.problems.append((entry.name, problem))
        except OSError as error:
            contents.problems.append((entry.name, f"It cannot be read: {error.strerror}."))
    return Contents(path, contents.folders, contents.sizes, n_subtitles, contents.problems)


def _is_below_a_root(path: Path) -> bool:
    location = path.resolve()
    return any(location.is_relative_to(root) for root in roots())


def _problem_of(file: Path) -> str:
    """Say why a file of the folder is not added, before it is opened; empty where nothing is known against it."""
    if not _is_below_a_root(file):
        return "It is a link that leads out of the folders that may be read."
    for suffix in SUBTITLE_SUFFIXES:
        if not _is_below_a_root(file.with_suffix(suffix)):
            return f"Its subtitles, {file.stem}{suffix}, are a link that leads out of the folders that may be read."
    if not os.access(file, os.R_OK):
        return "The server may not read it."
    return ""


def room_check(n_bytes: int) -> None:
    """Raise NotPossible where files of so many bytes do not fit beside what the data folder needs to stay at work."""
    free = room()
    if free is not None and n_bytes + SPARE_BYTES > free:
        takes, rest = (f"{size / 1e9:,.1f} GB" for size in (n_bytes + SPARE_BYTES, free))
        raise NotPossible(
            f"The videos need {takes} with what copies and previews take, and {rest} are free. Make room, or choose a"
            " smaller folder."
        )


def room() -> int | None:
    """Return the free bytes where videos are stored; None where that is no folder of this server."""
    if not isinstance(default_storage._wrapped, FileSystemStorage):  # type: ignore[attr-defined]
        return None
    folder = Path(settings.MEDIA_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(folder).free


@transaction.atomic
def folder_start(*, project: Project, root: int, relative: str, actor: User) -> VideoFolder:
    """Have a task add the videos of a folder to the project's corpus.

    Raises:
        NotPossible: the folder cannot be read or holds no video, there is no room, or another one is being added.
    """
    corpus = project.dataset.corpus
    if corpus.is_placeholder:
        raise NotPossible(f"The corpus {corpus.name!r} stands in for historic judgments; make another one.")
    contents = contents_of(folder_below(root, relative))
    if not contents.sizes:
        raise NotPossible(f"The folder {contents.path} holds no file of {', '.join(VIDEO_SUFFIXES)}.")
    room_check(contents.bytes)
    try:
        with transaction.atomic():
            row = VideoFolder.objects.create(
                project=project, corpus=corpus, path=str(contents.path), n_files=len(contents.sizes), started_by=actor
            )
    except IntegrityError as error:
        raise NotPossible("A folder is being added to this corpus already. Wait until that is done.") from error
    _record(row, actor, "start", files=row.n_files)
    FOLDERS.send(row.pk)
    return row


@transaction.atomic
def folder_cancel(*, folder: VideoFolder, actor: User) -> None:
    """End the adding after the file that is being read; what was added stays. Repeating it changes nothing."""
    if VideoFolder.objects.filter(pk=folder.pk, state=State.RUNNING).update(state=State.CANCELLED):
        _record(folder, actor, "cancel")


@transaction.atomic
def folder_resume(*, folder: VideoFolder, actor: User) -> None:
    """Go on where it stopped, once more with the file that it stopped at.

    Raises:
        NotPossible: it neither failed nor was cancelled, or another folder is being added.
    """
    row = VideoFolder.objects.select_for_update().get(pk=folder.pk)
    if not row.may_go_on:
        raise NotPossible("Only what failed or was cancelled can go on.")
    try:
        with transaction.atomic():
            row.state, row.error, row.attempts, row.moved_at = State.RUNNING, "", 0, clock.now()
            row.save(update_fields=["state", "error", "attempts", "moved_at"])
    except IntegrityError as error:
        raise NotPossible("A folder is being added to this corpus already. Wait until that is done.") from error
    _record(row, actor, "resume")
    FOLDERS.send(row.pk)


def _record(row: VideoFolder, actor: User, verb: str, **data: object) -> None:
    facts = {"folder": row.path, "corpus": row.corpus.name, **data}
    audit_record(project=row.project, actor=actor, action=f"video_folder.{verb}", subject=row.uuid, **facts)


@durable(FOLDERS.task)
def video_folder_add(*, folder_id: int) -> None:
    """Add the videos of a folder one after the other; what cannot be added is named, and the rest goes on.

    Safe to repeat and to kill: it goes on behind the last file that was looked at, and a video that is there is left.
    """
    with FOLDERS.claim(folder_id) as row:
        if row is not None:
            _add(row)


def _add(row: VideoFolder) -> None:
    path = Path(row.path)
    if not path.is_dir() or not _is_below_a_root(path):
        raise NotPossible(f"The folder {row.path} is not there any more, or may not be read any more.")
    names = list(contents_of(path).sizes)
    waiting = [name for name in names if name > row.last_name]
    FOLDERS.move(row, n_files=row.n_done + len(waiting))
    for name in waiting:
        problem, is_added = _add_one(row, path / name)
        values: dict[str, object] = {"n_done": row.n_done + 1, "last_name": name[:LONGEST_NAME], "attempts": 0}
        values["n_added"] = row.n_added + is_added
        if problem:
            values["n_problems"] = row.n_problems + 1
            values["problems"] = [*row.problems, [name, problem]][:PROBLEMS_LISTED]
        FOLDERS.move(row, **values)
    FOLDERS.move(row, state=State.DONE)
    logger.info("folder %s: %s of %s videos added", row.pk, row.n_added, row.n_files)


def _add_one(row: VideoFolder, file: Path) -> tuple[str, bool]:
    """Return why the file was not added, empty where nothing is wrong, and whether it was added just now."""
    if problem := _problem_of(file):
        return problem, False
    try:
        video = row.corpus.videos.filter(name=video_name(file.name)[0]).first()
        if video and video.retired_at is None and not takes_file(video):
            return "", False  # it was here before
        video_add(corpus=row.corpus, path=file, actor=row.started_by)
    except (VideoRefused, VideoUnreadable) as error:
        return str(error), False
    except OSError as error:
        if disk_is_full(error):
            raise
        return f"It cannot be read: {error.strerror or error}.", False
    return "", True
