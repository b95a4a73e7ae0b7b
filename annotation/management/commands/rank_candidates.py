"""manage.py rank_candidates PROJECT: the candidates of queries that have none yet, by a similarity of one's choice."""

import json
from collections.abc import Callable
from time import monotonic
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Project
from annotation.pools.services.candidates import candidates_rank, similarity_choose
from annotation.queries.selectors import measures_of
from annotation.similarity.registry import NAMES, similarity
from core.exceptions import MomentJudgeError

EVERY_S = 5.0  # how often progress is said


class Command(BaseCommand):
    help = "Rank the pool for every query to judge that has no candidates; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="its name")
        parser.add_argument(
            "--similarity",
            metavar="NAME",
            help=f"what ranks, from now on: {', '.join(NAMES)}, 'meteor over' one of the others, or a sentence model (a"
            " folder below MOMENTJUDGE_MODELS, or a name on the hub); 'default' for that of SENTENCE_MODEL",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(name=options["project"]).first()
        if project is None:
            names = ", ".join(repr(name) for name in Project.objects.values_list("name", flat=True)) or "none"
            raise CommandError(f"There is no project named {options['project']!r}; there are: {names}.")
        try:
            self._choose(project, options["similarity"])
            ranked = candidates_rank(
                project_id=project.pk,
                on_progress=self._teller("texts embedded"),
                on_ranked=self._teller("queries ranked"),
            )
        except MomentJudgeError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps({"queries": ranked, "by": [str(measure) for measure in measures_of(project)]}))

    def _teller(self, what: str) -> Callable[[int, int], None]:
        """A function that says how far it is, on a line of its own every few seconds and at the end."""
        printed_at = monotonic()

        def tell(n_done: int, total: int) -> None:
            nonlocal printed_at
            if n_done == total or monotonic() - printed_at >= EVERY_S:
                printed_at = monotonic()
                self.stderr.write(f"{n_done:,} of {total:,} {what}")

        return tell

    def _choose(self, project: Project, name: str | None) -> None:
        if name == "default":
            similarity_choose(project=project, name="", actor=None)
        elif name is not None:
            similarity(name)  # a model of the hub is fetched before it is chosen
            similarity_choose(project=project, name=name, actor=None)
