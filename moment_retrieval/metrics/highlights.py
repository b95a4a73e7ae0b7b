"""Moment retrieval and highlight detection of QVHighlights: mAP, R1 and HIT@1.

Source: Lei et al., NeurIPS 2021, and its standalone evaluation. Measures have the names of that evaluation; values are
shares, not per cent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from moment_retrieval.formats.qvhighlights import HighlightRun, HighlightTruth
from moment_retrieval.metrics.iou import hull_ious, ious
from moment_retrieval.metrics.matching import NOTHING, lengths, matches, padded
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
from moment_retrieval.tables import Flags, Floats, Ints, JudgedTable, RunTable, recoded

MUS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
MAX_WINDOWS = 10
LENGTHS = {"short": (0, 10), "middle": (10, 30), "long": (30, 150), "full": None}  # seconds, above and up to
SALIENCY = {"Fair": 2, "Good": 3, "VeryGood": 4}  # the least of a clip worth showing


def highlights(run: RunTable, truth: JudgedTable) -> Scores:
    """All measures of a run; queries that it does not answer count 0.

    Windows are scored (``MR-<lengths>-mAP``, ``MR-<lengths>-mAP@mu``, ``MR-<lengths>-R1@mu``), and saliency too where
    run and ground truth have it (``HL-min-<saliency>-mAP`` and ``-Hit1``). A query has a part in a range of lengths if
    one of its windows has.

    Raises:
        UnknownQuery, EmptyFile.
    """
    check_queries(run, truth)
    columns: dict[str, Floats] = {}
    for name, bounds in LENGTHS.items():
        columns |= {f"MR-{name}-{key}": column for key, column in of_windows(run, in_range(truth, bounds)).items()}
    if isinstance(run, HighlightRun) and isinstance(truth, HighlightTruth) and any(map(len, run.saliency)):
        columns |= of_saliency(run, truth)
    return Scores(
        measures=tuple(columns),
        query_ids=truth.query_ids,
        values=np.stack(list(columns.values()), axis=1),
        missing=missing_queries(run, truth),
    )


def in_range(truth: JudgedTable, bounds: tuple[int, int] | None) -> JudgedTable:
    """The relevant windows longer than the one bound and no longer than the other."""
    length = truth.spans.end_s - truth.spans.start_s
    mask = truth.weights > 0
    if bounds is not None:
        mask &= (bounds[0] < length) & (length <= bounds[1])
    return truth.taken(mask)


def of_windows(run: RunTable, truth: JudgedTable) -> dict[str, Floats]:
    """Average precision and R1 of every query, NaN for a query without windows."""
    count = np.diff(truth.offsets)
    precision = average_precisions(run, truth, count)
    first = best_of_first(run, truth)
    columns = {"mAP": precision.mean(axis=0)}
    columns |= {f"mAP@{mu}": column for mu, column in zip(MUS, precision, strict=True)}
    columns |= {f"R1@{mu}": (first >= mu).astype(np.float64) for mu in MUS}
    return {name: np.where(count > 0, column, np.nan) for name, column in columns.items()}


def average_precisions(run: RunTable, truth: JudgedTable, count: Ints, mus: Sequence[float] = MUS) -> Floats:
    """[thresholds, queries] interpolated average precision of the first windows, by score.

    A window is right if it claims one that is judged, as for NDCG, but of equal overlaps the last; precision at a rank
    is the best from there on.
    """
    ranked = by_score(run)
    truth = truth.taken(np.lexsort((-np.arange(len(truth.query)), truth.query)))  # of equals the first is claimed
    queries = np.stack([numbers_of(truth.query_ids, ranked), np.arange(len(truth))], axis=1)
    precision = np.zeros((len(mus), len(truth)))
    for match in matches(ranked, truth, queries, mus, tolerance=0.0, depth=MAX_WINDOWS):
        right = match.claimed != NOTHING  # [thresholds, queries, ranks]
        share = np.cumsum(right, axis=2) / np.arange(1, right.shape[2] + 1)
        best = np.maximum.accumulate(share[:, :, ::-1], axis=2)[:, :, ::-1]
        precision[:, match.queries] = (best * right).sum(axis=2) / np.maximum(1, count[match.queries])
    return precision


def by_score(run: RunTable) -> RunTable:
    """The first windows of each query, best score first."""
    rows = np.flatnonzero(run.order < MAX_WINDOWS)
    return run.taken(rows[np.lexsort((-run.weights[rows], run.query[rows]))])


def best_of_first(run: RunTable, truth: JudgedTable) -> Floats:
    """[queries] intersection over hull of the first window with the judged one it overlaps most; 0 where there is none.

    The published evaluation chooses by IoU and reports by hull; equal but for the rounding.
    """
    numbers = numbers_of(truth.query_ids, run)
    answered = np.flatnonzero(lengths(run, numbers) > 0)
    rows = padded(truth.offsets, answered, np.diff(truth.offsets)[answered])
    best = np.zeros(len(truth))
    if rows.size:
        first, spans, judged = run.offsets[numbers[answered]][:, None], run.spans, truth.spans
        times = spans.start_s[first], spans.end_s[first], judged.start_s[rows], judged.end_s[rows]
        same = (rows >= 0) & (recoded(spans, judged.names)[first] == judged.video[rows])
        nearest = np.where(same, ious(*times), 0.0).argmax(axis=1)[:, None]
        best[answered] = np.take_along_axis(np.where(same, hull_ious(*times), 0.0), nearest, axis=1)[:, 0]
    return best


def of_saliency(run: HighlightRun, truth: HighlightTruth) -> dict[str, Floats]:
    """Average precision, the mean over annotators, and HIT@1, the best of them, of every query."""
    columns = {f"HL-min-{name}-{key}": np.zeros(len(truth)) for name in SALIENCY for key in ("mAP", "Hit1")}
    for queries, predicted, saliency in alike(run, truth):
        tops = np.array([clips.argmax() if len(clips) else len(saliency[0]) for clips in predicted])
        inside = np.flatnonzero(tops < saliency.shape[1])
        scores = np.stack([np.pad(clips, (0, saliency.shape[1]))[: saliency.shape[1]] for clips in predicted])
        for name, least in SALIENCY.items():
            worth = saliency >= least  # [queries, clips, annotators]
            columns[f"HL-min-{name}-mAP"][queries] = clip_precisions(scores, worth).mean(axis=1)
            columns[f"HL-min-{name}-Hit1"][queries[inside]] = worth[inside, tops[inside]].any(axis=1)
    return columns


def alike(run: HighlightRun, truth: HighlightTruth) -> Iterator[tuple[Ints, list[Floats], Floats]]:
    """Answered queries with as many clips and annotators: what is predicted, and given [queries, clips, annotators]."""
    shapes: dict[tuple[int, ...], list[int]] = {}
    for number, saliency in enumerate(truth.saliency):
        if saliency.size and truth.query_ids[number] in run.row_of:
            shapes.setdefault(saliency.shape, []).append(number)
    for numbers in shapes.values():
        predicted = [run.saliency[run.row_of[truth.query_ids[number]]] for number in numbers]
        yield np.array(numbers), predicted, np.stack([truth.saliency[number] for number in numbers])


def clip_precisions(scores: Floats, worth: Flags) -> Floats:
    """[queries, annotators] interpolated average precision of the clips; 0 where none is worth showing.

    Clips of equal score are one step, as in scikit-learn's precision-recall curve; the mean is over the steps that find
    something.
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    hits = np.cumsum(np.take_along_axis(worth, order[:, :, None], axis=1), axis=1)  # [queries, ranks, annotators]
    ends = np.ones((*ranked.shape, 1), np.bool_)  # of the steps
    ends[:, :-1, 0] = ranked[:, 1:] != ranked[:, :-1]
    share = np.where(ends, hits / np.arange(1, ranked.shape[1] + 1)[:, None], 0.0)
    best = np.maximum.accumulate(share[:, ::-1], axis=1)[:, ::-1]
    before = np.zeros_like(hits)
    before[:, 1:] = np.maximum.accumulate(np.where(ends, hits, 0), axis=1)[:, :-1]
    new = ends & (hits > before)
    precision: Floats = (best * new).sum(axis=1) / np.maximum(1, new.sum(axis=1))
    return precision
