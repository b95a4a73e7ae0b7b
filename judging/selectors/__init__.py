"""Reads of judging: who may see and do what, and what is left to do."""

from judging.selectors.annotator import given_in, open_assignment, preview_visible_to, work_done
from judging.selectors.held import Card, Held, held_by_pair, held_open
from judging.selectors.lead import (
    annotator_numbers,
    batch_rows,
    job_running,
    overview_counts,
    queries_without_batch,
    relevance_by_rank,
    relevance_counts,
    review_queue,
)
from judging.selectors.seats import (
    batch_to_be_taken,
    batches_known_in_part,
    pairs_asked_now,
    seats_held,
    work_waits,
)

__all__ = [
    "Card",
    "Held",
    "annotator_numbers",
    "batch_rows",
    "batch_to_be_taken",
    "batches_known_in_part",
    "given_in",
    "held_by_pair",
    "held_open",
    "job_running",
    "open_assignment",
    "overview_counts",
    "pairs_asked_now",
    "preview_visible_to",
    "queries_without_batch",
    "relevance_by_rank",
    "relevance_counts",
    "review_queue",
    "seats_held",
    "work_done",
    "work_waits",
]
