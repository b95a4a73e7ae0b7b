"""Batches, their pairs, and who holds them."""

from functools import partial

from django.db.models import F

from accounts.models import Membership
from tests.factories import NOW, AssignmentFactory, BatchFactory, MembershipFactory, PairFactory, QueryFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change, twice


def two_open_assignments() -> Write:
    assignment = AssignmentFactory()
    other = BatchFactory(query__project=assignment.project)
    return lambda: AssignmentFactory(batch=other, annotator=assignment.annotator)


def assignment_of_the(status: str) -> Prepare:
    def prepare() -> Write:
        batch = BatchFactory()
        person = MembershipFactory(project=batch.project, status=status).user
        return lambda: AssignmentFactory(batch=batch, annotator=person)

    return prepare


CHANGES = {"round": 2, "slot": 2, "pair_ids": [1], "gold_ids": F("pair_ids")}
returned_assignment = partial(AssignmentFactory, state="returned")
REFUSED: Refused = {
    "batch_number_once_per_query": again(BatchFactory, query=QueryFactory, pairs=0),
    "batch_pooled_from_number_3": change(BatchFactory, number=3),
    "batch_round_is_1_or_2": change(BatchFactory, round=3),
    "batch_has_two_slots_a_round": change(BatchFactory, free_slots=3),
    "batch_done_has_its_time": change(BatchFactory, state="done"),
    "pair_settled_has_its_relevance": change(PairFactory, state="settled"),
    "pair_out_says_why": change(PairFactory, state="dropped"),
    "assignment_one_holder_per_slot": twice(AssignmentFactory, "batch", "slot"),
    "assignment_one_open_per_annotator": two_open_assignments,
    "assignment_slot_is_1_or_2": change(AssignmentFactory, slot=3),
    "assignment_round_is_1_or_2": change(AssignmentFactory, round=3),
    "assignment_gold_is_asked_for": change(AssignmentFactory, gold_ids=[0]),
    "assignment_asks_for_something": change(AssignmentFactory, pair_ids=[]),
    "assignment_ended_has_its_time": change(AssignmentFactory, state="lapsed"),
}
MORE: More = {
    "pair_settled_has_its_relevance": {
        "an open pair has no relevance": change(PairFactory, relevance=2),
        "a settled relevance is a grade": change(PairFactory, state="settled", relevance=5),
    },
    "pair_out_says_why": {"a pair still in has no reason to be out": change(PairFactory, reason="no_consensus")},
    "batch_done_has_its_time": {"an open batch has no end": change(BatchFactory, done_at=NOW)},
    "assignment_ended_has_its_time": {"an open assignment has no end": change(AssignmentFactory, ended_at=NOW)},
    "is not qualified": {
        f"an annotator who is {status} is handed nothing": assignment_of_the(status)
        for status in set(Membership.Status.values) - {"qualified"}
    },
    "stays what it was": {
        **{
            f"an assignment keeps its {field}": change(AssignmentFactory, **{field: CHANGES[field]})
            for field in CHANGES
        },
        "an ended assignment is not opened again": change(returned_assignment, state="open", ended_at=None),
    },
}
TRIGGERS = {"assignment_is_of_the_qualified", "assignment_stays"}
