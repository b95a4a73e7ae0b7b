"""manage.py import_corpus FORMAT FILE: annotated moments into a corpus."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.exceptions import MomentJudgeError
from annotation.importers import FORMATS, ImportFileError, read_durations
from annotation.services.corpora import corpus_import

LINES_SHOWN = 50


class Command(BaseCommand):
    help = "Import a file of annotated moments; the last line of output is JSON with the counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("format", choices=sorted(FORMATS))
        parser.add_argument("file", type=Path)
        parser.add_argument("--durations", type=Path, required=True, help="JSON: split -> video -> [seconds, index]")
        parser.add_argument("--source-split", required=True, help="split of the source the file belongs to")
        parser.add_argument("--videos", type=Path, help="folder with the video files, named as in the annotations")
        parser.add_argument("--corpus", default="", help="name of the corpus (default: the format's name)")
        parser.add_argument("--skip-bad", action="store_true", help="import the good lines of a file with bad ones")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        folder: Path | None = options["videos"]
        if folder and not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        try:
            durations = read_durations(options["durations"])
            with path.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
                report = corpus_import(
                    corpus_name=options["corpus"] or options["format"],
                    source_split=options["source_split"],
                    records=FORMATS[options["format"]].read(lines, durations),
                    durations=durations,
                    videos=folder,
                    skip_bad=options["skip_bad"],
                )
        except (ImportFileError, MomentJudgeError, OSError) as error:
            raise CommandError(str(error)) from error
        for bad in report.bad[:LINES_SHOWN]:
            self.stderr.write(f"line {bad.line}: {bad.reason}")
        if len(report.bad) > LINES_SHOWN:
            self.stderr.write(f"... and {len(report.bad) - LINES_SHOWN} more bad lines")
        if report.bad and not options["skip_bad"]:
            raise CommandError(f"{len(report.bad)} bad lines; nothing was imported. --skip-bad imports the rest.")
        self.stdout.write(json.dumps(report.counts()))
