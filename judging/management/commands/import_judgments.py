"""manage.py import_judgments FILE.csv: historic judgments as ordinary rows."""

import csv
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, add_lead_argument, names_of
from accounts.services.members import leads_named
from core.texts import LONGEST_NAME, checked_name
from judging.imports.historic import judgments_import
from judging.imports.options import add_rules_options, rules_from


class Command(MomentJudgeCommand):
    help = "Import judgments (pair_id, worker, relevance) and decide them; the last line of output is JSON."

    known_errors = (UnicodeDecodeError, csv.Error)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--project", help="name of the project to make (default: from the file's name)")
        add_rules_options(parser)
        add_lead_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if not path.is_file():
            raise CommandError(f"There is no file {path}.")
        name = checked_name(options["project"] or f"Historic judgments: {path.stem}"[:LONGEST_NAME])
        self.stdout.write(f"Importing {path.name} into the project {name!r} ...")
        leads = leads_named(options["lead"])
        counts = judgments_import(path=path, project_name=name, rules=rules_from(options), leads=leads)
        self.stdout.write(f"Lead of the project: {names_of(leads)}")
        self.write_json(counts)
