"""How fast NDCG@K,IoU>=mu is computed, beside the plain re-statement and, given its path, the published scorer.

    python -m benchmarks.scorer [--published modules/ndcg_iou.py] [--queries 2781] [--rounds 5] [--json]

All score the same synthetic runs in turns, one after the other in every round, and must agree to the last bit. Timing
starts from parsed records: tables for the library, dictionaries for the two others. Seconds are processor time, the
best of the rounds; a first call finds nothing warm. Method and figures: docs/benchmarks/scorer.md. Exit status 1:
values differ, a speedup that is asked for is missed, or growing takes too much memory.
"""

import copy
import gc
import importlib.util
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import arguments, machine, peak_mb, show
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.metrics.report import KS, MUS, evaluate
from moment_retrieval.tables import JudgedTable, RunTable

QUERIES = 2_781  # of the TVR-Ranking test split
VIDEOS = 19_614  # of its corpus
GRADES = np.array([5_929, 19_245, 30_056, 24_439, 14_773])  # of its judged pairs, by relevance
SHORT = 0.528  # the share of its queries with 20 judged moments, not 40
ABSENT = -1
TOLERANCE = 1e-9
Row = dict[str, Any]
Rows = Mapping[str, Sequence[Row]]
Scores = dict[tuple[int, float], list[float]]
Values = dict[tuple[int, float], float]


@dataclass(frozen=True)
class Shape:
    """Predictions and judged moments of each query, and the speedup that is wanted."""

    predictions: int
    judged: int
    wanted: float


SHAPES = (Shape(40, 40, 50), Shape(100, 120, 200))
GROWTH = (1_000, 10_000, 100_000)
MEMORY_MB = 2_000


@dataclass(frozen=True)
class Columns:
    """Moments of all queries: [queries, moments] video, start, end, relevance; no video: no moment."""

    video: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    relevance: NDArray[np.int64]

    def table(self, kind: type[Any]) -> Any:
        ids = range(len(self.video))
        names = [f"video_{number}" for number in range(VIDEOS)]
        return kind.from_arrays(ids, self.video, self.start_s, self.end_s, self.relevance, names=names)

    def rows(self) -> dict[str, list[Row]]:
        """As dictionaries, with the keys of the published files, which the published scorer copies."""
        columns = (column.tolist() for column in (self.video, self.start_s, self.end_s, self.relevance))
        return {
            str(number): [self.row(*moment) for moment in zip(*of_query, strict=True) if moment[0] != ABSENT]
            for number, of_query in enumerate(zip(*columns, strict=True))
        }

    @staticmethod
    def row(video: int, start: float, end: float, relevance: int) -> Row:
        return {
            "pair_id": video,
            "video_name": f"video_{video}",
            "timestamp": [start, end],
            "duration": 90.0,
            "caption": "A person walks through a door and sits down.",
            "similarity": 0.5,
            "relevance": relevance,
        }


def synthetic(queries: int, shape: Shape, seed: int = 1) -> tuple[Columns, Columns]:
    """A run and its ground truth: both draw from one list of moments per query, good ones first, with blurred ends.

    One moment in seven lies in a video that the query has already, as in real runs.
    """
    chance = np.random.default_rng(seed)
    size = (queries, 2 * max(shape.predictions, shape.judged))
    video = chance.integers(0, VIDEOS, size)
    again = np.take_along_axis(video, chance.integers(0, size[1], size), axis=1)
    video = np.where(chance.random(size) < 1 / 7, again, video)
    start = chance.uniform(0, 60, size)
    end = start + chance.lognormal(np.log(7), 0.6, size)

    def drawn(count: int) -> Columns:
        keen = np.argsort(chance.random(size) + 1.5 * np.arange(size[1]) / size[1], axis=1)[:, :count]
        videos, starts, ends = (np.take_along_axis(column, keen, axis=1) for column in (video, start, end))
        starts = np.maximum(0, starts + chance.normal(0, 1.2, keen.shape)).round(2)
        ends = np.maximum(starts + 0.5, ends + chance.normal(0, 1.2, keen.shape)).round(2)
        return Columns(videos, starts, ends, chance.choice(5, keen.shape, p=GRADES / GRADES.sum()))

    run, judged = drawn(shape.predictions), drawn(shape.judged)
    if shape.judged == 40:
        judged.video[chance.random(queries) < SHORT, 20:] = ABSENT
    return run, judged


