"""The commands that need torch: train a baseline, search with one, score a published checkpoint.

torch takes seconds to import and scoring needs none, so it is imported where a command runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from moment_retrieval.answers import Answer
from moment_retrieval.cli import score
from moment_retrieval.features.extractors import EXTRACTORS, LAST_LAYER, ExtractorName, Kind

READERS = [extractor_name.value for extractor_name, about in EXTRACTORS.items() if Kind.QUERY in about.kinds]
SPLITS, DEVICES = ("val", "test"), ("auto", "cpu", "cuda")


def add_train_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="holds plan.json; everything else is written there")


def train(options: argparse.Namespace) -> int:
    """The exit status: 0 done, 3 failed, 4 stopped when asked. Raises ScoringError where the plan cannot be used."""
    from moment_retrieval.train import program

    return program(options.folder)


def add_tune_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="holds tuning.json; trainings and trials.csv are written there"
    )


def tune(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Print each trial as it ends, and the best at the end. Raises ScoringError where the search cannot be used."""
    from moment_retrieval import tuning
    from moment_retrieval.training import trials as records

    def tell(trial: records.Trial) -> None:
        best = "no score" if trial.best is None else f"{trial.best:.4f}"
        settings = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
        print(f"trial {trial.number}: {trial.state}, {best}; {settings}", flush=True)

    trials = tuning.tune(options.folder, report=tell)
    n, runs = len(trials), records.Tuning.read(options.folder).n_runs
    rest = f"{runs - n} of {runs} runs are left: tune again to go on. " if n < runs else ""
    failed = [f"trial {one.number}: {one.reason}" for one in trials if one.state == records.FAILED]
    best = f"Best: trial {trials[0].number}." if trials and trials[0].best is not None else ""
    return f"{rest}{best}".strip(), failed


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="of the training: plan.json and its best weights")
    parser.add_argument("query", metavar="WORDS", help="what to search for")
    parser.add_argument("--first", metavar="FOLDER", type=Path, help="CONQUER's: the training that names candidates")
    parser.add_argument(
        "--extractor",
        choices=READERS,
        default=ExtractorName.WORDS.value,
        help="what made the query features of the training (default: %(default)s)",
    )
    parser.add_argument("--model", default="", help="of transformers, where the extractor reads one")
    parser.add_argument(
        "--layer", type=int, default=LAST_LAYER, help="of a text model, from the last (default: %(default)s)"
    )
    parser.add_argument("--moments", type=int, default=10, help="how many to print (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print them as JSON, with the scores of their videos")


def search(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return what the command prints, and its errors.

    Raises:
        ScoringError: a folder holds no finished training, or the words cannot be read as its queries were.
    """
    from moment_retrieval.answers import Words
    from moment_retrieval.searchers import CandidateSearcher, CorpusSearcher

    if options.moments < 1:
        return "", [f"--moments must be 1 or more, not {options.moments}"]
    if not options.query.strip():
        return "", ["there are no words to search for"]
    words = Words(options.extractor, options.model, layer=options.layer)
    searcher: CorpusSearcher | CandidateSearcher
    if options.first is None:
        searcher = CorpusSearcher.open(options.folder, words, is_assumed=True)
    else:
        first = CorpusSearcher.open(options.first, words, is_assumed=True)
        searcher = CandidateSearcher.open(options.folder, words, first, is_assumed=True)
    answer = searcher.answer(options.query, options.moments)
    return (json.dumps(answer.as_dict()) if options.json else table(answer)), []


def table(answer: Answer) -> str:
    """Return one line for each moment, best first: rank, score, start and end in seconds, video."""
    lines = [f"{'rank':>4} {'score':>10} {'start_s':>9} {'end_s':>9}  video"]
    for rank, hit in enumerate(answer.hits, start=1):
        lines.append(f"{rank:>4} {hit.score:>10.4g} {hit.start_s:>9.2f} {hit.end_s:>9.2f}  {hit.video}")
    return "\n".join([*lines, *answer.notices])


def add_checkpoint_arguments(parser: argparse.ArgumentParser) -> None:
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


def score_checkpoint(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the command's output for parsed arguments, and the errors. Raises ScoringError."""
    from moment_retrieval.training.published_run import retrieve

    ground_truth, notices = retrieve(options)
    for notice in notices:
        print(notice, file=sys.stderr)
    scoring: dict[str, Any] = dict.fromkeys(("format", "ground_truth_format", "corpus"))
    scoring |= {"runs": [options.to], "ground_truth": ground_truth, "metric": score.NDCG, "lenient": True}
    return score.output(argparse.Namespace(**{**vars(options), **scoring}))
