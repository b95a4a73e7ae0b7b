"""Judged moments written in every form, so that tests have something to read."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from moment_retrieval.formats import FileFormat, delimited, tvr_ranking
from moment_retrieval.formats.mvmr import PoolTruth, named
from moment_retrieval.formats.qvhighlights import CLIP_S, HighlightTruth, line
from moment_retrieval.formats.trec import word, written
from moment_retrieval.formats.tvr_ranking import json_lines, written_id
from moment_retrieval.tables import JudgedTable


def tvr(judged: JudgedTable) -> str:
    rows = []
    for number, query_id in enumerate(judged.query_ids):
        (moment,) = judged[query_id]
        row = {"vid_name": moment.video, "duration": moment.duration_s, "ts": [moment.start_s, moment.end_s]}
        row |= {"desc": judged.texts[number] if judged.texts else ""}
        row |= {"type": judged.kinds[number] if judged.kinds else "v", "desc_id": written_id(query_id)}
        rows.append({name: value for name, value in row.items() if value is not None})
    return json_lines(rows)


def qvhighlights(judged: JudgedTable) -> str:
    """Relevant windows (relevance above 0), and saliency where the table has it."""
    rows = []
    for number, query_id in enumerate(judged.query_ids):
        relevant = [moment for moment in judged[query_id] if moment.relevance > 0]
        windows = [[moment.start_s, moment.end_s] for moment in relevant]
        row = line(judged, number, [moment.video for moment in relevant]) | {"relevant_windows": windows}
        if isinstance(judged, HighlightTruth) and len(saliency := judged.saliency[number]):
            clips = np.flatnonzero((saliency > 0).any(axis=1))
            row |= {"duration": len(saliency) * CLIP_S, "relevant_clip_ids": clips.tolist()}
            row["saliency_scores"] = saliency[clips].astype(int).tolist()
        rows.append(row)
    return json_lines(rows)


def mvmr(judged: JudgedTable) -> str:
    assert isinstance(judged, PoolTruth)
    keys = ("timestamps", "sentences", "pos_moments", "retrieval_pool")
    videos: dict[str, dict[str, Any]] = {
        video: {"duration": duration, **{key: [] for key in keys}} for video, duration in judged.durations_s.items()
    }
    for number, (video, _) in enumerate(named(judged)):
        golden, *others = judged[judged.query_ids[number]]
        rows = (
            [golden.start_s, golden.end_s],
            judged.texts[number],
            [[other.video, other.caption, [other.start_s, other.end_s]] for other in others],
            list(judged.pools[number]),
        )
        for key, row in zip(keys, rows, strict=True):
            videos[video][key].append(row)
    return json.dumps(videos, ensure_ascii=False, allow_nan=False) + "\n"


def trec(judged: JudgedTable) -> str:
    """Qrels; a query without moments has no line."""
    return "".join(
        f"{word(query_id)} 0 {written(moment.video, moment.start_s, moment.end_s)} {moment.relevance}\n"
        for query_id in judged.query_ids
        for moment in judged[query_id]
    )


WRITERS: dict[FileFormat, Callable[[JudgedTable], str | bytes]] = {
    FileFormat.TVR_RANKING: tvr_ranking.write_ground_truth,
    FileFormat.TVR: tvr,
    FileFormat.QVHIGHLIGHTS: qvhighlights,
    FileFormat.MVMR: mvmr,
    FileFormat.TREC: trec,
    FileFormat.CSV: delimited.write_csv,
    FileFormat.PARQUET: delimited.write_parquet,
}
