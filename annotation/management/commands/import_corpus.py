"""manage.py import_corpus FORMAT PATH: annotated moments, or subtitles, into a corpus."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand
from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.importers.base import Given
from annotation.corpora.importers.files import read_path
from annotation.corpora.importers.tvr import read_durations
from annotation.corpora.services.corpora import ImportReport, corpus_durations, corpus_import, corpus_lengths
from core.uploads import OnWarning, warnings_writer

LINES_SHOWN = 50
BAD_LINES = 3  # exit code where bad lines kept everything out; 1 is for everything else


class Command(MomentJudgeCommand):
    help = (
        "Import a file of annotated moments or subtitles; the last line of output is JSON with the counts. "
        "Ends with 0, with 3 where bad lines kept everything out, with 1 where the file cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        labels = "; ".join(f"{form.name}: {form.label}" for form in FORMATS.values())
        parser.add_argument("format", choices=sorted(FORMATS), help=labels)
        parser.add_argument("file", type=Path, help="the file; for srt also a folder or a zip archive of files")
        parser.add_argument(
            "--durations", type=Path, help="JSON: split -> video -> [seconds, index]; without it the file's own count"
        )
        parser.add_argument("--source-split", default="", help="split of the source the file belongs to")
        parser.add_argument("--videos", type=Path, help="folder with the video files, named as in the annotations")
        parser.add_argument("--corpus", default="", help="name of the corpus (default: the format's name)")
        parser.add_argument("--clip", action="store_true", help="cut windows that end after their video at its end")
        parser.add_argument("--skip-bad", action="store_true", help="import the good lines of a file with bad ones")
        parser.add_argument("--dry-run", action="store_true", help="read and report, and write nothing")
        parser.add_argument("--report", type=Path, help="CSV for every bad, clipped and flagged line")

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path | None = options["videos"]
        if folder and not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        path: Path | None = options["report"]
        with path.open("w", encoding="utf-8", newline="") if path else nullcontext() as target:
            report = self._import(options, warnings_writer(target) if target else None)
        self._say_bad(report)
        if report.bad_lines and not (report.moments or report.subtitles):
            self._say_form(options["format"], options["file"])
        if report.bad_lines and not options["skip_bad"]:
            raise CommandError(
                f"{report.bad_lines} bad lines; nothing was imported. --skip-bad imports the rest.",
                returncode=BAD_LINES,
            )
        if options["dry_run"]:
            self.stderr.write("Dry run: nothing was written.")
        self.write_json(report.counts())

    def _import(self, options: dict[str, Any], on_warning: OnWarning | None) -> ImportReport:
        form = FORMATS[options["format"]]
        corpus_name = options["corpus"] or form.name
        if form.holds == "subtitles":
            durations = corpus_durations(corpus_name=corpus_name)
        else:
            durations = read_durations(options["durations"]) if options["durations"] else {}
        videos = corpus_lengths(corpus_name=corpus_name)
        return corpus_import(
            corpus_name=corpus_name,
            source_split=options["source_split"],
            records=read_path(form, options["file"], Given(durations, clip=options["clip"], corpus_videos=videos)),
            durations=durations,
            videos=options["videos"],
            skip_bad=options["skip_bad"],
            dry_run=options["dry_run"],
            on_warning=on_warning,
        )

    def _say_form(self, form_name: str, path: Path) -> None:
        """Not one line was good: perhaps the file has another form."""
        if not path.is_file():
            return
        with path.open("rb") as source:
            seems = form_of(source, path.name)
        if seems and seems != form_name:
            self.stderr.write(f"The file looks like {FORMATS[seems].label}: try import_corpus {seems}.")

    def _say_bad(self, report: ImportReport) -> None:
        for bad in report.bad[:LINES_SHOWN]:
            self.stderr.write(str(bad))
        if report.bad_lines > LINES_SHOWN:
            self.stderr.write(f"... and {report.bad_lines - LINES_SHOWN} more bad lines")
