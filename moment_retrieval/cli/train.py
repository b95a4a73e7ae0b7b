"""Train a baseline: the arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "Train a baseline by the plan.json of a folder; goes on where it was left."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``train`` on ``parser``."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="holds plan.json; everything else is written there")


def run(options: argparse.Namespace) -> int:
    """The exit status: 0 done, 3 failed, 4 stopped when asked. Raises ScoringError where the plan cannot be used."""
    from moment_retrieval.train import program  # torch takes seconds to import; scoring needs none

    return program(options.folder)
