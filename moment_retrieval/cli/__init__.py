"""The command ``moment-retrieval``: score runs, make features, train baselines and search with them, from a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from types import ModuleType

from moment_retrieval.cli import features, score, score_checkpoint, search, train
from moment_retrieval.errors import ScoringError

USAGE_ERROR = 2  # argparse's own status for arguments that cannot be used
COMMANDS: dict[str, ModuleType] = {
    "score": score,
    "score-checkpoint": score_checkpoint,
    "features": features,
    "train": train,
    "search": search,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        The exit status: 0; 2 where a file, an argument or a package is missing or cannot be used; of ``train`` also
        3 failed and 4 stopped on request.
    """
    parser = argparse.ArgumentParser(prog="moment-retrieval", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=train.run if module is train else partial(_print, module))
    options = parser.parse_args(arguments)
    try:
        status: int = options.run(options)
    except ScoringError as error:
        return _fail([str(error)])
    except ModuleNotFoundError as error:
        if (name := (error.name or "").partition(".")[0]) not in EXTRAS:
            raise
        return _fail([f"{name} is not installed: pip install 'moment-retrieval[{EXTRAS[name]}]'"])
    return status


EXTRAS = {  # which extra of the distribution brings a package
    **dict.fromkeys(("pyarrow", "ir_measures"), "formats"),
    "nltk": "relevance",
    **dict.fromkeys(
        ("torch", "transformers", "h5py", "lmdb", "msgpack", "av", "safetensors", "tensorboard", "faiss"), "train"
    ),
}


def _print(module: ModuleType, options: argparse.Namespace) -> int:
    """Print a command's result and its errors."""
    text, errors = module.output(options)
    if text:
        print(text)
    return _fail(errors) if errors else 0


def _fail(errors: Sequence[str]) -> int:
    for message in errors:
        print(f"error: {message}", file=sys.stderr)
    return USAGE_ERROR
