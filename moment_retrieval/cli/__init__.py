"""The command ``moment-retrieval``: score runs, make features, train baselines and search with them, from a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from moment_retrieval.cli import compare, convert, features, models, relevance, relevance_figures, score
from moment_retrieval.errors import ScoringError
from moment_retrieval.relevance import RelevanceError

USAGE_ERROR = 2  # argparse's own status for arguments that cannot be used


class Command(NamedTuple):
    """One command: what it is for, its arguments, and what returns (text to print, errors) or an exit status."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], tuple[str, list[str]] | int]


COMMANDS = {
    "score": Command(score.HELP, score.add_arguments, score.output),
    "score-checkpoint": Command(
        "Retrieve with a checkpoint of the released code, write its predictions, and score them.",
        models.add_checkpoint_arguments,
        models.score_checkpoint,
    ),
    "compare-published": Command(compare.HELP, compare.add_arguments, compare.output),
    "convert-release": Command(convert.HELP, convert.add_arguments, convert.output),
    "relevance": Command(relevance.HELP, relevance.add_arguments, relevance.output),
    "relevance-figures": Command(relevance_figures.HELP, relevance_figures.add_arguments, relevance_figures.output),
    "features": Command(features.HELP, features.add_arguments, features.output),
    "train": Command(
        "Train a baseline by the plan.json of a folder; goes on where it was left.",
        models.add_train_arguments,
        models.train,
    ),
    "tune": Command(
        "Train many settings of a plan by a folder's tuning.json, stopping bad ones early; goes on where it was left.",
        models.add_tune_arguments,
        models.tune,
    ),
    "search": Command(
        "Search the videos of a training for moments that match typed words.",
        models.add_search_arguments,
        models.search,
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0; 2 where a file, an argument or a package is missing or cannot be used; of ``train`` also
        3 failed and 4 stopped on request.
    """
    parser = argparse.ArgumentParser(prog="moment-retrieval", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    options = parser.parse_args(arguments)
    try:
        result = options.run(options)
    except (ScoringError, RelevanceError) as error:
        return _fail([str(error)])
    except ModuleNotFoundError as error:
        if (name := (error.name or "").partition(".")[0]) not in EXTRAS:
            raise
        return _fail([f"{name} is not installed: pip install 'moment-retrieval[{EXTRAS[name]}]'"])
    if isinstance(result, int):
        return result
    text, errors = result
    if text:
        print(text)
    return _fail(errors) if errors else 0


EXTRAS = {  # which extra of the distribution brings a package
    **dict.fromkeys(("pyarrow", "ir_measures"), "formats"),
    "nltk": "relevance",
    **dict.fromkeys(("torch", "transformers", "h5py", "lmdb", "msgpack", "av", "safetensors", "tensorboard"), "train"),
}


def _fail(errors: Sequence[str]) -> int:
    for message in errors:
        print(f"error: {message}", file=sys.stderr)
    return USAGE_ERROR
