"""manage.py rank_candidates PROJECT: the candidates of queries that have none yet, by a similarity of one's choice."""

from collections.abc import Callable
from time import monotonic
from typing import Any

from django.core.management.base import CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from accounts.models import Project
from annotation.pools.services.candidates import candidates_rank, similarity_choose
from annotation.queries.selectors import measures_of
from annotation.similarity.registry import NAMES, similarity

EVERY_S = 5.0  # between two lines of progress


class Command(MomentJudgeCommand):
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
        project = project_named(options["project"])
        self._choose(project, options["similarity"])
        ranked = candidates_rank(
            project_id=project.pk,
            on_progress=self._progress_writer("texts embedded"),
            on_ranked=self._progress_writer("queries ranked"),
        )
        self.write_json({"queries": ranked, "by": [str(measure) for measure in measures_of(project)]})

    def _progress_writer(self, what: str) -> Callable[[int, int], None]:
        """Return a function that prints the progress, a line every few seconds and one at the end."""
        printed_at = monotonic()

        def write(n_done: int, total: int) -> None:
            nonlocal printed_at
            if n_done == total or monotonic() - printed_at >= EVERY_S:
                printed_at = monotonic()
                self.stderr.write(f"{n_done:,} of {total:,} {what}")

        return write

    def _choose(self, project: Project, name: str | None) -> None:
        if name == "default":
            similarity_choose(project=project, name="", actor=None)
        elif name is not None:
            similarity(name)  # a model of the hub is fetched before it is chosen
            similarity_choose(project=project, name=name, actor=None)
