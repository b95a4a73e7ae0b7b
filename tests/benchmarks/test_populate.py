"""The rows that growth is measured on obey the rules that the triggers would have asked for."""

import pytest
from django.db import connection
from django.db.models import Count

from benchmarks.populate import FREE_HANDS, OPEN_KINDS, fill, sizes
from judging.models import Assignment, Batch, Judgment, Pair
from judging.work.rules import free_slots, rules_of
from judging.work.selectors.assignments import pairs_requested, slots_taken
from judging.work.services.batches import tallies_recount

MISMATCHED_JUDGMENTS = """
SELECT count(*) FROM judging_judgment given JOIN judging_assignment held ON held.id = given.assignment_id
JOIN judging_pair pair ON pair.id = given.pair_id
WHERE (given.annotator_id, given.round, given.slot, pair.batch_id, given.pair_id)
    <> (held.annotator_id, held.round, held.slot, held.batch_id, held.pair_ids[given.position])"""


def test_sizes_give_the_judgments_requested() -> None:
    size = sizes(pairs=1_000_000, judgments=3_000_000)
    assert (size.batches, size.open) == (50_000, 2_500)
    assert size.done * (40 + 2 * (size.escalated - 1)) < 3_000_000 <= size.done * (40 + 2 * size.escalated)
    assert sizes(pairs=10_000, judgments=10**9).escalated == 20  # four grades a pair are the most
    with pytest.raises(ValueError, match="6000 pairs are too few"):
        sizes(pairs=6000, judgments=6000)


@pytest.mark.django_db
@pytest.mark.deployment
def test_rows_obey_the_rules() -> None:
    seeded, rows = fill(pairs=6_200, judgments=600, annotators=120)
    assert rows["judging_pair"] == Pair.objects.count() == 6_200
    assert rows["judging_judgment"] == Judgment.objects.count() > 600
    with connection.cursor() as cursor:
        cursor.execute(MISMATCHED_JUDGMENTS)
        assert cursor.fetchone() == (0,)
    sat = Assignment.objects.values("batch", "annotator").annotate(n=Count("pk"))
    assert not sat.filter(n__gt=1).exists()
    assert Assignment.objects.filter(state="open").count() == 2 * OPEN_KINDS["held"]
    assert tallies_recount(project=seeded.project) is False
    assert not Batch.objects.filter(awaits_review=True).exists()
    free_hands = seeded.annotators[-FREE_HANDS:]
    assert not Assignment.objects.filter(state="open", annotator__in=free_hands).exists()
    for batch in Batch.objects.filter(state="open"):
        pairs = pairs_requested(batch_id=batch.pk)
        assert batch.free_slots == len(
            free_slots(pairs, taken_slots=slots_taken(batch.pk), slots=rules_of(batch).slots)
        )
        assert batch.begun == batch.assignments.filter(round=batch.round).exists()
