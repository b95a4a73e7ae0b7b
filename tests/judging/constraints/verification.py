"""Verification studies: their samples, statements and answers, and another look at a pair."""

from typing import Any

from judging.models import VerificationAssignment, VerificationStatement
from tests.factories import (
    NOW,
    DescriptionFactory,
    ProjectFactory,
    VerificationAnswerFactory,
    VerificationAssignmentFactory,
    VerificationInspectionFactory,
    VerificationPairFactory,
    VerificationStudyFactory,
    annotator,
    checker,
)
from tests.judging.constraints.collection import row_deleted
from tests.judging.constraints.writes import More, Refused, Write, adding, again, change, maker
from tests.judging.verification.acts import accepted_query, answer

statement = maker(VerificationStatement, study=VerificationStudyFactory, position=2, text="Nothing else matches.")


def assignment_of(person: Any) -> Write:
    """Hand a pair of a query that was checked to somebody named by their part in it."""
    query = accepted_query()
    study = VerificationStudyFactory(project=query.clip.round.project)
    pair = VerificationPairFactory(study=study, description=query.description)
    people = {"writer": query.writer, "checker": query.checks.get().checker, "annotator": annotator(study.project)}
    if person == "writer":
        query.writer.memberships.update(roles=["writer", "checker"])
    return lambda: VerificationAssignmentFactory(pair=pair, verifier=people[person])


def pair_of_one_person_again() -> Write:
    first = VerificationAssignmentFactory()
    return lambda: VerificationAssignmentFactory(pair=first.pair, verifier=first.verifier)


def assignment_of_who_looked_again() -> Write:
    row = VerificationInspectionFactory()
    decide(row, person := checker(row.pair.study.project))
    return lambda: VerificationAssignmentFactory(pair=row.pair, verifier=person)


def second_answers_of_a_pair() -> Write:
    pair = answer().pair
    second = VerificationAnswerFactory(assignment__pair=pair).assignment
    return lambda: VerificationAssignment.objects.filter(pk=second.pk).update(answered_at=NOW)


def no_answers() -> Write:
    row = VerificationAssignmentFactory()
    return lambda: VerificationAssignment.objects.filter(pk=row.pk).update(answered_at=NOW)


def strange_answer() -> Write:
    row = answer()
    other = VerificationStudyFactory().statements.get()
    return lambda: VerificationAnswerFactory(assignment=row, statement=other)


def new_statement() -> Write:
    study = answer().pair.study
    return lambda: statement(study=study)


def answers_moved() -> Write:
    row = answer()
    return lambda: VerificationAssignment.objects.filter(pk=row.pk).update(answered_at=None)


def decide(row: Any, person: Any, **values: Any) -> int:
    """Write a decision past every check in Python."""
    facts = {"decision": "accept", "decided_at": NOW, "start_s": 1.5, "end_s": 4.25, "checker": person, **values}
    return type(row).objects.filter(pk=row.pk).update(**facts)  # type: ignore[no-any-return]


def decision_of(person: str, **values: Any) -> Write:
    query = accepted_query()
    study = VerificationStudyFactory(project=query.clip.round.project)
    row = VerificationInspectionFactory(pair__study=study, pair__description=query.description)
    query.writer.memberships.update(roles=["writer", "checker"])
    people = {"writer": lambda: query.writer, "annotator": lambda: annotator(study.project)}
    people |= {"verifier": lambda: answer(row.pair).verifier, "checker": lambda: checker(study.project)}
    decider = people[person]()
    return lambda: decide(row, decider, **values)


def decided_twice() -> Write:
    row = VerificationInspectionFactory()
    decide(row, person := checker(row.pair.study.project))
    return lambda: decide(row, person, decision="reject", reason="wrong")


