"""Which form a file has, seen from its content."""

from __future__ import annotations

import enum
import re

from moment_retrieval.entries import decoded, skip_blank
from moment_retrieval.errors import EmptyFile, WrongFormat
from moment_retrieval.formats import trec, tvr
from moment_retrieval.formats.builder import Source
from moment_retrieval.jsonfiles import shown

PARQUET_MAGIC = b"PAR1"


class Form(enum.Enum):
    """The forms of runs and ground truth, by the names that commands use."""

    TVR_RANKING = "tvr-ranking"
    TVR = "tvr"
    QVHIGHLIGHTS = "qvhighlights"
    MVMR = "mvmr"
    TREC = "trec"
    CSV = "csv"
    PARQUET = "parquet"


RUN, TRUTH = False, True
KEYS = (  # of an entry or line: the first that are all there decide
    ({"pred_relevant_windows"}, Form.QVHIGHLIGHTS, RUN),
    ({"pred_saliency_scores"}, Form.QVHIGHLIGHTS, RUN),
    ({"qid", "relevant_windows"}, Form.QVHIGHLIGHTS, TRUTH),
    ({"predictions"}, Form.TVR_RANKING, RUN),
    ({"relevant_moment"}, Form.TVR_RANKING, TRUTH),
    ({"timestamp", "relevance"}, Form.TVR_RANKING, TRUTH),
    ({"vid_name", "ts"}, Form.TVR, TRUTH),
)
SUBMISSION = ("video2idx", *tvr.TASKS)
FIRST_KEY = re.compile(r'\{\s*"(\w+)"')
VIDEO_KEYS = (({"pos_moments"}, TRUTH), ({"retrieval_pool"}, TRUTH), ({"predictions"}, RUN))  # MVMR, of a video


def detected(source: Source) -> tuple[Form, bool | None]:
    """The form, and whether it is ground truth (True), a run (False), or cannot be told (None).

    Raises:
        WrongFormat: it looks like none of the forms.
        EmptyFile: there is nothing in it.
    """
    if source.plain.startswith(PARQUET_MAGIC):
        return Form.PARQUET, None
    text = source.text
    start = skip_blank(text, 0)
    if start == len(text):
        raise EmptyFile("no content")
    if text[start] in "[{":
        return of_json(text, start)
    return of_columns(text[start : (text.find("\n", start) + 1 or len(text))])


def of_json(text: str, start: int) -> tuple[Form, bool | None]:
    """The form of JSON, from its first entry."""
    if text[start] == "[":
        start = skip_blank(text, start + 1)
        if text[start : start + 1] == "]":
            return Form.TVR_RANKING, None
    first_key = FIRST_KEY.match(text, start)
    if first_key is not None and first_key[1] in SUBMISSION:
        return Form.TVR, RUN  # and may be large: it is not looked at further
    entry, _ = decoded(text, start)
    keys = set(entry) if isinstance(entry, dict) else set()
    for needed, form, truth in KEYS:
        if needed <= keys:
            return form, truth
    first = next(iter(entry.values()), None) if isinstance(entry, dict) else None
    for needed, truth in VIDEO_KEYS if isinstance(first, dict) else ():
        if needed <= set(first or ()):
            return Form.MVMR, truth
    return Form.TVR_RANKING, None  # its reader says what is missing


def of_columns(line: str) -> tuple[Form, bool | None]:
    """The form of a text in columns, from its first line."""
    names = [name.strip().strip('"') for name in line.split(",")]
    if "query_id" in names:
        return Form.CSV, None if "score" in names and "relevance" in names else "relevance" in names
    cells = len(line.split())
    if cells in (len(trec.RUN), len(trec.QRELS)):
        return Form.TREC, cells == len(trec.QRELS)
    raise WrongFormat(f"line 1: neither JSON nor columns of a form that is known: {shown(line.strip())}")
