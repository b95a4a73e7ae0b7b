"""manage.py create_project NAME: a project over an imported corpus."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Count

from accounts.commands import MomentJudgeCommand, add_lead_argument, row_named
from accounts.models import Project
from accounts.services.members import leads_named
from annotation.management.commands.draw_queries import add_draw_arguments, say_what_is_unwritten, sizes_unless
from annotation.models import Corpus
from judging.projects.services import project_create


class Command(MomentJudgeCommand):
    help = "Make a project over an imported corpus and draw its queries, or as a copy; the last line of output is JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--corpus", help="name of the imported corpus; without, that of --settings-of")
        parser.add_argument("--settings-of", metavar="PROJECT", help="begin with the settings of this project")
        parser.add_argument(
            "--with-queries", action="store_true", help="and with its queries, query sets and training pairs"
        )
        add_draw_arguments(parser)
        parser.add_argument("--no-queries", action="store_true", help="draw them later, by page or with draw_queries")
        add_lead_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        source = _source(options)
        corpus = _corpus(options, source)
        sizes = None if options["with_queries"] else sizes_unless(options)
        if sizes is not None:
            say_what_is_unwritten(corpus.pk, options, self.stderr, only_say=False)
        project, counts = project_create(
            name=options["name"],
            corpus=corpus,
            sizes=sizes,
            seed=options["seed"],
            leads=leads_named(options["lead"]),
            settings_of=source,
            with_queries=options["with_queries"],
        )
        if options["with_queries"]:
            counts = dict(project.queries.order_by().values_list("split").annotate(n=Count("pk")))
        self.write_json(counts)


def _source(options: dict[str, Any]) -> Project | None:
    """Whose settings the new project begins with."""
    name = options["settings_of"]
    if name is None:
        if options["with_queries"]:
            raise CommandError("--with-queries says nothing without --settings-of PROJECT.")
        return None
    if options["with_queries"] and (options["val"] is not None or options["test"] is not None):
        raise CommandError("--with-queries takes queries along instead of drawing some: leave out --val and --test.")
    return row_named(Project.objects.select_related("dataset__corpus"), name)


def _corpus(options: dict[str, Any], source: Project | None) -> Corpus:
    if options["corpus"] is None and source:
        return source.dataset.corpus
    return row_named(Corpus.objects.all(), options["corpus"])
