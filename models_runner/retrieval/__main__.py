"""``python -m models_runner.retrieval COMMAND``: the library from a shell, without Django."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from models_runner.retrieval.commands import score, train
from models_runner.retrieval.errors import ScoringError

USAGE_ERROR = 2  # argparse's own status for arguments that cannot be used


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 when a file or an argument cannot be used, or one of its own."""
    parser = argparse.ArgumentParser(prog="python -m models_runner.retrieval", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module, run in (("score", score, printed_score), ("train", train, train.run)):
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=run)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except ScoringError as error:
        return failed([str(error)])
    return status


def printed_score(options: argparse.Namespace) -> int:
    """Print scores, and what is wrong with runs that have none."""
    text, errors = score.output(options)
    if text:
        print(text)
    return failed(errors) if errors else 0


def failed(errors: Sequence[str]) -> int:
    """Say what is wrong."""
    for message in errors:
        print(f"error: {message}", file=sys.stderr)
    return USAGE_ERROR


if __name__ == "__main__":
    sys.exit(main())
