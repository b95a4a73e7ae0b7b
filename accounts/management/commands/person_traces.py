"""manage.py person_traces WORD...: where a name, an e-mail address or any word stands in the database."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from accounts.services.traces import traces


class Command(BaseCommand):
    help = "Count the rows that hold one of these words, column by column. Reads every table once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("words", nargs="+", metavar="WORD", help="of three letters or more")

    def handle(self, *args: Any, **options: Any) -> None:
        found = traces(options["words"])
        for place, n in sorted(found.items()):
            self.stdout.write(f"{n:8,} {place}")
        self.stdout.write("" if found else "Nowhere.")
