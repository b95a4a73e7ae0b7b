"""manage.py query_statistics PROJECT: what its texts come to in words, before and after rewriting."""

from argparse import FileType
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.commands import MomentJudgeCommand, project_named
from annotation.statistics import selectors
from annotation.statistics.collection import published, tables
from annotation.statistics.services import statistics_compute
from core.lists import csv_write

HEAD = f"{'':<24} {'texts':>8} {'words':>13} {'vocabulary':>15} {'with names':>15} {'changed':>8} {'similarity':>10}"


class Command(MomentJudgeCommand):
    help = "Compute and print the statistics of a project's descriptions and captions, as its page shows them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project")
        file = FileType("w", encoding="utf-8")
        parser.add_argument(
            "--csv", type=file, metavar="FILE", help="every figure as a line: group, texts, measure, value"
        )
        parser.add_argument("--histograms", type=file, metavar="FILE", help="every bin as a line")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_named(options["project"])
        text_statistics = statistics_compute(project_id=project.pk)
        if text_statistics is None:
            raise CommandError("The statistics are being computed by somebody else; try again when they are there.")
        self.stdout.write("\n".join([HEAD, *(_line(figures) for figures in text_statistics.data["groups"])]))
        for row in text_statistics.data["candidates"]:
            name = selectors.group_name(f"split {row['split']}")
            self.stdout.write(f"{name}: rank {row['rank']} of {row['queries']:,}, similarity {row['mean']:.4f}")
        self.stdout.write("\n".join(_tables(text_statistics.data["collection"])))
        for option, columns, rows in (
            ("csv", selectors.COLUMNS, selectors.measure_rows),
            ("histograms", selectors.HISTOGRAM_COLUMNS, selectors.histogram_rows),
        ):
            if options[option]:
                with options[option] as file:
                    csv_write(file, columns, rows(text_statistics.data))


def _tables(columns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Tables 1 and 4, ours before the published columns."""
    for table in tables([*columns, *published()]):
        yield ""
        yield f"{table.title:<28}" + "".join(f"{name[:24]:>26}" for name, *_ in table.head)
        yield from (f"{line.label[:28]:<28}" + "".join(f"{cell:>26}" for cell in line.cells) for line in table.lines)


def _line(figures: Mapping[str, Any]) -> str:
    before, after, mean = figures["descriptions"], figures["captions"], figures["similarity"]["mean"]
    cells = [
        f"{selectors.group_name(figures['group'])[:24]:<24}",
        f"{before['texts']:>8,}",
        f"{before['words']['mean'] or 0:>5.2f} > {after['words']['mean'] or 0:>5.2f}",
        f"{before['vocabulary']:>6,} > {after['vocabulary']:>6,}",
        f"{before['with_names']:>6,} > {after['with_names']:>6,}",
        f"{figures['changed']:>8,}",
        f"{'' if mean is None else f'{mean:.4f}':>10}",
    ]
    return " ".join(cells)
