"""The words of commands that draw queries."""

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from annotation.captions.selectors import captions_report
from annotation.queries.rules import NoSplit, Size, size_of
from annotation.queries.selectors import source_of

DEFAULT: dict[str, Size] = {"val": 500, "test": 2781}  # the paper's


def add_draw_arguments(parser: CommandParser) -> None:
    parser.add_argument("--val", type=_size, help="validation queries: how many, 500, or a share of the texts, 5%%")
    parser.add_argument("--test", type=_size, help="test queries: how many, 2781, or a share of the texts, 20%%")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw")
    parser.add_argument(
        "--as-described", action="store_true", help="descriptions that have not been rewritten serve as they are"
    )


def say_what_is_unwritten(corpus_id: int, options: dict[str, Any], said: OutputWrapper, *, only_say: bool) -> None:
    """Descriptions would serve with their names: said always, and refused where the others have been rewritten."""
    unwritten = source_of(corpus_id).unwritten
    if not unwritten:
        return
    words = f"{unwritten:,} descriptions have not been rewritten and would serve as they are, names and all."
    in_part = captions_report(corpus_id).rewritten > 0
    if in_part and not (only_say or options["as_described"]):
        raise CommandError(f"{words} Run rewrite_captions first, or say --as-described.")
    said.write(words)


def sizes_asked(options: dict[str, Any]) -> dict[str, Size]:
    return {split: size if options[split] is None else options[split] for split, size in DEFAULT.items()}


def sizes_unless(options: dict[str, Any]) -> dict[str, Size] | None:
    """None where no queries are wanted."""
    if not options["no_queries"]:
        return sizes_asked(options)
    if options["val"] is not None or options["test"] is not None:
        raise CommandError("--no-queries draws none: leave out --val and --test.")
    return None


def _size(words: str) -> Size:
    try:
        return size_of(words)
    except NoSplit as error:
        raise ArgumentTypeError(str(error)) from error
