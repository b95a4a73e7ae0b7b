"""Counts anew, from the rows, what the overview shows."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Project
from judging.work.services.batches import tallies_recount


class Command(BaseCommand):
    help = "Count anew, from the rows, what the overview shows; triggers keep it true otherwise."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", help="its name; all projects unless given")

    def handle(self, *args: Any, **options: Any) -> None:
        projects = Project.objects.order_by("name")
        if options["project"]:
            projects = projects.filter(name=options["project"])
            if not projects:
                raise CommandError(f"There is no project named {options['project']!r}.")
        for project in projects:
            state = "was wrong, and is right now" if tallies_recount(project=project) else "was right"
            self.stdout.write(f"{project.name}: {state}")
