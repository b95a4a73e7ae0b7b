"""manage.py restore FOLDER: a backup into an empty database and the storage, proved by counts and checksums."""

import json
from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from core.backup.database import BackupError
from core.backup.restoring import backup_restore
from core.compatibility import TooOld
from core.exceptions import MomentJudgeError


class Command(BaseCommand):
    help = (
        "Restore a backup, or the newest of a folder of backups. The last line of output is JSON. Ends with 0; with 3 "
        "where the database holds something or is in use, with 4 where what came back differs, with 5 where the "
        "backup is older than 0.1.0, with 1 otherwise."
    )
    requires_system_checks = []
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--yes", action="store_true", help="replace what the database holds; it is lost")
        parser.add_argument("--jobs", type=int, default=0, help="of pg_restore (default: a job per core, at most 4)")
        parser.add_argument("--no-media", action="store_true", help="the database alone")

    def handle(self, *args: Any, **options: Any) -> None:
        connection.close()  # its own connections would count as in use
        connection.close_pool()  # type: ignore[attr-defined]
        about = {"replace": options["yes"], "jobs": options["jobs"], "media": not options["no_media"]}
        try:
            summary = backup_restore(folder=options["folder"].resolve(), **about, report=self.stderr.write)
        except (BackupError, TooOld) as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
        except (MomentJudgeError, OSError, psycopg.Error) as error:
            raise CommandError(f"It could not be restored: {error}") from error
        self.stdout.write(json.dumps(summary))
