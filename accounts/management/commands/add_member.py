"""manage.py add_member PROJECT USERNAME ROLE: a role of somebody in a project, and their account if they have none."""

from secrets import token_urlsafe
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from accounts.models import Membership, User
from accounts.services.members import role_add
from core.exceptions import MomentJudgeError


class Command(MomentJudgeCommand):
    help = "Give somebody a role in a project, beside those they have; a new account's password is printed once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project")
        parser.add_argument("username")
        parser.add_argument("role", choices=Membership.Role.values)
        parser.add_argument(
            "--qualified",
            metavar="WHY",
            help="an annotator who was qualified elsewhere: without training and exam; say where",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        user = User.objects.filter(username=options["username"]).first()
        password = "" if user else token_urlsafe(12)
        qualified, statuses = options["qualified"], Membership.Status
        initial_status: dict[str, Any] = {
            "status": statuses.QUALIFIED if qualified else statuses.CANDIDATE,
            "reason": qualified or "",
        }
        try:
            if user is None:
                User(username=options["username"]).clean_fields(exclude=["password"])
                user = User.objects.create_user(options["username"], password)
            member = role_add(project=project, user=user, role=options["role"], **initial_status)
        except (MomentJudgeError, ValidationError) as error:
            raise CommandError(" ".join(getattr(error, "messages", [str(error)]))) from error
        self.stdout.write(f"{user.username} is {member}.")
        if password:
            self.stdout.write(f"Password: {password}")
