"""Score a run file: the arguments and the printed result, shared with Django's ``manage.py score``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from models_runner.retrieval.errors import InvalidCutoff, at
from models_runner.retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures
from models_runner.retrieval.metrics.report import KS, MUS, Report, check_queries, evaluate
from models_runner.retrieval.records import moments_by_query, read_corpus, read_ground_truth, read_run

HELP = "Score a run against judged moments: NDCG@K,IoU>=mu."
MEANING = {
    Convention.PAPER: "IoU >= mu; mean over the ground truth's queries, missing ones count 0",
    Convention.RELEASED: "IoU > mu; mean over the run's queries",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``score`` on ``parser``."""
    parser.add_argument("run", metavar="RUN", type=Path, help="the run: JSON, plain or gzipped")
    parser.add_argument(
        "--ground-truth", metavar="FILE", type=Path, required=True, help="judged moments, e.g. TVR-Ranking val.json"
    )
    parser.add_argument(
        "--corpus", metavar="FILE", type=Path, help="video_corpus.json with indexes, for runs that name videos by index"
    )
    parser.add_argument(
        "--convention",
        choices=[convention.value for convention in Convention],
        default=Convention.PAPER.value,
        help="; ".join(f"{convention.value}: {meaning}" for convention, meaning in MEANING.items()),
    )
    parser.add_argument(
        "--gain",
        choices=[gain.value for gain in Gain],
        default=Gain.EXPONENTIAL.value,
        help="exponential: 2**relevance - 1; linear: relevance",
    )
    parser.add_argument("--k", type=cutoffs, default=KS, metavar="K,K", help="cutoffs (default: 10,20,40)")
    parser.add_argument("--mu", type=thresholds, default=MUS, metavar="MU,MU", help="thresholds (default: 0.3,0.5,0.7)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def cutoffs(text: str) -> tuple[int, ...]:
    """``10,20`` as cutoffs, for argparse."""
    try:
        ks = tuple(int(part) for part in text.split(","))
        check_measures(Measure(k, 1.0) for k in ks)
    except InvalidCutoff as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected whole numbers with commas between, got {text!r}") from error
    return ks


def thresholds(text: str) -> tuple[float, ...]:
    """``0.3,0.5`` as IoU thresholds, for argparse."""
    try:
        mus = tuple(float(part) for part in text.split(","))
        check_measures(Measure(1, mu) for mu in mus)
    except InvalidCutoff as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected numbers with commas between, got {text!r}") from error
    return mus


def score_files(
    run: Path,
    ground_truth: Path,
    *,
    corpus: Path | None = None,
    ks: Sequence[int] = KS,
    mus: Sequence[float] = MUS,
    convention: Convention = Convention.PAPER,
    gain: Gain = Gain.EXPONENTIAL,
) -> Report:
    """Read a run and its ground truth and score them.

    Raises:
        ScoringError: a file cannot be used, or they do not fit each other; the message names file and place.
    """
    judged = moments_by_query(read_ground_truth(ground_truth))
    videos = None if corpus is None else read_corpus(corpus)
    ranked = moments_by_query(read_run(run, corpus=videos))
    with at(str(run)):
        check_queries(ranked, judged)
    return evaluate(ranked, judged, ks=ks, mus=mus, convention=convention, gain=gain)


def output(options: argparse.Namespace) -> str:
    """What the command prints for its parsed arguments, without the last line break. Raises ScoringError."""
    report = score_files(
        Path(options.run),  # call_command passes text
        Path(options.ground_truth),
        corpus=None if options.corpus is None else Path(options.corpus),
        ks=options.k,
        mus=options.mu,
        convention=Convention(options.convention),
        gain=Gain(options.gain),
    )
    return as_json(report, options) if options.json else as_table(report, options)


def as_json(report: Report, options: argparse.Namespace) -> str:
    """The report as one JSON object on one line."""
    return json.dumps(
        {
            "run": str(options.run),
            "ground_truth": str(options.ground_truth),
            "convention": report.convention.value,
            "gain": report.gain.value,
            "queries": len(report.per_query),
            "missing_queries": len(report.missing),
            "missing_query_ids": report.missing,
            "scores": {str(measure): value for measure, value in report.mean.items()},
        }
    )


def as_table(report: Report, options: argparse.Namespace) -> str:
    """The report for people: how it was computed, then one row per cutoff and one column per threshold."""
    facts = {
        "run": options.run,
        "ground truth": options.ground_truth,
        "convention": f"{report.convention.value} ({MEANING[report.convention]})",
        "gain": report.gain.value,
        "queries": len(report.per_query),
        "missing queries": len(report.missing),
    }
    lines = [f"{name:<17}{value}" for name, value in facts.items()]
    mus = list(dict.fromkeys(measure.mu for measure in report.measures))
    lines += ["", f"{'NDCG@K,IoU>=mu':<15}" + "".join(f"{mu:>9}" for mu in mus)]
    for k in dict.fromkeys(measure.k for measure in report.measures):
        lines.append(f"{f'K = {k}':<15}" + "".join(f"{report.mean[Measure(k, mu)]:>9.4f}" for mu in mus))
    return "\n".join(lines)
