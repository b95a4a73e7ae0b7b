"""manage.py tries_reset USERNAME: somebody is kept waiting after wrong passwords, their own or others'."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, account_named
from accounts.limits import CODES, PASSWORDS, tries_forget


class Command(MomentJudgeCommand):
    help = "Forget wrong passwords and codes of somebody, wherever they came from: they can log in at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = account_named(options["username"])
        tries_forget(user.username)
        for limit in (PASSWORDS, CODES):
            limit.forget(str(user.uuid))
        self.stdout.write(f"{user.username} can log in at once. A network address that tried many names waits still.")