REFUSED: Refused = {
    "verification_study_name_once_per_project": again(VerificationStudyFactory, project=ProjectFactory, name="first"),
    "verification_study_has_a_name": change(VerificationStudyFactory, name=""),
    "verification_study_state_is_known": change(VerificationStudyFactory, state="lost"),
    "verification_study_has_pairs": adding(VerificationStudyFactory, n_pairs=0),
    "verification_study_asks_1_to_5_people": adding(VerificationStudyFactory, answers_per_pair=6),
    "verification_statement_position_once": adding(statement, study=VerificationStudyFactory, position=1),
    "verification_statement_text_once": adding(
        statement, study=VerificationStudyFactory, text="The query describes the moment."
    ),
    "verification_statement_position_from_1_to_9": adding(statement, study=VerificationStudyFactory, position=10),
    "verification_statement_has_words": adding(statement, study=VerificationStudyFactory, text=""),
    "verification_pair_once_per_study": again(
        VerificationPairFactory, study=VerificationStudyFactory, description=DescriptionFactory
    ),
    "verification_pair_position_once": again(VerificationPairFactory, study=VerificationStudyFactory, position=7),
    "verification_pair_starts_before_end": adding(VerificationPairFactory, end_s=1.5),
    "verification_assignment_once_per_pair_and_person": pair_of_one_person_again,
    "verification_assignment_undone_has_answers": change(VerificationAssignmentFactory, undone_at=NOW),
    "verification_answer_once_per_statement": again(
        VerificationAnswerFactory, assignment=VerificationAssignmentFactory
    ),
    "verification_answer_value_from_1_to_5": adding(VerificationAnswerFactory, value=6),
    "verification_inspection_waits_or_is_decided": change(VerificationInspectionFactory, decided_at=NOW),
    "verification_inspection_says_why": lambda: decision_of("checker", decision="reject"),
    "verification_inspection_starts_before_end": lambda: decision_of("checker", end_s=1.5),
}
MORE: More = {
    "verification_answer_value_from_1_to_5": {
        "no value is below the scale": adding(VerificationAnswerFactory, value=0)
    },
    "verification_study_asks_1_to_5_people": {
        "somebody answers": adding(VerificationStudyFactory, answers_per_pair=0),
    },
    "rows of judging_verificationstudy are kept": {
        "a study keeps its seed": change(VerificationStudyFactory, seed=2),
    },
    "rows of judging_verificationpair are kept": {
        "a sample keeps its pairs": lambda: row_deleted(VerificationPairFactory),
    },
    "rows of judging_verificationassignment are kept": {"answers are taken back, not away": answers_moved},
    "rows of judging_verificationanswer are kept": {
        "answers stay as they were sent": change(VerificationAnswerFactory, value=1),
        "the record of an answer stays": lambda: row_deleted(VerificationAnswerFactory),
    },
    "rows of judging_verificationinspection are kept": {"another look is decided once": decided_twice},
    "the statements of study": {"statements stay as they were answered": new_statement},
    "does not verify pair": {"annotators verify nothing": lambda: assignment_of("annotator")},
    "nobody verifies what they wrote or checked": {
        "writers do not verify their queries": lambda: assignment_of("writer"),
        "checkers do not verify what they accepted": lambda: assignment_of("checker"),
        "who looked again does not verify": assignment_of_who_looked_again,
    },
    "a statement has no answer": {"answers are complete": no_answers},
    "the pair has its answers": {"a pair gets no more answers than the study asks": second_answers_of_a_pair},
    "takes no answer to statement": {"an answer is to a statement of its study": strange_answer},
    "does not inspect pair": {"annotators look at nothing again": lambda: decision_of("annotator")},
    "nobody inspects what they wrote or verified": {
        "writers do not look at their queries again": lambda: decision_of("writer"),
        "who verified a pair does not look at it again": lambda: decision_of("verifier"),
    },
    "the inspected moment ends after its video": {
        "bounds are moved within the video at another look": lambda: decision_of(
            "checker", decision="correct", note="It goes on.", end_s=90.001
        )
    },
}
TRIGGERS = {"verification_study_is_kept", "verification_pair_is_kept", "verification_assignment_is_kept"}
TRIGGERS |= {"verification_answer_is_kept", "verification_inspection_is_kept", "verification_statement_is_frozen"}
TRIGGERS |= {"verification_assignment_is_of_a_checker", "verification_answers_fit_their_study"}
TRIGGERS |= {"verification_answer_is_of_its_study", "verification_inspection_is_of_a_checker"}
