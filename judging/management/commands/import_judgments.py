"""manage.py import_judgments FILE.csv: historic judgments as ordinary rows."""

import csv
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.services.members import leads_named
from core.exceptions import MomentJudgeError
from core.texts import LONGEST_NAME, checked_name
from judging.imports.historic import judgments_import


class Command(BaseCommand):
    help = "Import judgments (pair_id, worker, relevance) and decide them; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", help="name of the project to make (default: from the file's name)")
        parser.add_argument("--lead", action="append", default=[], metavar="USERNAME", help="who leads the project")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        name = checked_name(options["project"] or f"Historic judgments: {path.stem}"[:LONGEST_NAME])
        self.stdout.write(f"Importing {path.name} into the project {name!r} ...")
        try:
            leads = leads_named(options["lead"])
            counts = judgments_import(path=path, project_name=name, leads=leads)
        except (MomentJudgeError, OSError, UnicodeDecodeError, csv.Error) as error:
            raise CommandError(str(error)) from error
        names = ", ".join(lead.username for lead in leads) or "nobody yet; see `manage.py add_member`"
        self.stdout.write(f"Lead of the project: {names}")
        self.stdout.write(json.dumps(counts))
