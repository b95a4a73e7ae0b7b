"""Grades and flags."""

from collections.abc import Callable
from functools import partial

from judging.models import Assignment, Flag, Judgment, JudgmentChange, Pair
from tests.factories import NOW, AssignmentFactory, BatchFactory, JudgmentFactory, MembershipFactory
from tests.judging.constraints.writes import More, Refused, Write, again, change


def judgment_change() -> JudgmentChange:
    return JudgmentChange.objects.create(judgment=JudgmentFactory(), from_grade=1, to_grade=2)


def finished_judgment() -> Judgment:
    judgment = JudgmentFactory()
    Assignment.objects.filter(pk=judgment.assignment_id).update(state="finished", ended_at=NOW)
    return judgment


def assignment_on(pair: Pair, **values: object) -> Assignment:
    return AssignmentFactory(batch=pair.batch, **values)  # type: ignore[no-any-return]


def end(assignment: Assignment, state: str = "lapsed") -> None:
    Assignment.objects.filter(pk=assignment.pk).update(state=state, ended_at=NOW)


def judgment_on(pair: Pair, **values: object) -> Judgment:
    """A grade for the pair under an assignment with these ``values``, by a new person unless they name one."""
    assignment = assignment_on(pair, **values)
    judgment: Judgment = JudgmentFactory(assignment=assignment, pair=pair)
    end(assignment)
    return judgment


def pair_of_batch() -> Pair:
    return BatchFactory(pairs=1).pairs.get()


def same_person_again() -> Write:
    pair = pair_of_batch()
    first = judgment_on(pair)
    return lambda: judgment_on(pair, annotator=first.annotator, seat=2)


def three_of_one_round() -> Write:
    pair = pair_of_batch()
    judgment_on(pair, seat=1)
    judgment_on(pair, seat=2)
    return lambda: judgment_on(pair, seat=2)


def flag(**values: object) -> Flag:
    assignment = values.pop("assignment", None) or AssignmentFactory()
    defaults = {"annotator": assignment.annotator, "pair": assignment.batch.pairs.first(), "reason": "broken"}  # type: ignore[attr-defined]
    return Flag.objects.create(assignment=assignment, **{**defaults, **values})


def unrequested_judgment(**values: object) -> Callable[[], Write]:
    """A grade under an open assignment that differs from what it asks for."""
    return lambda: partial(JudgmentFactory, assignment=AssignmentFactory(), **values)


def judgment_after_the_end(state: str) -> Callable[[], Write]:
    return lambda: partial(JudgmentFactory, assignment=AssignmentFactory(state=state))


def judgment_in_state(state: str, number: int = 1, **values: object) -> Callable[[], Write]:
    """A grade of round ``number`` for a pair in this state."""

    def prepare() -> Write:
        assignment = AssignmentFactory(batch__round=number)
        assignment.batch.pairs.update(state=state, **values)
        return partial(JudgmentFactory, assignment=assignment)

    return prepare


def judgment_of_another_batch() -> Write:
    return partial(JudgmentFactory, assignment=AssignmentFactory(), pair=pair_of_batch(), position=1)


def judgment_left_out() -> Write:
    """Of the same batch, but the assignment holds only its second pair."""
    batch = BatchFactory()
    first, second = batch.pairs.order_by("pk")
    assignment = AssignmentFactory(batch=batch, pair_ids=[second.pk])
    return partial(JudgmentFactory, assignment=assignment, pair=first, position=1)


def same_without_assignment() -> Write:
    assignment = AssignmentFactory()
    values = {
        "annotator": assignment.annotator,
        "pair": assignment.batch.pairs.first(),
        "round": 1,
        "seat": 1,
        "position": 1,
    }
    in_force = {"guideline": assignment.project.guidelines.get(), "policy": assignment.project.policies.get()}
    return partial(Judgment.objects.create, assignment=None, grade=1, source="person", **values, **in_force)


def imported_judgment() -> Judgment:
    pair = pair_of_batch()
    person = MembershipFactory(project=pair.batch.project).user
    return Judgment.objects.create(pair=pair, annotator=person, round=1, seat=1, grade=1, source="imported")


def flag_after_the_end(state: str) -> Callable[[], Write]:
    return lambda: partial(flag, assignment=AssignmentFactory(state=state))


def flag_taken_back_after_the_end() -> Write:
    new_flag = flag()
    end(new_flag.assignment, "finished")
    return lambda: Flag.objects.filter(pk=new_flag.pk).update(withdrawn_at=NOW)


def unrequested_flag(**values: Callable[[], object]) -> Callable[[], Write]:
    return lambda: partial(flag, **{name: value() for name, value in values.items()})


