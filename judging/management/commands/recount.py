"""Counts anew, from the rows, what the overview shows."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, row_named
from accounts.models import Project
from judging.work.services.batches import tallies_recount


class Command(MomentJudgeCommand):
    help = "Count anew, from the rows, what the overview shows; triggers keep it true otherwise."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", help="its name; all projects unless given")

    def handle(self, *args: Any, **options: Any) -> None:
        projects = Project.objects.order_by("name")
        for project in [row_named(projects, options["project"])] if options["project"] else projects:
            state = "was wrong, and is right now" if tallies_recount(project=project) else "was right"
            self.stdout.write(f"{project.name}: {state}")
