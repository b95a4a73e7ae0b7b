"""Reads of judging: who may see and do what, and what is left to do."""

from judging.selectors.agreement import (
    alerts_of,
    final_columns,
    gold_counts,
    newest_judgment,
    quality_alerts,
    quality_report,
)
from judging.selectors.annotator import (
    Readiness,
    final_grades,
    given_in,
    open_assignment,
    preview_visible_to,
    readiness,
    work_done,
)
from judging.selectors.exams import EXAM_SPLITS, exam_pairs, exam_rows, exam_unfinished, exams_of, sittings_of
from judging.selectors.gold import gold_batch, gold_in, gold_share
from judging.selectors.held import Card, Held, held_by_pair, held_open
from judging.selectors.known_pairs import known_pairs_in_stock, known_pairs_unseen
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
from judging.selectors.people import actor_names, invitations_unused, people_of, staff_of, standing_counts
from judging.selectors.quality import flagged_pairs, flags_of, order_effects, people_have_judged
from judging.selectors.query_sets import queries_matching, queries_outside_sets, query_sets_with_counts
from judging.selectors.seats import (
    batch_to_be_taken,
    pairs_asked_now,
    seats_held,
    work_waits,
)
from judging.selectors.sittings import Asked, Sat, sitting_asking, sitting_by_id, sitting_of
from judging.selectors.way import tutorial_pairs, way_facts, work_lately

__all__ = [
    "EXAM_SPLITS",
    "Asked",
    "Card",
    "Held",
    "Readiness",
    "Sat",
    "actor_names",
    "alerts_of",
    "annotator_numbers",
    "batch_rows",
    "batch_to_be_taken",
    "exam_pairs",
    "exam_rows",
    "exam_unfinished",
    "exams_of",
    "final_columns",
    "final_grades",
    "flagged_pairs",
    "flags_of",
    "given_in",
    "gold_batch",
    "gold_counts",
    "gold_in",
    "gold_share",
    "held_by_pair",
    "held_open",
    "invitations_unused",
    "job_running",
    "known_pairs_in_stock",
    "known_pairs_unseen",
    "newest_judgment",
    "open_assignment",
    "order_effects",
    "overview_counts",
    "pairs_asked_now",
    "people_have_judged",
    "people_of",
    "preview_visible_to",
    "quality_alerts",
    "quality_report",
    "queries_matching",
    "queries_outside_sets",
    "queries_without_batch",
    "query_sets_with_counts",
    "readiness",
    "relevance_by_rank",
    "relevance_counts",
    "review_queue",
    "seats_held",
    "sitting_asking",
    "sitting_by_id",
    "sitting_of",
    "sittings_of",
    "staff_of",
    "standing_counts",
    "tutorial_pairs",
    "way_facts",
    "work_done",
    "work_lately",
    "work_waits",
]
