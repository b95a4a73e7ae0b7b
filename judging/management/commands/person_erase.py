"""manage.py person_erase NAME: forget who somebody is, of whatever roles; their grades stay under their number."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, account_named
from judging.people.services import person_forget


class Command(MomentJudgeCommand):
    help = "Erase somebody's name, e-mail and log-in. It cannot be undone, so their user name has to be typed again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="the user name; or the account's id, as the audit gives it")
        parser.add_argument("--typed", help="the user name again, where nobody can be asked")
        parser.add_argument("--reason", default="Asked for.", help="kept in the audit: name nobody in it")

    def handle(self, *args: Any, **options: Any) -> None:
        user = account_named(options["name"])
        members = ", ".join(str(member) for member in user.memberships.select_related("project")) or "no project"
        self.stdout.write(f"{user.username}: {members}. Erasing cannot be undone.")
        typed = options["typed"] if options["typed"] is not None else input("Type the user name to go on: ")
        if typed != user.username:
            raise CommandError("That is not the user name. Nothing was erased.")
        person_forget(user=user, actor=None, reason=options["reason"])
        self.stdout.write("Erased. Backups still hold it: see docs/data-protection.md.")
