"""manage.py draw_queries PROJECT: queries of a project that has none, or new ones while nothing rests on the old."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Project
from annotation.management.draws import add_draw_arguments, say_what_is_unwritten, sizes_asked
from annotation.queries.rules import JUDGED, NONE_OF, NoSplit
from annotation.queries.selectors import draft_of
from annotation.queries.services import draw_refusal, queries_draw
from core.exceptions import MomentJudgeError


class Command(BaseCommand):
    help = "Draw a project's queries and divide them into splits; the last line of output is JSON with the counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project")
        add_draw_arguments(parser)
        parser.add_argument("--again", action="store_true", help="throw away queries that nothing rests on yet")
        parser.add_argument("--dry-run", action="store_true", help="say what would come out, and draw nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.select_related("dataset__corpus").filter(name=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project named {options['project']!r}.")
        sizes, seed = sizes_asked(options), options["seed"]
        say_what_is_unwritten(project.dataset.corpus_id, options, self.stderr, only_say=options["dry_run"])
        try:
            if options["dry_run"]:
                counts = draft_of(project.dataset.corpus_id, sizes, seed).counts
                if refusal := draw_refusal(project=project, again=options["again"]):
                    self.stderr.write(f"This would be refused. {refusal}")
            else:
                counts = queries_draw(project=project, sizes=sizes, seed=seed, again=options["again"])
        except (MomentJudgeError, NoSplit) as error:
            raise CommandError(str(error)) from error
        for split in JUDGED:
            if not counts[split]:
                self.stderr.write(NONE_OF[split])
        if counts["waiting"]:
            self.stderr.write(f"{counts['waiting']:,} captions wait for review and are left out.")
        self.stdout.write(json.dumps(counts))
