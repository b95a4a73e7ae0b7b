"""Shared parts of management commands: short errors, a project or account by its name, leads of a new project."""

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet

from accounts.models import Membership, Project, User
from core.exceptions import MomentJudgeError

Row = TypeVar("Row", bound=Model)


class MomentJudgeCommand(BaseCommand):
    """A management command that ends with one line and code 1 where it meets one of its ``known_errors``."""

    known_errors: tuple[type[Exception], ...] = ()  # besides the product's own and the operating system's

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Exception as error:
            if not isinstance(error, (MomentJudgeError, OSError, *self.known_errors)):
                raise
            raise CommandError(str(error)) from error

    def write_json(self, summary: object) -> None:
        """Print the last line of output, for programs."""
        self.stdout.write(json.dumps(summary, cls=DjangoJSONEncoder))


def project_named(name: str | None) -> Project:
    """Return the project of this name; without a name, the only project there is.

    Raises:
        CommandError: there is none, or several; the message lists them.
    """
    projects = Project.objects.select_related("dataset__corpus")
    if name is None and (only := list(projects[:2])) and len(only) == 1:
        return only[0]
    return row_named(projects, name)


def row_named(rows: QuerySet[Row], name: str | None) -> Row:
    """Return the row of this name. Raises CommandError where there is none; the message lists those there are."""
    row = rows.filter(name=name).first()
    if row is None:
        noun = rows.model._meta.verbose_name
        problem = f"Name the {noun}" if name is None else f"There is no {noun} named {name!r}"
        names = ", ".join(map(repr, rows.order_by("name").values_list("name", flat=True))) or "none"
        raise CommandError(f"{problem}; there are: {names}.")
    return row


def account_named(name: str) -> User:
    """Return the account of this user name, or of this id, as the audit gives it.

    Raises:
        CommandError: there is none.
    """
    user = User.objects.filter(username=name).first()
    with suppress(ValueError):
        user = user or User.objects.filter(uuid=UUID(name)).first()
    if user is None:
        raise CommandError(f"There is no account named {name!r}.")
    return user


def staff_named(project: Project, username: str | None) -> User:
    """Return the lead or admin of the project who acts. Raises CommandError where it is nobody."""
    staff = project.memberships.filter(roles__overlap=Membership.STAFF).values("user")
    actor = User.objects.filter(username=username, pk__in=staff).first()
    if actor is None:
        raise CommandError("Say with --as which lead or admin of the project decided.")
    return actor


def add_lead_argument(parser: CommandParser) -> None:
    parser.add_argument("--lead", action="append", default=[], metavar="USERNAME", help="who leads the project")


def names_of(leads: Sequence[User]) -> str:
    """Name the leads of a new project, or say how it gets one."""
    return ", ".join(lead.username for lead in leads) or "nobody yet; see `manage.py add_member`"
