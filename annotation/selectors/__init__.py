"""Reads of what there is to judge."""

from annotation.selectors.captions import captions_serving, captions_to_train_on
from annotation.selectors.corpora import (
    CorpusSummary,
    corpora_of,
    corpora_within_reach,
    corpus_is_seen,
    import_remarks,
    projects_run_by,
)
from annotation.selectors.queries import measures_of, queries_to_judge, queries_to_train_on

__all__ = [
    "CorpusSummary",
    "captions_serving",
    "captions_to_train_on",
    "corpora_of",
    "corpora_within_reach",
    "corpus_is_seen",
    "import_remarks",
    "measures_of",
    "projects_run_by",
    "queries_to_judge",
    "queries_to_train_on",
]
