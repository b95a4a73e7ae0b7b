"""Do what people do in verification studies, for tests."""

from collections.abc import Sequence

from accounts.models import User
from judging.checking import services as checking
from judging.models import ClipAssignment, VerificationAssignment, VerificationPair, VerificationStudy, WrittenQuery
from judging.verification import services
from tests.factories import (
    NOW,
    VerificationAnswerFactory,
    VerificationPairFactory,
    WrittenQueryFactory,
    checker,
)


def accepted_query(**values: object) -> WrittenQuery:
    """Write a query and have it accepted by a checker."""
    query: WrittenQuery = WrittenQueryFactory(**values)
    ClipAssignment.objects.filter(pk=query.assignment_id).update(state="finished", n_queries=1, ended_at=NOW)
    person = checker(query.clip.round.project)
    verdict = checking.Verdict("accept", query.start_s, query.end_s)
    checking.query_check(query=query.uuid, checker=person, verdict=verdict, now=NOW)
    query.refresh_from_db()
    return query


def answer(pair: VerificationPair | None = None, value: int = 4) -> VerificationAssignment:
    """Have a new checker answer for a pair of a study of one statement."""
    row: VerificationAssignment = VerificationAnswerFactory(
        assignment__pair=pair or VerificationPairFactory(), value=value
    ).assignment
    row.answered_at = NOW
    row.save()
    return row


def take(study: VerificationStudy, person: User) -> VerificationAssignment:
    assignment = services.pair_take(study=study, verifier=person)
    assert assignment is not None
    return assignment


def answer_next(study: VerificationStudy, person: User, values: Sequence[int]) -> VerificationAssignment:
    """Take the next pair and answer its statements in their order."""
    row = take(study, person)
    return services.answers_submit(assignment=row.uuid, verifier=person, values=dict(enumerate(values, start=1)))
