"""manage.py add_videos PATH...: files of videos into a corpus, with length, frame rate and subtitles read from them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand
from annotation.corpora.services.corpora import corpus_create
from annotation.corpora.services.videos import VIDEO_SUFFIXES, VideoRefused, video_add
from annotation.models import Corpus
from annotation.previews.process import VideoUnreadable

REFUSED = 3  # exit code where some files were not added; 1 is for everything else


class Command(MomentJudgeCommand):
    help = (
        "Add files of videos to a corpus, new or not, each named after its file; their moments can be imported later. "
        "The last line of output is JSON with the counts. Ends with 0, or with 3 where some files were not added."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, help="files, or folders of files")
        parser.add_argument("--corpus", required=True, help="name of the corpus; a new one is made")

    def handle(self, *args: Any, **options: Any) -> None:
        files = [file for path in options["paths"] for file in _files(path)]
        name = options["corpus"].strip()
        corpus = Corpus.objects.filter(name=name).first() or corpus_create(name=name, actor=None)
        n_added, n_subtitles = 0, 0
        for file in files:
            try:
                video, count = video_add(corpus=corpus, path=file)
            except (VideoRefused, VideoUnreadable) as error:
                self.stderr.write(f"{file}: {error}")
                continue
            n_added, n_subtitles = n_added + 1, n_subtitles + count
            fps = f", {video.fps:.3g} frames/s" if video.fps else ""
            self.stdout.write(f"{video.name}: {video.duration_s:.2f} s{fps}, {count} subtitles")
        self.write_json({"added": n_added, "not_added": len(files) - n_added, "subtitles": n_subtitles})
        if n_added < len(files):
            raise CommandError(f"{len(files) - n_added} files were not added.", returncode=REFUSED)


def _files(path: Path) -> Iterator[Path]:
    """Raises CommandError where there is no such file or folder, or a folder holds no video."""
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise CommandError(f"There is no file or folder {path}.")
    files = [file for file in sorted(path.iterdir()) if file.suffix.lower() in VIDEO_SUFFIXES]
    if not files:
        raise CommandError(f"The folder {path} holds no file of {', '.join(VIDEO_SUFFIXES)}.")
    yield from files
