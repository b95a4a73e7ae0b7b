"""A study of judging economy as rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from models_runner.models import EconomyStudy

COLUMNS = ["cut", "judgments", "pairs", "measure", "tau", "low", "high", "mean_absolute_change", "run", "score"]
NUMBERS = ("tau", "low", "high", "change")  # of each measure


def cuts_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all judgments as if they were a cut, then every cut; of each measure the numbers of NUMBERS."""
    unknown = [None] * len(result["measures"])
    full = {"name": "full", "words": "all judgments", "tau": [1] * len(unknown)}
    return [{**result, **dict.fromkeys(NUMBERS, unknown), **full}, *result["cuts"]]


def rows_of(study: EconomyStudy, index: int) -> list[dict[str, Any]]:
    """Return the full judgments first, then every cut, by the measure of this number. ``share`` is that of the
    judgments in percent; ``ranking`` holds name, score, and by how many places each run moved up."""
    result = study.result
    before = _ranks([scores[index] for scores in result["scores"]])
    total = result["judgments"]
    rows = []
    for cutoff in cuts_of(result):
        numbers = {name: cutoff[name][index] for name in NUMBERS}
        share = round(100 * cutoff["judgments"] / total) if total and cutoff["judgments"] else None
        scores = [values[index] for values in cutoff["scores"]]
        now = _ranks(scores)
        ranking = sorted(zip(now, result["runs"], scores, before, strict=True))
        moves = [(name, score, earlier - rank) for rank, name, score, earlier in ranking]
        rows.append({**cutoff, **numbers, "share": share, "ranking": moves})
    return rows


def _ranks(scores: list[float]) -> list[int]:
    """Return the rank of each run, from 0 for the best; of equals the first stays first."""
    best_first = np.argsort(-np.array(scores), kind="stable")
    ranks: list[int] = np.argsort(best_first).tolist()
    return ranks


def table_rows(result: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the rows of COLUMNS: every cut, measure and run."""
    for cutoff in cuts_of(result):
        for index, measure in enumerate(result["measures"]):
            numbers = [cutoff[name][index] for name in NUMBERS]
            for run, scores in zip(result["runs"], cutoff["scores"], strict=True):
                yield [cutoff["name"], cutoff["judgments"], cutoff["pairs"], measure, *numbers, run, scores[index]]
