"""Options of the commands that import judgments: by what rules they were given."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError

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
    parser.add_argument("--judges", type=int, choices=(2, 3), help="of a round (default: those of the rules)")
    parser.add_argument("--max-rounds", type=int, choices=(1, 2), help="(default: those of the rules)")
    parser.add_argument(
        "--max-spread",
        type=int,
        choices=range(9),
        metavar="GRADES",
        help="how far apart grades may be that agree (default: as the rules say)",
    )


def rules_from(options: Mapping[str, Any]) -> Rules:
    """Return the rules that a command was given. Raises CommandError: there are no such rules."""
    try:
        return preset_rules(options["rules"], **{name: options[name] for name in Rules._fields})
    except ValueError as error:
        raise CommandError(str(error)) from error
