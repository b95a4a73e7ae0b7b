"""manage.py import_release ARCHIVE: a release back into a project of its own."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.services.members import leads_named
from core.exceptions import MomentJudgeError
from core.texts import checked_name
from judging.imports.release import release_import


class Command(BaseCommand):
    help = "Make a project of a release's archive or folder; the last line of output is JSON with its counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="release-N.zip, or the folder it was unpacked to")
        parser.add_argument("--project", help="name of the project to make (default: that of the release)")
        parser.add_argument("--corpus", help="name of the corpus to make (default: that of the release)")
        parser.add_argument("--lead", action="append", default=[], metavar="USERNAME", help="who leads the project")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["archive"]
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        self.stdout.write(f"Importing {path.name} ...")
        names = {key: checked_name(options[key]) if options[key] else None for key in ("project", "corpus")}
        try:
            leads = leads_named(options["lead"])
            project, counts = release_import(
                path=path, project_name=names["project"], corpus_name=names["corpus"], leads=leads
            )
        except (MomentJudgeError, OSError) as error:
            raise CommandError(str(error)) from error
        who = ", ".join(lead.username for lead in leads) or "nobody yet; see `manage.py add_member`"
        self.stdout.write(f"The project is named {project.name!r}. Lead of it: {who}")
        self.stdout.write(json.dumps(counts))
