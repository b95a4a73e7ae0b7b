"""manage.py draw_queries PROJECT: queries of a project that has none, or new ones while nothing depends on the old."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from accounts.commands import MomentJudgeCommand, project_named
from annotation.captions.selectors import captions_report
from annotation.queries.rules import JUDGED, NONE_OF, NoSplit, Size, size_of
from annotation.queries.selectors import draft_of, source_of
from annotation.queries.services import draw_refusal, queries_draw

DEFAULT: dict[str, Size] = {"val": 500, "test": 2781}  # the paper's


class Command(MomentJudgeCommand):
    help = "Draw a project's queries and divide them into splits; the last line of output is JSON with the counts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project")
        add_draw_arguments(parser)
        parser.add_argument("--again", action="store_true", help="discard queries that nothing depends on yet")
        parser.add_argument("--dry-run", action="store_true", help="say what would come out, and draw nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        sizes, seed = sizes_from_options(options), options["seed"]
        say_what_is_unwritten(project.dataset.corpus_id, options, self.stderr, only_say=options["dry_run"])
        if options["dry_run"]:
            counts = draft_of(project.dataset.corpus_id, sizes, seed).counts
            if refusal := draw_refusal(project=project, again=options["again"]):
                self.stderr.write(f"This would be refused. {refusal}")
        else:
            counts = queries_draw(project=project, sizes=sizes, seed=seed, again=options["again"])
        for split in JUDGED:
            if not counts[split]:
                self.stderr.write(NONE_OF[split])
        if counts["waiting"]:
            self.stderr.write(f"{counts['waiting']:,} captions wait for review and are left out.")
        self.write_json(counts)


def add_draw_arguments(parser: CommandParser) -> None:
    parser.add_argument("--val", type=_size, help="validation queries: how many, 500, or a share of the texts, 5%%")
    parser.add_argument("--test", type=_size, help="test queries: how many, 2781, or a share of the texts, 20%%")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument(
        "--as-described", action="store_true", help="descriptions that have not been rewritten serve as they are"
    )


def say_what_is_unwritten(corpus_id: int, options: dict[str, Any], stream: OutputWrapper, *, only_say: bool) -> None:
    """Descriptions would serve with their names: said always, and refused where the others have been rewritten."""
    unwritten = source_of(corpus_id).unwritten
    if not unwritten:
        return
    words = f"{unwritten:,} descriptions have not been rewritten and would serve as they are, names and all."
    in_part = captions_report(corpus_id).rewritten > 0
    if in_part and not (only_say or options["as_described"]):
        raise CommandError(f"{words} Run rewrite_captions first, or say --as-described.")
    stream.write(words)


def sizes_from_options(options: dict[str, Any]) -> dict[str, Size]:
    return {split: size if options[split] is None else options[split] for split, size in DEFAULT.items()}


def sizes_unless(options: dict[str, Any]) -> dict[str, Size] | None:
    """None where no queries are wanted."""
    if not options["no_queries"]:
        return sizes_from_options(options)
    if options["val"] is not None or options["test"] is not None:
        raise CommandError("--no-queries draws none: leave out --val and --test.")
    return None


def _size(words: str) -> Size:
    try:
        return size_of(words)
    except NoSplit as error:
        raise ArgumentTypeError(str(error)) from error
