"""Search a corpus with a trained baseline: the arguments, and the moments as a table or as JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from moment_retrieval.features.extractors import EXTRACTORS, Kind, Way
from moment_retrieval.searching.answers import Answer

HELP = "Search the videos of a training for moments that match typed words."
READERS = [way.value for way, about in EXTRACTORS.items() if Kind.QUERY in about.kinds]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``search`` on ``parser``."""
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="of the training: plan.json and its best weights")
    parser.add_argument("query", metavar="WORDS", help="what to search for")
    parser.add_argument("--first", metavar="FOLDER", type=Path, help="CONQUER's: the training that names candidates")
    parser.add_argument(
        "--extractor",
        choices=READERS,
        default=Way.WORDS.value,
        help="what made the query features of the training (default: %(default)s)",
    )
    parser.add_argument("--model", default="", help="of transformers, where the extractor reads one")
    parser.add_argument("--moments", type=int, default=10, help="how many to print (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print them as JSON, with the scores of their videos")


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return what the command prints, and its errors.

    Raises:
        ScoringError: a folder holds no finished training, or the words cannot be read as its queries were.
    """
    from moment_retrieval.searching.searchers import CandidateSearcher, CorpusSearcher
    from moment_retrieval.searching.words import Words, WordsBy

    if options.moments < 1:
        return "", [f"--moments must be 1 or more, not {options.moments}"]
    if not options.query.strip():
        return "", ["there are no words to search for"]
    words = Words(WordsBy(options.extractor, options.model))
    searcher: CorpusSearcher | CandidateSearcher
    if options.first is None:
        searcher = CorpusSearcher.open(options.folder, words, is_said=True)
    else:
        first = CorpusSearcher.open(options.first, words, is_said=True)
        searcher = CandidateSearcher.open(options.folder, words, first, is_said=True)
    answer = searcher.answer(options.query, options.moments)
    return (json.dumps(answer.told()) if options.json else table(answer)), []


def table(answer: Answer) -> str:
    """Return one line for each moment, best first: rank, score, start and end in seconds, video."""
    lines = [f"{'rank':>4} {'score':>10} {'start_s':>9} {'end_s':>9}  video"]
    for rank, hit in enumerate(answer.hits, start=1):
        lines.append(f"{rank:>4} {hit.score:>10.4g} {hit.start_s:>9.2f} {hit.end_s:>9.2f}  {hit.video}")
    return "\n".join([*lines, *answer.notices])
