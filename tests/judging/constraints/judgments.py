"""Grades and flags."""

from functools import partial

from judging.models import Assignment, Flag, Judgment, JudgmentChange, Pair
from tests.factories import NOW, AssignmentFactory, BatchFactory, JudgmentFactory, MembershipFactory, ProjectFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, adding, again, change, deletion, maker

judgment_change = maker(JudgmentChange, judgment=JudgmentFactory, from_grade=1, to_grade=2)
CHANGES = {"round": 2, "slot": 2, "position": 2, "previous_grade": 1, "source": "simulated"}
STATES = ("finished", "lapsed", "returned")


def somebody() -> object:
    return MembershipFactory().user


def finished_judgment() -> Judgment:
    judgment: Judgment = JudgmentFactory()
    end(judgment.assignment, "finished")
    return judgment


def end(assignment: Assignment | None, state: str = "lapsed") -> None:
    assert assignment is not None
    Assignment.objects.filter(pk=assignment.pk).update(state=state, ended_at=NOW)


def judgment_on(pair: Pair, **values: object) -> Judgment:
    """A grade for the pair under an assignment with these ``values``, by a new person unless they name one."""
    judgment: Judgment = JudgmentFactory(assignment=AssignmentFactory(batch=pair.batch, **values), pair=pair)
    end(judgment.assignment)
    return judgment


def pair_of_batch() -> Pair:
    return BatchFactory(pairs=1).pairs.get()


def same_person_again() -> Write:
    pair = pair_of_batch()
    first = judgment_on(pair)
    return lambda: judgment_on(pair, annotator=first.annotator, slot=2)


def slot_again() -> Write:
    pair = pair_of_batch()
    judgment_on(pair, slot=2)
    return lambda: judgment_on(pair, slot=2)


def flag(**values: object) -> Flag:
    assignment = values.pop("assignment", None) or AssignmentFactory()
    defaults = {"annotator": assignment.annotator, "pair": assignment.batch.pairs.first(), "reason": "broken"}  # type: ignore[attr-defined]
    return Flag.objects.create(assignment=assignment, **{**defaults, **values})


def judgment_in_state(state: str, number: int = 1, **values: object) -> Prepare:
    """A grade of round ``number`` for a pair in this state."""

    def prepare() -> Write:
        assignment = AssignmentFactory(batch__round=number)
        assignment.batch.pairs.update(state=state, **values)
        return partial(JudgmentFactory, assignment=assignment)

    return prepare


def judgment_left_out() -> Write:
    """Of the same batch, but the assignment holds only its second pair."""
    batch = BatchFactory()
    first, second = batch.pairs.order_by("pk")
    assignment = AssignmentFactory(batch=batch, pair_ids=[second.pk])
    return partial(JudgmentFactory, assignment=assignment, pair=first, position=1)


def same_without_assignment() -> Write:
    assignment = AssignmentFactory()
    values = {"annotator": assignment.annotator, "pair": assignment.batch.pairs.first(), "position": 1}
    in_force = {"guideline": assignment.project.guidelines.get(), "policy": assignment.project.policies.get()}
    row = {"assignment": None, "round": 1, "slot": 1, "grade": 1, "source": "person", **values, **in_force}
    return partial(Judgment.objects.create, **row)


def imported_judgment(pair: Pair | None = None, **values: object) -> Judgment:
    pair = pair or pair_of_batch()
    person = MembershipFactory(project=pair.batch.project).user
    fields = {"pair": pair, "annotator": person, "round": 1, "slot": 1, "grade": 1, "source": "imported"}
    return Judgment.objects.create(**{**fields, **values})


def pair_of_one_round() -> Pair:
    return BatchFactory(query__project=ProjectFactory(max_rounds=1), pairs=1).pairs.get()


def flag_taken_back_after_the_end() -> Write:
    new_flag = flag()
    end(new_flag.assignment, "finished")
    return lambda: Flag.objects.filter(pk=new_flag.pk).update(withdrawn_at=NOW)


