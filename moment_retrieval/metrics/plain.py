"""Measures where IoU plays no part: nDCG, AP, P, R and the like through ir_measures (pytrec_eval).

A retrieved moment counts if the very same moment was judged; or, ``by_video``, its video.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from moment_retrieval.errors import InvalidCutoff, InvalidRecord
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries
from moment_retrieval.records import MAX_RELEVANCE
from moment_retrieval.tables import JudgedTable, MomentTable, RunTable

MEASURES = ("nDCG@10", "nDCG@20", "nDCG@40", "AP", "P@10", "R@10", "R@40")


def plain(
    run: RunTable,
    judged: JudgedTable,
    *,
    measures: Sequence[str] = MEASURES,
    gain: Gain = Gain.EXPONENTIAL,
    by_video: bool = False,
) -> Scores:
    """Measures of a run by trec_eval's definitions, by the order of its lists; unanswered queries count 0.

    Of a moment or video that a query's list holds twice, the first counts, and the second is a miss at its rank. Of a
    video judged several times, the highest relevance counts.

    Args:
        measures: names as ir_measures spells them: ``nDCG@10``, ``AP(rel=2)``, ``P@5``, ``R@40``.
        gain: what nDCG makes of a relevance; whole numbers only.

    Raises:
        InvalidCutoff: a measure that ir_measures does not know.
        UnknownQuery, EmptyFile.
    """
    import ir_measures

    check_queries(run, judged)
    if (judged.weights % 1).any():
        raise InvalidRecord("measures of trec_eval need whole numbers as relevance")
    metrics = [parsed(name, gain) for name in measures]
    qrels = [ir_measures.Qrel(query_id, name, int(weight)) for query_id, name, weight in judged_items(judged, by_video)]
    docs = [ir_measures.ScoredDoc(query_id, name, -rank) for query_id, name, rank in ranked_items(run, by_video)]
    values = np.zeros((len(judged), len(metrics)))
    columns = {measure: number for number, measure in enumerate(metrics)}
    for metric in ir_measures.iter_calc(list(columns), qrels, docs):
        values[judged.row_of[metric.query_id], columns[metric.measure]] = metric.value
    return Scores(
        measures=tuple(measures),
        query_ids=judged.query_ids,
        values=values,
        missing=missing_queries(run, judged),
        kinds=judged.kinds,
        facts={"gain": gain.value, "unit": "video" if by_video else "moment"},
    )


def parsed(name: str, gain: Gain) -> Any:
    """The measure of this name; nDCG with the requested gains."""
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
    except (NameError, ValueError, SyntaxError, TypeError) as error:
        raise InvalidCutoff(f"ir_measures knows no measure {name}: {error}") from error
    if measure.NAME == "nDCG" and gain is Gain.EXPONENTIAL and "gains" not in measure.params:
        return measure(gains={relevance: 2**relevance - 1 for relevance in range(MAX_RELEVANCE + 1)})
    return measure


def judged_items(judged: JudgedTable, by_video: bool) -> Iterator[tuple[str, str, float]]:
    """Query, name and relevance of every judged item."""
    for query_id in judged.query_ids:
        best: dict[str, float] = {}
        for row in judged.rows_of(query_id):
            name = item(judged, row, by_video)
            best[name] = max(best.get(name, 0.0), float(judged.weights[row]))
        for name, relevance in best.items():
            yield query_id, name, relevance


def ranked_items(run: RunTable, by_video: bool) -> Iterator[tuple[str, str, int]]:
    """Query, name and rank of every retrieved item; a repetition gets a name of its own."""
    for query_id in run.query_ids:
        earlier_names: set[str] = set()
        for rank, row in enumerate(run.rows_of(query_id), start=1):
            name = item(run, row, by_video)
            yield query_id, f"{name} again {rank}" if name in earlier_names else name, rank
            earlier_names.add(name)


def item(table: MomentTable[Any], row: int, by_video: bool) -> str:
    video, start, end = table.span(row)
    return video if by_video else f"{video}:{start}-{end}"
