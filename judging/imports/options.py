"""Options of the commands that import judgments: by what rules they were given."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from judging.work.rules import PRESETS, Rules, preset_rules


def add_rules_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--rules",
        choices=list(PRESETS),
        default=next(iter(PRESETS)),
        help="by which the file was judged (default: %(default)s)",
    )
    parser.add_argument(
        "--top-grade",
        type=int,
        choices=range(1, 10),
        metavar="GRADE",
        help="grades go from 0 to this one, 1 to 9 (default: to that of the rules)",
    )


def rules_from(options: Mapping[str, Any]) -> Rules:
    return preset_rules(options["rules"], top_grade=options["top_grade"])
