"""Score a published checkpoint: the arguments, and what is printed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from moment_retrieval.cli import score
from moment_retrieval.cli.output import OUTPUTS

HELP = "Retrieve with a checkpoint of the released code, write its predictions, and score them."
SPLITS, DEVICES = ("val", "test"), ("auto", "cpu", "cuda")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``score-checkpoint`` on ``parser``."""
    parser.add_argument("checkpoint", metavar="FILE", type=Path, help="as the released code saves it (.ckpt, .pt)")
    parser.add_argument("--to", metavar="FILE", type=Path, required=True, help="the predictions, written as JSON")
    parser.add_argument(
        "--plan", metavar="FOLDER", type=Path, help="whose plan.json names what is not given here; see docs/training.md"
    )
    parser.add_argument("--split", choices=SPLITS, default="val", help="of the plan (default: %(default)s)")
    parser.add_argument("--ground-truth", metavar="FILE", type=Path, help="judged moments, e.g. TVR-Ranking val.json")
    parser.add_argument("--corpus", metavar="FILE", type=Path, help="video_corpus.json: the videos that are searched")
    for kind, what in (("video", "clips"), ("subtitle", "what is said; nothing, if not given"), ("query", "words")):
        parser.add_argument(f"--{kind}", metavar="FILE", type=Path, help=f"features of {what}")
    parser.add_argument(
        "--candidates",
        metavar="PATH",
        type=Path,
        help="CONQUER's: the folder of a trained XML or ReLoCLNet, or a JSON file of query id to names of videos",
    )
    parser.add_argument("--device", choices=DEVICES, default="auto", help="(default: %(default)s)")
    parser.add_argument(
        "--work", metavar="FOLDER", type=Path, help="keeps prepared features for the next time (default: nowhere)"
    )
    score.add_metric_arguments(parser)
    parser.add_argument("--output", choices=OUTPUTS, default="table", help="(default: table)")
    parser.add_argument("--json", dest="output", action="store_const", const="json", help="as --output json")
    parser.add_argument("--per-query", action="store_true", help="print the values of every query")


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """What the command prints for its parsed arguments, and what is wrong. Raises ScoringError."""
    from moment_retrieval.training.published_run import Wanted, retrieve  # torch takes seconds to import

    names = ("plan", "split", "ground_truth", "corpus", "video", "subtitle", "query", "candidates", "device", "work")
    found = retrieve(options.checkpoint, Wanted(**{name: getattr(options, name) for name in names}), to=options.to)
    for notice in found.notices:
        print(notice, file=sys.stderr)
    return score.output(_scoring(options, found.ground_truth))


def _scoring(options: argparse.Namespace, ground_truth: Path) -> argparse.Namespace:
    """The arguments of ``score`` for what was written."""
    more: dict[str, Any] = dict.fromkeys(("format", "ground_truth_format", "corpus"))
    more |= {"runs": [options.to], "ground_truth": ground_truth, "metric": score.NDCG, "lenient": True}
    return argparse.Namespace(**{**vars(options), **more})