REFUSED: Refused = {
    "judgment_once_per_pair_and_annotator": same_person_again,
    "judgment_two_per_pair_and_round": three_of_one_round,
    "judgment_grade_from_0_to_4": change(JudgmentFactory, grade=5),
    "judgment_seat_is_1_or_2": change(JudgmentFactory, seat=3),
    "judgment_round_is_1_or_2": change(JudgmentFactory, round=3),
    "judgment_given_under_an_assignment_unless_imported": change(JudgmentFactory, assignment=None),
    "judgment_origin_of_the_imported": change(JudgmentFactory, origin="person"),
    "judgment_previous_grade_from_0_to_4": change(JudgmentFactory, previous_grade=5),
    "flag_once_per_pair_and_annotator": again(flag, assignment=AssignmentFactory),
    "flag_says_why": change(flag, reason="boring"),
    "judgment_change_is_one": change(judgment_change, to_grade=1),
}
MORE: More = {
    "a grade is kept with its guideline": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, guideline=None),
    ),
    "only imports name a person again": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, occurrence=1),
    ),
    "a grade is kept with its policy": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, policy=None),
    ),
    "a grade has its place": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, position=None),
    ),
    "places count from 1": ("judgment_given_under_an_assignment_unless_imported", change(JudgmentFactory, position=0)),
    **{
        f"no grade under a {state} assignment": ("does not ask for pair", judgment_after_the_end(state))
        for state in ("finished", "lapsed", "returned")
    },
    "no grade in somebody else's name": (
        "does not ask for pair",
        lambda: partial(JudgmentFactory, annotator=MembershipFactory().user),
    ),
    "no grade at another seat": ("does not ask for pair", unrequested_judgment(seat=2)),
    "no grade in another round": ("does not ask for pair", unrequested_judgment(round=2)),
    "no grade in another place": ("does not ask for pair", unrequested_judgment(position=2)),
    "no grade beyond the last place": ("does not ask for pair", unrequested_judgment(position=3)),
    "no grade for a pair of another batch": ("does not ask for pair", judgment_of_another_batch),
    "no grade for a pair left out": ("does not ask for pair", judgment_left_out),
    "no grade without an assignment": ("does not ask for pair", same_without_assignment),
    "no grade for a settled pair": ("does not ask for pair", judgment_in_state("settled", relevance=2)),
    "no grade for a dropped pair": ("does not ask for pair", judgment_in_state("dropped", reason="no_consensus")),
    "no grade for a withdrawn pair": ("does not ask for pair", judgment_in_state("withdrawn", reason="flagged_twice")),
    "no first grade for an escalated pair": ("does not ask for pair", judgment_in_state("escalated")),
    "no second grade for an open pair": ("does not ask for pair", judgment_in_state("open", 2)),
    "grades stay": ("never deleted", lambda: JudgmentFactory().delete),
    "imported grades stay": ("never deleted", lambda: imported_judgment().delete),
    "grades stay, many at once too": ("never deleted", lambda: Judgment.objects.filter(pk=JudgmentFactory().pk).delete),
    **{
        f"no flag under a {state} assignment": ("takes no flag", flag_after_the_end(state))
        for state in ("finished", "lapsed", "returned")
    },
    "no flag in somebody else's name": (
        "takes no flag",
        unrequested_flag(annotator=lambda: MembershipFactory().user),
    ),
    "no flag on a pair of another batch": ("takes no flag", unrequested_flag(pair=pair_of_batch)),
    "flags of an ended assignment are final": ("takes no flag", flag_taken_back_after_the_end),
    "grades of an ended assignment are final": ("is final", change(finished_judgment, grade=0)),
    "the time of an ended assignment's grades is final": ("is final", change(finished_judgment, active_ms=1)),
    "comments of an ended assignment are final": ("is final", change(finished_judgment, comment="later")),
    **{
        f"a judgment keeps its {field}": ("stays where it was given", change(JudgmentFactory, **{field: value}))
        for field, value in {"round": 2, "seat": 2, "position": 2, "previous_grade": 1, "source": "simulated"}.items()
    },
    "earlier grades stay": ("are kept", change(judgment_change, to_grade=0)),
    "earlier grades are not deleted": ("are kept", lambda: judgment_change().delete),
    "flags are not deleted": ("not deleted", lambda: flag().delete),
}
TRIGGERS: set[str] = {
    "flag_is_asked_for",
    "flag_is_kept",
    "judgment_change_is_kept",
    "judgment_is_asked_for",
    "judgment_is_final",
    "judgment_is_kept",
}
