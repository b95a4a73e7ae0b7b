"""``python -m models_runner.retrieval COMMAND``: the library from a shell, without Django."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import ModuleType

from models_runner.retrieval.commands import score, score_checkpoint, train
from models_runner.retrieval.errors import ScoringError
from models_runner.retrieval.features import command as features

Run = Callable[[argparse.Namespace], int]
Output = Callable[[argparse.Namespace], tuple[str, list[str]]]
USAGE_ERROR = 2  # argparse's own status for arguments that cannot be used


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 when a file or an argument cannot be used, or one of its own."""
    parser = argparse.ArgumentParser(prog="python -m models_runner.retrieval", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    runs: list[tuple[str, ModuleType, Run]] = [
        ("score", score, partial(printed, score.output)),
        ("score-checkpoint", score_checkpoint, partial(printed, score_checkpoint.output)),
        ("features", features, partial(printed, features.output)),
        ("train", train, train.run),
    ]
    for name, module, run in runs:
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=run)
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except ScoringError as error:
        return failed([str(error)])
    return status


def printed(output: Output, options: argparse.Namespace) -> int:
    """Print what a command found, and what is wrong."""
    text, errors = output(options)
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
