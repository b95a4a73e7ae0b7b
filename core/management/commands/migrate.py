"""manage.py migrate: Django's, for a database that this version can read."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from core.compatibility import TooOld, database_check


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            database_check()
        except TooOld as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
        super().handle(*args, **options)
