"""manage.py compare_releases BEFORE.zip AFTER.zip: what differs between two releases."""

from collections import deque
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand
from core.exceptions import ImportRefused
from core.lists import csv_write
from judging.releases.compare import Change, Compared


class Command(MomentJudgeCommand):
    help = "Compare two archives of releases pair by pair; the last line of output is JSON with the counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("before", type=Path, help="archive of the earlier release")
        parser.add_argument("after", type=Path, help="archive of the later one")
        parser.add_argument("--csv", type=Path, metavar="FILE", help="write every change into a new file")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with options["before"].open("rb") as before, options["after"].open("rb") as after:
                compared = Compared(before, after)
                self._write(compared, options["csv"])
                self.write_json(compared.facts())
        except (OSError, ImportRefused) as error:
            raise CommandError(f"The releases could not be compared: {error}") from error

    def _write(self, compared: Compared, path: Path | None) -> None:
        changes = compared.changes()
        first = list(islice(changes, 1))  # opens the archives, so that one that is refused leaves no file
        if path is None:
            deque(changes, maxlen=0)
            return
        with path.open("x", newline="", encoding="utf-8") as file:
            csv_write(file, Change._fields, chain(first, changes))
