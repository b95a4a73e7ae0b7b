"""manage.py person_erase USERNAME: forget who somebody is, of whatever role; their grades stay under their number."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.exceptions import MomentJudgeError
from annotation.models import User
from judging.services.standings import person_forget


class Command(BaseCommand):
    help = "Erase somebody's name, e-mail and log-in. It cannot be undone, so their user name has to be typed again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--typed", help="the user name again, where nobody can be asked")
        parser.add_argument("--reason", default="Asked for.", help="kept in the audit: name nobody in it")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account named {options['username']!r}.")
        members = ", ".join(str(member) for member in user.memberships.select_related("project")) or "no project"
        self.stdout.write(f"{user.username}: {members}. Erasing cannot be undone.")
        typed = options["typed"] if options["typed"] is not None else input("Type the user name to go on: ")
        if typed != user.username:
            raise CommandError("That is not the user name. Nothing was erased.")
        try:
            person_forget(user=user, actor=None, reason=options["reason"])
        except MomentJudgeError as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write("Erased. Backups still hold it: see docs/data-protection.md.")
