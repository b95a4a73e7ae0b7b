"""Reads of judging: who may see and do what, and what is left to do."""

from judging.selectors.annotator import (
    Readiness,
    final_judgments,
    given_in,
    open_assignment,
    preview_visible_to,
    readiness,
    work_done,
)
from judging.selectors.forecast import forecast_measured
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
from judging.selectors.pay import Account, Statement, corrections_of, pay_rates, pay_statement
from judging.selectors.quality import flagged_pairs, flags_of, order_effects, people_have_judged
from judging.selectors.query_sets import queries_matching, queries_outside_sets, query_sets_with_counts
from judging.selectors.seats import (
    batch_to_be_taken,
    pairs_asked_now,
    seats_held,
    work_waits,
)

__all__ = [
    "Account",
    "Card",
    "Held",
    "Readiness",
    "Statement",
    "annotator_numbers",
    "batch_rows",
    "batch_to_be_taken",
    "corrections_of",
    "final_judgments",
    "flagged_pairs",
    "flags_of",
    "forecast_measured",
    "given_in",
    "held_by_pair",
    "held_open",
    "job_running",
    "open_assignment",
    "order_effects",
    "overview_counts",
    "pairs_asked_now",
    "pay_rates",
    "pay_statement",
    "people_have_judged",
    "preview_visible_to",
    "queries_matching",
    "queries_outside_sets",
    "queries_without_batch",
    "query_sets_with_counts",
    "readiness",
    "relevance_by_rank",
    "relevance_counts",
    "review_queue",
    "seats_held",
    "work_done",
    "work_waits",
]