REFUSED: Refused = {
    "judgment_once_per_pair_and_annotator": same_person_again,
    "judgment_once_per_pair_round_and_slot": slot_again,
    "judgment_grade_from_0_to_9": change(JudgmentFactory, grade=10),
    "judgment_slot_is_1_to_3": change(JudgmentFactory, slot=4),
    "judgment_round_is_1_or_2": change(JudgmentFactory, round=3),
    "judgment_given_under_an_assignment_unless_imported": change(JudgmentFactory, assignment=None),
    "judgment_origin_of_the_imported": change(JudgmentFactory, origin="person"),
    "judgment_previous_grade_from_0_to_9": change(JudgmentFactory, previous_grade=10),
    "flag_once_per_pair_and_annotator": again(flag, assignment=AssignmentFactory),
    "flag_says_why": change(flag, reason="boring"),
    "judgment_change_is_one": change(judgment_change, to_grade=1),
}
MORE: More = {
    "judgment_given_under_an_assignment_unless_imported": {
        "a grade is kept with its guideline": change(JudgmentFactory, guideline=None),
        "only imports name a person again": change(JudgmentFactory, occurrence=1),
        "a grade is kept with its policy": change(JudgmentFactory, policy=None),
        "a grade has its place": change(JudgmentFactory, position=None),
        "places count from 1": change(JudgmentFactory, position=0),
    },
    "does not ask for pair": {
        **{
            f"no grade under a {state} assignment": adding(
                JudgmentFactory, assignment=partial(AssignmentFactory, state=state)
            )
            for state in STATES
        },
        "no grade in somebody else's name": adding(JudgmentFactory, annotator=somebody),
        "no grade at another slot": adding(JudgmentFactory, assignment=AssignmentFactory, slot=2),
        "no grade in another round": adding(JudgmentFactory, assignment=AssignmentFactory, round=2),
        "no grade in another place": adding(JudgmentFactory, assignment=AssignmentFactory, position=2),
        "no grade beyond the last place": adding(JudgmentFactory, assignment=AssignmentFactory, position=3),
        "no grade for a pair of another batch": adding(
            JudgmentFactory, assignment=AssignmentFactory, pair=pair_of_batch, position=1
        ),
        "no grade for a pair left out": judgment_left_out,
        "no imported grade of a third judge of two": adding(imported_judgment, pair=pair_of_batch, slot=3),
        "no imported grade of a second round of one": adding(imported_judgment, pair=pair_of_one_round, round=2),
        "no grade without an assignment": same_without_assignment,
        "no grade for a settled pair": judgment_in_state("settled", relevance=2),
        "no grade for a dropped pair": judgment_in_state("dropped", reason="no_consensus"),
        "no grade for a withdrawn pair": judgment_in_state("withdrawn", reason="flagged_twice"),
        "no first grade for an escalated pair": judgment_in_state("escalated"),
        "no second grade for an open pair": judgment_in_state("open", 2),
    },
    "is beyond (?!its)": {
        "no grade beyond the scale": adding(JudgmentFactory, assignment=AssignmentFactory, grade=5),
        "no imported grade beyond the scale": adding(imported_judgment, pair=pair_of_batch, grade=5),
    },
    "grade .* is beyond its scale": {"a grade stays within the scale": change(JudgmentFactory, grade=5)},
    "never deleted": {
        "grades stay": deletion(JudgmentFactory),
        "imported grades stay": deletion(imported_judgment),
        "grades stay, many at once too": lambda: Judgment.objects.filter(pk=JudgmentFactory().pk).delete,
    },
    "takes no flag": {
        **{
            f"no flag under a {state} assignment": adding(flag, assignment=partial(AssignmentFactory, state=state))
            for state in STATES
        },
        "no flag in somebody else's name": adding(flag, annotator=somebody),
        "no flag on a pair of another batch": adding(flag, pair=pair_of_batch),
        "flags of an ended assignment are final": flag_taken_back_after_the_end,
    },
    "is final": {
        "grades of an ended assignment are final": change(finished_judgment, grade=0),
        "the time of an ended assignment's grades is final": change(finished_judgment, active_ms=1),
        "comments of an ended assignment are final": change(finished_judgment, comment="later"),
    },
    "stays where it was given": {
        f"a judgment keeps its {field}": change(JudgmentFactory, **{field: value}) for field, value in CHANGES.items()
    },
    "are kept": {
        "earlier grades stay": change(judgment_change, to_grade=0),
        "earlier grades are not deleted": deletion(judgment_change),
    },
    "not deleted": {"flags are not deleted": deletion(flag)},
}
TRIGGERS = {
    *("flag_is_asked_for", "flag_is_kept", "judgment_change_is_kept"),
    *("judgment_is_asked_for", "judgment_is_final", "judgment_is_kept", "changed_grade_is_of_the_scale"),
}
