"""manage.py import_release ARCHIVE: a release back into a project of its own."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, add_lead_argument, names_of
from accounts.services.members import leads_named
from core.texts import checked_name
from judging.imports.release import release_import


class Command(MomentJudgeCommand):
    help = "Make a project of a release's archive or folder; the last line of output is JSON with its counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="release-N.zip, or the folder it was unpacked to")
        parser.add_argument("--project", help="name of the project to make (default: that of the release)")
        parser.add_argument("--corpus", help="name of the corpus to make (default: that of the release)")
        add_lead_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["archive"]
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        self.stdout.write(f"Importing {path.name} ...")
        names = {key: checked_name(options[key]) if options[key] else None for key in ("project", "corpus")}
        leads = leads_named(options["lead"])
        project, counts = release_import(
            path=path, project_name=names["project"], corpus_name=names["corpus"], leads=leads
        )
        self.stdout.write(f"The project is named {project.name!r}. Lead of it: {names_of(leads)}")
        self.write_json(counts)
