"""``python -m models_runner.retrieval COMMAND``: the library from a shell, without Django."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from models_runner.retrieval.commands import score
from models_runner.retrieval.errors import ScoringError
from models_runner.retrieval.features import command as features

USAGE_ERROR = 2  # argparse's own status for arguments that cannot be used


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, or 2 when a file or an argument cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m models_runner.retrieval", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = commands.add_parser("score", help=score.HELP, description=score.HELP)
    score.add_arguments(command)
    command.set_defaults(command=score.output)
    command = commands.add_parser("features", help=features.HELP, description=features.HELP)
    features.add_arguments(command)
    command.set_defaults(command=features.output)
    options = parser.parse_args(arguments)
    try:
        text, errors = options.command(options)
    except ScoringError as error:
        text, errors = "", [str(error)]
    if text:
        print(text)
    for message in errors:
        print(f"error: {message}", file=sys.stderr)
    return USAGE_ERROR if errors else 0


if __name__ == "__main__":
    sys.exit(main())
