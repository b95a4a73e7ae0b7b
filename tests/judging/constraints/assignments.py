"""Batches, their pairs, and who holds them."""

from django.db.models import F

from accounts.models import Membership
from tests.factories import NOW, AssignmentFactory, BatchFactory, MembershipFactory, PairFactory, QueryFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change


def duplicate_slot() -> Write:
    assignment = AssignmentFactory()
    return lambda: AssignmentFactory(batch=assignment.batch, seat=assignment.seat)


def two_open_assignments() -> Write:
    assignment = AssignmentFactory()
    other = BatchFactory(query__project=assignment.project)
    return lambda: AssignmentFactory(batch=other, annotator=assignment.annotator)


def assignment_of_the(status: str) -> Prepare:
    def prepare() -> Write:
        batch = BatchFactory()
        person = MembershipFactory(project=batch.project, standing=status).user
        return lambda: AssignmentFactory(batch=batch, annotator=person)

    return prepare


REFUSED: Refused = {
    "batch_number_once_per_query": again(BatchFactory, query=QueryFactory, pairs=0),
    "batch_pooled_from_number_3": change(BatchFactory, number=3),
    "batch_round_is_1_or_2": change(BatchFactory, round=3),
    "batch_has_two_seats_a_round": change(BatchFactory, free_seats=3),
    "batch_done_has_its_time": change(BatchFactory, state="done"),
    "pair_settled_has_its_relevance": change(PairFactory, state="settled"),
    "pair_out_says_why": change(PairFactory, state="dropped"),
    "assignment_one_holder_per_seat": duplicate_slot,
    "assignment_one_open_per_annotator": two_open_assignments,
    "assignment_seat_is_1_or_2": change(AssignmentFactory, seat=3),
    "assignment_round_is_1_or_2": change(AssignmentFactory, round=3),
    "assignment_gold_is_asked_for": change(AssignmentFactory, gold_ids=[0]),
    "assignment_asks_for_something": change(AssignmentFactory, pair_ids=[]),
    "assignment_ended_has_its_time": change(AssignmentFactory, state="lapsed"),
}
MORE: More = {
    "an open pair has no relevance": ("pair_settled_has_its_relevance", change(PairFactory, relevance=2)),
    "a settled relevance is a grade": (
        "pair_settled_has_its_relevance",
        change(PairFactory, state="settled", relevance=5),
    ),
    "a pair still in has no reason to be out": ("pair_out_says_why", change(PairFactory, reason="no_consensus")),
    "an open batch has no end": ("batch_done_has_its_time", change(BatchFactory, done_at=NOW)),
    "an open assignment has no end": ("assignment_ended_has_its_time", change(AssignmentFactory, ended_at=NOW)),
    **{
        f"an assignment keeps its {field}": ("stays what it was", change(AssignmentFactory, **{field: value}))
        for field, value in {"round": 2, "seat": 2, "pair_ids": [1], "gold_ids": F("pair_ids")}.items()
    },
    **{
        f"an annotator who is {status} is handed nothing": ("is not qualified", assignment_of_the(status))
        for status in set(Membership.Standing.values) - {"qualified"}
    },
    "an ended assignment is not opened again": (
        "stays what it was",
        change(lambda: AssignmentFactory(state="returned"), state="open", ended_at=None),
    ),
}
TRIGGERS: set[str] = {
    "assignment_is_of_the_qualified",
    "assignment_stays",
}
