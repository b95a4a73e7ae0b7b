"""manage.py person_export USERNAME FILE: answer somebody who asks what is stored of them."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, account_named
from judging.people.person_data import person_data


class Command(MomentJudgeCommand):
    help = "Write what is stored of one person into a zip file. Be sure who asks, and hand it to them alone."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("file", type=Path)
        parser.add_argument("--own", action="store_true", help="only what they may know while they still judge")

    def handle(self, *args: Any, **options: Any) -> None:
        user = account_named(options["username"])
        path: Path = options["file"]
        if path.exists():
            raise CommandError(f"{path} is there already; nothing was written.")
        path.touch(mode=0o600)
        path.write_bytes(person_data(user=user, actor=None, own=options["own"]))
        self.stdout.write(f"{path}: {path.stat().st_size:,} bytes")
