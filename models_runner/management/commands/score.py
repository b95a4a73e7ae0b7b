"""``manage.py score``: the library's ``score`` command beside Django's own."""

from __future__ import annotations

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from moment_retrieval.cli import score
from moment_retrieval.errors import ScoringError

USAGE_ERROR = 2


class Command(BaseCommand):
    """Reads files and prints; it needs neither the database nor a configured site."""

    help = score.HELP
    requires_system_checks = ()
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        score.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text, errors = score.output(argparse.Namespace(**options))
        except ScoringError as error:
            raise CommandError(str(error), returncode=USAGE_ERROR) from error
        if text:
            self.stdout.write(text)
        if errors:
            raise CommandError("\n".join(errors), returncode=USAGE_ERROR)
