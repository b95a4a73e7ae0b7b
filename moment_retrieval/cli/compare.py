"""Score the runs of TVR-Ranking's authors and compare with what their repository records: is this the same scorer?"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import NamedTuple

from moment_retrieval import formats
from moment_retrieval.errors import MalformedFile, at
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import read_corpus

HELP = "Score the runs of TVR-Ranking's authors and compare with the values they record."
RECORDED = tomllib.loads((Path(__file__).parents[1] / "author_runs.toml").read_text(encoding="utf-8"))
DIGITS = 4  # of the recorded values
ENDINGS = (".val.json", ".val.json.gz")


class Comparison(NamedTuple):
    """One value of a run, here and as its authors record it."""

    run: str
    mu: float
    ours: float
    theirs: float

    @property
    def is_equal(self) -> bool:
        return round(self.ours, DIGITS) == self.theirs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``compare-published`` on ``parser``."""
    parser.add_argument(
        "runs", metavar="FOLDER", type=Path, help="of the nine runs: xml_n1.val.json, reloclnet_n40.val.json.gz, ..."
    )
    parser.add_argument(
        "--ground-truth",
        metavar="FILE",
        type=Path,
        required=True,
        help="TVR-Ranking's val.json",
    )
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="video_corpus.json with indexes, as the runs name videos by index"
    )


def compare(runs: Path, ground_truth: Path, corpus: Path | None) -> list[Comparison]:
    """Score every run of the folder that the authors record, under their convention and gain.

    Raises:
        ScoringError: a file cannot be used, or the folder holds none of the runs.
    """
    videos = None if corpus is None else read_corpus(corpus)
    judged = formats.read_ground_truth(ground_truth, None, corpus=videos)
    k, mus = RECORDED["k"], RECORDED["mus"]
    comparisons = []
    for name, values in RECORDED["values"].items():
        path = next((path for ending in ENDINGS if (path := runs / f"{name}{ending}").is_file()), None)
        if path is None:
            continue
        run = formats.read_run(path, None, corpus=videos)
        with at(str(path)):
            report = evaluate(run, judged, ks=[k], mus=mus, convention=Convention.RELEASED, gain=Gain.EXPONENTIAL)
        ours = [report.mean[Measure(k, mu)] for mu in mus]
        comparisons += [Comparison(name, *row) for row in zip(mus, ours, values, strict=True)]
    if not comparisons:
        raise MalformedFile(f"{runs} holds none of the authors' runs, such as xml_n1.val.json.gz")
    return comparisons


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the comparison as a table, and an error that counts the values which differ."""
    comparisons = compare(options.runs, options.ground_truth, options.corpus)
    lines = [
        f"NDCG@{RECORDED['k']},IoU>=mu, convention released, gain exponential; recorded: performance.yaml, March 2024",
        f"{'run':<14} {'mu':>4} {'ours':>8} {'recorded':>9} {'difference':>11}",
    ]
    for one in comparisons:
        difference = "equal" if one.is_equal else f"{one.ours - one.theirs:+.4f}"
        lines.append(f"{one.run:<14} {one.mu:>4} {one.ours:>8.4f} {one.theirs:>9.4f} {difference:>11}")
    n = sum(not one.is_equal for one in comparisons)
    missing = sorted(set(RECORDED["values"]) - {one.run for one in comparisons})
    if missing:
        lines.append(f"not in the folder: {', '.join(missing)}")
    if not n:
        return "\n".join(lines), []
    words = f"{n} of {len(comparisons)} values differ: another ground truth, other runs, or another scorer"
    return "\n".join(lines), [words]
