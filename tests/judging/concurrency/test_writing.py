"""Writers at the same instant: no clip goes to two of them, and none gets more queries than it needs."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest

from accounts.models import User
from judging.collection import services
from judging.collection.rules import Entry
from judging.exceptions import JudgingError
from judging.models import ClipAssignment, WritingClip, WritingRound, WrittenQuery
from tests.factories import NOW, WritingClipFactory, WritingRoundFactory, writer
from tests.judging.concurrency.meeting import Meet, closing, rush

pytestmark = pytest.mark.django_db(transaction=True)
ENTRY = Entry("A man opens the door of a red car.", "v", 1.0, 2.0)
WRITERS = 40


def round_of(n: int, **rules: int) -> WritingRound:
    row = WritingRoundFactory(**rules)
    WritingClipFactory.create_batch(n, round=row)
    return row  # type: ignore[no-any-return]


def taking(row: WritingRound, person: User) -> Callable[[], ClipAssignment | None]:
    return partial(services.clip_take, round=row, writer=person, now=NOW)


def test_40_writers_at_once_and_no_clip_goes_to_two() -> None:
    row = round_of(WRITERS - 5)
    answers = rush([taking(row, writer(row.project)) for _ in range(WRITERS)])
    clips = [answer.clip_id for answer in answers if answer]
    assert len(clips) == len(set(clips)) == WRITERS - 5
    assert ClipAssignment.objects.filter(state="open").count() == WRITERS - 5


def test_one_writer_presses_twice() -> None:
    row = round_of(2)
    first, second = rush([taking(row, person := writer(row.project)), taking(row, person)])
    assert first == second
    assert ClipAssignment.objects.count() == 1


def test_two_tabs_submit_for_one_clip(meet: Meet) -> None:
    """With a key each, one is recorded and the other refused: the clip is finished."""
    row = round_of(1)
    assignment = taking(row, writer(row.project))()
    assert assignment is not None

    def submit() -> object:
        about = {"assignment": assignment.uuid, "writer": assignment.writer, "entry": ENTRY, "now": NOW}
        return services.query_submit(key=uuid4(), **about)

    answers = meet((services, "_count"), submit, submit)
    assert sum(isinstance(answer, JudgingError) for answer in answers) == 1
    assert (WrittenQuery.objects.count(), WritingClip.objects.get().n_queries) == (1, 1)


def test_a_lease_that_ends_meets_a_submission(meet: Meet) -> None:
    """Whoever comes first is right; never is a query recorded of a clip that others have."""
    row = round_of(1, queries_per_clip=1)
    assignment = taking(row, writer(row.project))()
    assert assignment is not None
    other, late = writer(row.project), assignment.expires_at
    about = {"assignment": assignment.uuid, "writer": assignment.writer, "key": uuid4(), "entry": ENTRY, "now": NOW}
    submission, theirs = meet(
        (services, "_count"),
        partial(services.query_submit, **about),
        closing(partial(services.clip_take, round=row, writer=other, now=late)),
    )
    assert submission.query.clip_id == assignment.clip_id
    assert theirs is None
