"""manage.py migrate: Django's, for a database that this version can read."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate

from core.compatibility import NeedsDowntime, TooOld, database_check, downtime_check


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--rolling", action="store_true", help="refuse what the release before cannot serve beside")

    def handle(self, *args: Any, rolling: bool = False, **options: Any) -> None:
        try:
            database_check()
            if rolling:
                downtime_check()
        except (TooOld, NeedsDowntime) as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
        super().handle(*args, **options)
