"""Score run files: the arguments and what is printed, shared with Django's ``manage.py score``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from moment_retrieval import formats
from moment_retrieval.cli.output import MEANING, OUTPUTS, Scored
from moment_retrieval.errors import InvalidCutoff, ScoringError, at
from moment_retrieval.formats import FileFormat
from moment_retrieval.formats.builder import SourceFile
from moment_retrieval.formats.matrices import read_relevance, read_similarity
from moment_retrieval.formats.trec import is_pool, read_pool
from moment_retrieval.jsonfiles import read_bytes
from moment_retrieval.metrics import pool_rank, recall, report
from moment_retrieval.metrics.estimates import Pool, estimates
from moment_retrieval.metrics.highlights import highlights
from moment_retrieval.metrics.matrix import matrix_scores
from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Gain, Measure, check_measures
from moment_retrieval.metrics.plain import MEASURES, plain
from moment_retrieval.metrics.report import all_warnings, check_videos, evaluate
from moment_retrieval.metrics.scores import Scores
from moment_retrieval.records import VideoCorpus, read_corpus
from moment_retrieval.tables import JudgedTable, RunTable

Number = TypeVar("Number", int, float)
HELP = "Score runs against judged moments."
NDCG, RECALL, RANK, HIGHLIGHTS, PLAIN, MATRIX = "ndcg-iou", "recall", "pool-rank", "highlights", "plain", "matrix"
ESTIMATES = "estimates"
METRICS = {
    NDCG: "NDCG@K,IoU>=mu",
    RECALL: "R@K,IoU>=mu of TVR, with --task and --nms, and by type of query",
    RANK: "Rank n@m of MVMR, with --nms",
    HIGHLIGHTS: "mAP, R1 and HIT@1 of QVHighlights",
    PLAIN: "nDCG, AP, P and R of trec_eval, with --measures: IoU plays no part",
    ESTIMATES: "bpref and infAP of moments, with strata xinfAP, where judgments are incomplete",
    MATRIX: "nDCG by semantic similarity, R@K and ranks of .npy or .npz matrices",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``score`` on ``parser``."""
    parser.add_argument(
        "runs", metavar="RUN", type=Path, nargs="+", help="a run, plain, gzipped or alone in a zip file"
    )
    parser.add_argument(
        "--ground-truth", metavar="FILE", type=Path, required=True, help="judged moments, e.g. TVR-Ranking val.json"
    )
    forms = [form.value for form in FileFormat]
    parser.add_argument("--format", choices=forms, help="of the runs (seen from their content if not given)")
    parser.add_argument("--ground-truth-format", choices=forms, help="likewise")
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="video_corpus.json with indexes, for runs that name videos by index"
    )
    parser.add_argument(
        "--lenient",
        action="store_true",
        help="let predictions end before they start, and be of unknown videos: they overlap nothing",
    )
    parser.add_argument(
        "--metric", choices=METRICS, default=NDCG, help="; ".join(f"{name}: {what}" for name, what in METRICS.items())
    )
    add_metric_arguments(parser)


def add_metric_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say how a metric is computed and printed."""
    parser.add_argument(
        "--convention",
        choices=[convention.value for convention in Convention],
        default=Convention.PAPER.value,
        help="of ndcg-iou, and of recall the order of equal scores after --nms; "
        + "; ".join(f"{convention.value}: {meaning}" for convention, meaning in MEANING.items()),
    )
    parser.add_argument(
        "--gain",
        choices=[gain.value for gain in Gain],
        default=Gain.EXPONENTIAL.value,
        help="exponential: 2**relevance - 1; linear: relevance",
    )
    parser.add_argument(
        "--empty",
        choices=[empty.value for empty in Empty],
        default=Empty.ZERO.value,
        help="what a query without a relevant moment scores that the run answers with nothing (default: %(default)s)",
    )
    parser.add_argument(
        "--condensed",
        action="store_true",
        help="of ndcg-iou: leave out predictions that overlap no judged moment enough, where judgments are incomplete",
    )
    parser.add_argument("--k", type=cutoffs, metavar="K,K", help="cutoffs (default: those of the metric)")
    parser.add_argument("--mu", type=thresholds, metavar="MU,MU", help="IoU thresholds (default: those of the metric)")
    parser.add_argument(
        "--task", choices=[task.value for task in recall.Task], default=recall.Task.VCMR.value, help="of a TVR run"
    )
    parser.add_argument("--nms", type=overlap, metavar="IOU", help="suppress moments that overlap a better one more")
    parser.add_argument("--by-video", action="store_true", help="of plain: a video is what is found, not a moment")
    parser.add_argument("--measures", default=",".join(MEASURES), help="of plain (default: %(default)s)")
    parser.add_argument("--output", choices=OUTPUTS, default="table", help="(default: table)")
    parser.add_argument("--json", dest="output", action="store_const", const="json", help="as --output json")
    parser.add_argument("--per-query", action="store_true", help="print the values of every query")


def cutoffs(text: str) -> tuple[int, ...]:
    """``10,20`` as cutoffs, for argparse."""
    return numbers(text, int, "whole numbers", lambda k: Measure(k, 1.0))


def thresholds(text: str) -> tuple[float, ...]:
    """``0.3,0.5`` as IoU thresholds, for argparse."""
    return numbers(text, float, "numbers", lambda mu: Measure(1, mu))


def numbers(text: str, kind: Callable[[str], Number], description: str, measure: Callable[[Number], Measure]) -> Any:
    """Return the numbers between commas; ArgumentTypeError for what is none, and for numbers that no measure has."""
    try:
        values = tuple(map(kind, text.split(",")))
        check_measures(map(measure, values))
    except InvalidCutoff as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected {description} with commas between, got {text!r}") from error
    return values


def overlap(text: str) -> float:
    """``0.5`` as a single IoU threshold, for argparse."""
    (mu,) = thresholds(text)[:1]
    return mu


def output(options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the command's output for its parsed arguments, and the errors of runs that cannot be scored.

    One bad run does not keep the others from being scored; with none left there is nothing to print.

    Raises:
        ScoringError: the ground truth or the corpus cannot be used.
    """
    score = scorer(options)
    scored, errors = [], []
    for run in map(Path, options.runs):
        try:
            scored.append(score(run))
        except ScoringError as error:
            errors.append(str(error))
    return OUTPUTS[options.output](scored, per_query=options.per_query) if scored else "", errors


