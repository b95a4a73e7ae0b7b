"""Where the shared test data lies, and the mark that skips a test, visibly, where it is absent."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moment_retrieval.records import JudgedMoment, Span

REPOSITORY = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", REPOSITORY.parent / "shared"))
TVR_RANKING = os.environ.get("MOMENTJUDGE_TVR_RANKING", "")  # a folder with val.json, which is not public
SCORER = SHARED / "oracle" / "scorer"
RUNS = SHARED / "data" / "tvr_ranking" / "runs"
CORPUS = SHARED / "data" / "tvr_ranking" / "video_corpus.json"

needs_shared = pytest.mark.skipif(
    not SCORER.is_dir() or not RUNS.is_dir(), reason=f"no shared data at {SHARED}; set MOMENTJUDGE_SHARED"
)


@cache
def oracle(name: str) -> Any:
    """The content of one file of ``oracle/scorer``."""
    return json.loads((SCORER / name).read_text())


def judged(rows_by_query: dict[str, list[list[Any]]]) -> dict[str, list[JudgedMoment]]:
    """Judged moments from the oracle's rows [video, start, end, relevance]."""
    return {
        query_id: [JudgedMoment(str(video), start, end, relevance) for video, start, end, relevance in rows]
        for query_id, rows in rows_by_query.items()
    }


def spans(rows_by_query: dict[str, list[list[Any]]]) -> dict[str, list[Span]]:
    """Retrieved spans from the oracle's rows [video, start, end]."""
    return {
        query_id: [Span(str(video), start, end) for video, start, end in rows]
        for query_id, rows in rows_by_query.items()
    }


PARITY = SHARED / "parity"
DATA = SHARED / "data"
