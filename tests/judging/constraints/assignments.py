"""Batches, their pairs, and who holds them."""

from functools import partial

from django.db.models import F

from accounts.models import Membership
from judging.models import Batch
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    MembershipFactory,
    PairFactory,
    ProjectFactory,
    QueryFactory,
)
from tests.judging.constraints.writes import More, Prepare, Refused, Write, adding, again, change, twice


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


def batch_of_one_round() -> Batch:
    return BatchFactory(query__project=ProjectFactory(max_rounds=1))  # type: ignore[no-any-return]


OTHER_RULES = {
    **{"top_grade": 3, "judges": 3, "max_spread": 0, "max_rounds": 1},
    "strata": [[1, 40, 20]],
}
settled_pair = partial(PairFactory, state="settled", relevance=2)
CHANGES = {"round": 2, "slot": 2, "pair_ids": [1], "gold_ids": F("pair_ids")}
returned_assignment = partial(AssignmentFactory, state="returned")
REFUSED: Refused = {
    "batch_number_once_per_query": again(BatchFactory, query=QueryFactory, pairs=0),
    "batch_pooled_from_number_3": change(BatchFactory, number=3),
    "batch_rules_are_possible": change(BatchFactory, top_grade=0),
    "batch_round_is_allowed": change(BatchFactory, round=3),
    "batch_has_a_slot_for_each_judge": change(BatchFactory, free_slots=3),
    "batch_done_has_its_time": change(BatchFactory, state="done"),
    "pair_settled_has_its_relevance": change(PairFactory, state="settled"),
    "pair_out_says_why": change(PairFactory, state="dropped"),
    "assignment_one_holder_per_slot": twice(AssignmentFactory, "batch", "slot"),
    "assignment_one_open_per_annotator": two_open_assignments,
    "assignment_slot_is_1_to_3": change(AssignmentFactory, slot=4),
    "assignment_round_is_1_or_2": change(AssignmentFactory, round=3),
    "assignment_gold_is_asked_for": change(AssignmentFactory, gold_ids=[0]),
    "assignment_asks_for_something": change(AssignmentFactory, pair_ids=[]),
    "assignment_ended_has_its_time": change(AssignmentFactory, state="lapsed"),
}
MORE: More = {
    "pair_settled_has_its_relevance": {
        "an open pair has no relevance": change(PairFactory, relevance=2),
        "a settled relevance is a grade": change(PairFactory, state="settled", relevance=10),
    },
    "pair_out_says_why": {"a pair still in has no reason to be out": change(PairFactory, reason="no_consensus")},
    "batch_done_has_its_time": {"an open batch has no end": change(BatchFactory, done_at=NOW)},
    "assignment_ended_has_its_time": {"an open assignment has no end": change(AssignmentFactory, ended_at=NOW)},
    "batch_round_is_allowed": {
        "rounds count from 1": change(BatchFactory, round=0),
        "a batch of one round has no second": change(batch_of_one_round, round=2),
    },
    "has other rules than project": {
        **{
            f"a batch begins with the {field} of its project": adding(
                BatchFactory, query=QueryFactory, **{field: value}
            )
            for field, value in OTHER_RULES.items()
        },
        **{
            f"a batch keeps the {field} of its project": change(BatchFactory, **{field: value})
            for field, value in OTHER_RULES.items()
        },
        "a project without second batches gets none": adding(
            BatchFactory, query=partial(QueryFactory, project__has_second_batch=False), number=2
        ),
    },
    "has no slot": {
        "two judges have no third slot": adding(AssignmentFactory, batch=BatchFactory, slot=3),
        "a batch of one round asks for no second": adding(AssignmentFactory, batch=batch_of_one_round, round=2),
    },
    "relevance .* is beyond its scale": {
        "a settled relevance is of the scale": adding(settled_pair, batch=partial(BatchFactory, pairs=0), relevance=5),
        "a changed relevance is of the scale": change(settled_pair, relevance=5),
    },
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
TRIGGERS = {
    *("assignment_is_of_the_qualified", "assignment_stays", "assignment_slot_is_of_the_round"),
    *("batch_has_the_rules_of_its_project", "relevance_is_of_the_scale"),
}