def published_scorer(path: Path) -> Callable[[Rows, Rows], Values]:
    """Return ``calculate_ndcg_iou`` of the file at ``path``, which is no part of this repository."""
    spec = importlib.util.spec_from_file_location("published_ndcg_iou", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def score(run: Rows, judged: Rows) -> Values:
        values = module.calculate_ndcg_iou(judged, run, list(MUS), list(KS))
        return {(k, mu): float(values[k][mu]) for k in KS for mu in MUS}

    return score


def naive(run: Rows, judged: Rows) -> Values:
    return {measure: float(np.mean(values)) for measure, values in naive_scores(run, judged, KS, MUS).items()}


def library(run: RunTable, judged: JudgedTable, convention: Convention = Convention.RELEASED) -> Values:
    report = evaluate(run, judged, convention=convention)
    return {(measure.k, measure.mu): value for measure, value in report.mean.items()}


def timed(score: Callable[[], Values]) -> tuple[float, Values]:
    """Return seconds of processor time, and the values computed."""
    gc.collect()
    gc.disable()
    started = time.process_time()
    values = score()
    seconds = time.process_time() - started
    gc.enable()
    return seconds, values


def compared(queries: int, shape: Shape, rounds: int, published: Path | None) -> dict[str, Any]:
    """Time all scorers on one run, in turns; the slow ones once a round, the library five times."""
    run, judged = synthetic(queries, shape)
    run_table, judged_table = run.table(RunTable), judged.table(JudgedTable)
    run_rows, judged_rows = run.rows(), judged.rows()
    slow = {"naive": naive} if published is None else {"naive": naive, "published": published_scorer(published)}
    seconds: dict[str, list[float]] = {name: [] for name in (*slow, "library")}
    turns = [(name, partial(score, run_rows, judged_rows)) for name, score in slow.items()]
    turns += [("library", partial(library, run_table, judged_table))] * 5
    results: list[Values] = []
    for name, act in turns * rounds:
        took, values = timed(act)
        seconds[name].append(took)
        results.append(values)
    best = {name: min(of_name) for name, of_name in seconds.items()}
    return {
        "queries": queries,
        "predictions": shape.predictions,
        "judged": int((judged.video != ABSENT).sum(axis=1).max()),
        "thresholds": len(MUS),
        "cutoffs": len(KS),
        **{f"{name}_s": round(value, 4) for name, value in best.items()},
        "library_first_s": round(seconds["library"][0], 4),
        **{f"speedup_over_{name}": round(best[name] / best["library"], 1) for name in slow},
        "wanted_speedup": shape.wanted,
        "naive_peak_mb": allocated_mb(partial(naive, run_rows, judged_rows)),
        "library_peak_mb": allocated_mb(partial(library, run_table, judged_table)),
        "values_equal": all(values == results[0] for values in results),
    }


def allocated_mb(score: Callable[[], Values]) -> float:
    """Return the most memory that one more call takes."""
    gc.collect()
    tracemalloc.start()
    score()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 2**20, 1)


def growth(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """Time the library alone on ever more queries, in the PAPER convention."""
    rows = []
    for queries in sizes:
        run, judged = synthetic(queries, SHAPES[0])
        tables = run.table(RunTable), judged.table(JudgedTable)
        del run, judged
        took = min(timed(partial(library, *tables, Convention.PAPER))[0] for _ in range(3))
        rows.append({"queries": queries, "library_s": round(took, 4), "us_per_query": round(1e6 * took / queries, 2)})
    return rows


# The plain re-statement: loops over dictionaries, a copy of the ground truth for every threshold, as slow as the scorer
# released with TVR-Ranking; the library is timed against it, and fuzz tests compare every value with it.


def naive_scores(
    run: Rows, judged: Rows, ks: Sequence[int], mus: Sequence[float], *, paper: bool = False, linear: bool = False
) -> Scores:
    """Return by (k, mu) the score of each query: of the run's queries, or, with ``paper``, of the ground truth's.

    Rows are ``video_name``, ``timestamp`` [start, end] and, in ``judged``, ``relevance``.
    """
    scores: Scores = {(k, mu): [] for k in ks for mu in mus}
    for query_id in judged if paper else run:
        rows = sorted(judged[query_id], key=lambda row: row["relevance"], reverse=True)
        for mu in mus:
            earned = claimed(run.get(query_id, []), copy.deepcopy(rows), mu, paper=paper)
            for k in ks:
                ideal = dcg([row["relevance"] for row in rows][:k], linear=linear)
                scores[k, mu].append(dcg(earned[:k], linear=linear) / ideal if ideal > 0 else 0.0)
    return scores


def claimed(predictions: Iterable[Row], free_rows: list[Row], mu: float, *, paper: bool) -> list[float]:
    """Return the relevance that each prediction earns; the rows that it claims are taken out of ``free_rows``."""
    earned = []
    for prediction in predictions:
        rows = [row for row in free_rows if row["video_name"] == prediction["video_name"]]
        ious = [iou(prediction["timestamp"], row["timestamp"]) for row in rows]
        best = max(ious, default=0.0)
        if not (best >= mu - TOLERANCE and best > 0 if paper else best > mu):
            earned.append(0)
            continue
        row = rows[int(np.argmax(np.array(ious) >= best - TOLERANCE if paper else ious))]  # the first of equals
        earned.append(row["relevance"])
        free_rows.pop(free_rows.index(row))
    return earned


def iou(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the intersection over union of two intervals."""
    intersection = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    union = (one[1] - one[0]) + (other[1] - other[0]) - intersection
    return intersection / union if union > 0 else 0.0


def dcg(relevances: Iterable[float], *, linear: bool) -> float:
    """Return the discounted cumulative gain."""
    worth = (relevance if linear else 2**relevance - 1 for relevance in relevances)
    return float(sum(value / np.log2(rank + 1) for rank, value in enumerate(worth, start=1)))


def main() -> int:
    growing = (",".join(map(str, GROWTH)), "queries, with commas between")
    parser = arguments(__doc__, queries=QUERIES, rounds=5, growth=growing)
    parser.add_argument("--published", type=Path, help="the published scorer: modules/ndcg_iou.py of TVR-Ranking")
    options = parser.parse_args()
    grown = growth([int(size) for size in options.growth.split(",")])
    peak = peak_mb()
    rows = [compared(options.queries, shape, options.rounds, options.published) for shape in SHAPES]
    result = {"machine": machine(), "numpy": np.__version__, "rows": rows, "growth": grown, "growth_peak_mb": peak}
    show(result, as_json=options.json)
    good = all(row["values_equal"] and row["speedup_over_naive"] >= row["wanted_speedup"] for row in rows)
    return 0 if good and peak <= MEMORY_MB else 1


if __name__ == "__main__":
    sys.exit(main())
