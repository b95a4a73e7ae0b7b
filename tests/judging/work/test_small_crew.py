"""Four people are enough for whatever they leave undone: nobody who went away makes a fifth one needed."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from judging.models import Batch
from judging.work.services.assignments import assignment_finish, assignment_return, assignment_take
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import judgment_submit
from tests.factories import BatchFactory, annotator

CREW, PAIRS = 4, 3
leavings = st.lists(st.tuples(st.integers(0, CREW - 1), st.integers(0, PAIRS)), max_size=8)


@pytest.fixture
def batch() -> Batch:
    return BatchFactory(pairs=PAIRS)  # type: ignore[no-any-return]


@pytest.fixture
def crew(batch: Batch) -> list[User]:
    return [annotator(batch.project) for _ in range(CREW)]


@pytest.mark.django_db
@given(leavings=leavings, far=st.booleans())
@settings(max_examples=10, suppress_health_check=list(HealthCheck), database=None)
def test_four_finish_every_batch(batch: Batch, crew: list[User], leavings: list[tuple[int, int]], far: bool) -> None:
    """People take, judge some pairs and give the rest back, in any order; then all go on until nothing is offered."""
    with transaction.atomic():
        for who, pairs in leavings:
            sit(batch, crew[who], grade=4 * (who % 2) if far else 2, pairs=pairs)
            batch_advance(batch_id=batch.pk)
        while sum(sit(batch, person, grade=4 * (n % 2) if far else 2) for n, person in enumerate(crew)):
            batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        assert batch.state == Batch.State.DONE
        transaction.set_rollback(True)


def sit(batch: Batch, person: User, *, grade: int, pairs: int | None = None) -> bool:
    """Take what is offered and judge ``pairs`` of it before giving the rest back, or all; whether there was any."""
    assignment = assignment_take(project=batch.project, annotator=person)
    if assignment is None:
        return False
    pairs_by_id = {pair.pk: pair for pair in batch.pairs.all()}
    for pair_id in assignment.pair_ids[:pairs]:
        judgment_submit(annotator=person, pair_uuid=pairs_by_id[pair_id].uuid, grade=grade)
    if pairs is None or pairs >= len(assignment.pair_ids):
        return assignment_finish(project=batch.project, annotator=person)
    return assignment_return(project=batch.project, annotator=person)
