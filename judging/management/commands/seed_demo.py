"""manage.py seed_demo: the demo project, in an empty database."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand
from accounts.models import Project
from core.models import Job
from judging.demo.services import demo_project, demo_seed
from judging.review.selectors import job_running

POLL_S = 1.0
PATIENCE_S = 90.0  # cutting the previews of one video takes seconds


class Command(MomentJudgeCommand):
    help = "Seed the demo into an empty database. The workers of `make run` cut its previews; this shows how far."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--videos", type=int, default=settings.DEMO_VIDEOS)
        parser.add_argument("--seed", type=int, default=settings.DEMO_SEED)
        parser.add_argument("--no-wait", action="store_true", help="do not wait for the previews")

    def handle(self, *args: Any, **options: Any) -> None:
        new_project = demo_seed(videos=options["videos"], seed=options["seed"])
        project = demo_project()
        if project is None:
            self.stdout.write("The database holds a project already; the demo was not seeded.")
        elif new_project is None and not job_running(project):
            self.stdout.write("The demo is here already; nothing was done.")
        elif not options["no_wait"]:
            self._follow(project)

    def _follow(self, project: Project) -> None:
        """Print each step of the running job until it ends."""
        last_line, still = "", 0.0
        while job := Job.objects.filter(project=project).order_by("-id").first():
            line = f"[{job.percent:3d} %] {job.title}"
            if line != last_line:
                self.stdout.write(line)
                self.stdout.flush()
                last_line, still = line, 0.0
            if job.state != Job.State.RUNNING:
                return
            if still > PATIENCE_S:
                self.stdout.write(
                    "Nothing has moved for a while. The workers of `make run` cut the previews: start that."
                )
                return
            still += POLL_S
            time.sleep(POLL_S)