def scorer(options: argparse.Namespace) -> Callable[[Path], Scored]:
    """How one run is scored; ground truth and corpus are read once. Raises ScoringError."""
    if options.condensed and options.metric != NDCG:
        raise InvalidCutoff(f"--condensed is of {NDCG} alone; of {PLAIN} say judged_only=True in --measures")
    if Empty(options.empty) is not Empty.ZERO and options.metric != NDCG:
        raise InvalidCutoff(f"--empty {options.empty} is of {NDCG} alone; the metric is {options.metric}")
    truth_path = Path(options.ground_truth)  # call_command passes text
    if options.metric == MATRIX:
        relevance = read_relevance(truth_path)

        def score_matrix(path: Path) -> Scored:
            similarity = read_similarity(path)
            with at(str(path)):
                scores = matrix_scores(similarity, relevance.matrix, relevance.owners, gain=Gain(options.gain))
            return Scored(str(path), str(truth_path), MATRIX, scores)

        return score_matrix
    corpus = None if options.corpus is None else read_corpus(Path(options.corpus))
    durations_s = None if corpus is None else corpus.durations_s
    judged, pool = read_truth(options, corpus)

    def score_run(path: Path) -> Scored:
        run = formats.read_run(
            path, format_named(options.format), corpus=corpus, strict=not options.lenient, task=options.task
        )
        with at(str(path)):
            if not options.lenient:
                check_videos(run, judged)
            scores = computed(options, run, judged, pool)
            depth = max(options.k or report.KS) if options.metric == NDCG else None
            has_times = (options.metric, options.task) != (RECALL, recall.Task.VR)
            warnings = all_warnings(run, judged, depth=depth, durations_s=durations_s, has_times=has_times)
            return Scored(str(path), str(truth_path), options.metric, scores, warnings)

    return score_run


def read_truth(options: argparse.Namespace, corpus: VideoCorpus | None) -> tuple[JudgedTable, Pool | None]:
    """Read the judged moments, and of ESTIMATES the pool where the file has strata. Raises ScoringError."""
    path = Path(options.ground_truth)
    if options.metric == ESTIMATES:
        with at(str(path)):
            source = SourceFile(read_bytes(path), corpus)
            if is_pool(source.text):
                return read_pool(source)
    return formats.read_ground_truth(path, format_named(options.ground_truth_format), corpus=corpus), None


def format_named(name: str | None) -> FileFormat | None:
    return None if name is None else FileFormat(name)


def computed(options: argparse.Namespace, run: RunTable, judged: JudgedTable, pool: Pool | None = None) -> Scores:
    """Score a run by the requested metric; its own cutoffs and thresholds where none are given."""
    gain, convention, ks, mus = Gain(options.gain), Convention(options.convention), options.k, options.mu
    if options.metric == RECALL:
        task, ks, mus = recall.Task(options.task), ks or recall.KS, mus or recall.MUS
        return recall.recall(run, judged, task=task, ks=ks, mus=mus, nms=options.nms, convention=convention)
    if options.metric == RANK:
        ns, ms, nms = ks or pool_rank.NS, mus or pool_rank.MS, options.nms or pool_rank.NMS
        return pool_rank.rank_in_pool(run, judged, ns=ns, ms=ms, nms=nms)
    if options.metric == HIGHLIGHTS:
        return highlights(run, judged)
    if options.metric == ESTIMATES:
        return estimates(run, judged, mus=mus or report.MUS, pool=pool)
    if options.metric == PLAIN:
        names = [name.strip() for name in options.measures.split(",")]
        return plain(run, judged, measures=names, gain=gain, by_video=options.by_video)
    ks, mus, empty = ks or report.KS, mus or report.MUS, Empty(options.empty)
    how = {"convention": convention, "gain": gain, "empty": empty, "condensed": options.condensed}
    return evaluate(run, judged, ks=ks, mus=mus, **how)
