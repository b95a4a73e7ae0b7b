"""manage.py backup FOLDER: the database in one snapshot and the files it names, while people judge."""

import json
from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from core.backup.database import BackupError
from core.backup.making import backup_make
from core.exceptions import MomentJudgeError


class Command(BaseCommand):
    help = (
        "Add a backup to FOLDER; files that earlier backups there have copied are not copied again. "
        "The last line of output is JSON. Ends with 0, or with 1 where it could not be made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--media",
            choices=["copy", "list", "none"],
            default="",
            help="copy files beside the dump, or list versions of a bucket that keeps them (there the default)",
        )
        parser.add_argument(
            "--keep", type=int, default=0, metavar="N", help="remove all but the newest N (default: none)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            how = {"media": options["media"], "keep": max(0, options["keep"])}
            summary = backup_make(root=options["folder"].resolve(), **how, report=self.stderr.write)
        except BackupError as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
        except (MomentJudgeError, OSError, DatabaseError, psycopg.Error) as error:
            raise CommandError(f"The backup could not be made: {error}") from error
        if missing := summary["media"]["missing"]:
            self.stderr.write(f"{missing} files that rows name are not in the storage; {summary['folder']} says which.")
        tables = summary.pop("tables")
        rows = sum(rows for rows, _ in tables.values())
        self.stdout.write(json.dumps({**summary, "tables": len(tables), "rows": rows}))
