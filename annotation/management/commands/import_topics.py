"""manage.py import_topics PROJECT FILE: queries that somebody wrote, with description and narrative."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from annotation.queries.rules import JUDGED
from annotation.topics.files import LABELS, form_of, read_topics
from annotation.topics.services import topics_import

LINES_SHOWN = 50
BAD_LINES = 3  # exit code where bad lines kept everything out; 1 is for everything else


class Command(MomentJudgeCommand):
    help = (
        "Import a file of topics as queries of a project; the last line of output is JSON with the counts. "
        "Ends with 0, with 3 where bad lines kept everything out, with 1 where the file cannot be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        labels = "; ".join(f"{form}: {label}" for form, label in LABELS.items())
        parser.add_argument("project", help="name of the project")
        parser.add_argument("file", type=Path, help="the file, plain or .gz")
        parser.add_argument("--form", choices=list(LABELS), help=f"{labels} (default: as the file's name tells)")
        parser.add_argument("--split", choices=JUDGED, default="test", help="of the new queries (default: %(default)s)")
        parser.add_argument("--query-set", default="", help="the set they go to (default: named as the split)")
        parser.add_argument("--skip-bad", action="store_true", help="import the good lines of a file with bad ones")
        parser.add_argument("--dry-run", action="store_true", help="read and report, and write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project, path = project_named(options["project"]), options["file"]
        form = options["form"] or form_of(path.name)
        if not form:
            raise CommandError(
                f"The name {path.name} does not tell the form of the file. Say --form tsv, jsonl or trec."
            )
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        with path.open("rb") as source:
            report = topics_import(
                project=project,
                items=read_topics(form, source),
                split=options["split"],
                query_set=options["query_set"],
                skip_bad=options["skip_bad"],
                dry_run=options["dry_run"],
            )
        for bad in report.bad[:LINES_SHOWN]:
            self.stderr.write(str(bad))
        if len(report.bad) > LINES_SHOWN:
            self.stderr.write(f"... and {len(report.bad) - LINES_SHOWN} more bad lines")
        if report.bad and not options["skip_bad"]:
            raise CommandError(
                f"{len(report.bad)} bad lines; nothing was imported. --skip-bad imports the rest.", returncode=BAD_LINES
            )
        if options["dry_run"]:
            self.stderr.write("Dry run: nothing was written.")
        self.write_json(report.counts())
