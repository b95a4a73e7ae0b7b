"""manage.py totp_reset USERNAME: somebody lost their phone, their passkeys and their recovery codes."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, account_named
from accounts.services.credentials import second_step_reset


class Command(MomentJudgeCommand):
    help = "Turn the second step of somebody's log-in off, and log them out everywhere. Be sure who asks."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = account_named(options["username"])
        if not second_step_reset(user=user, actor=None):
            raise CommandError(f"{user.username} logs in without a second step; there is nothing to reset.")
        self.stdout.write(f"{user.username} logs in with the password alone, and was logged out everywhere.")
