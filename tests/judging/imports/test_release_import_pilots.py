"""A release that leaves pilots out comes back as one that leaves them out."""

from pathlib import Path

import pytest

from annotation.models import NamedQuerySet, Query
from judging.review.services import batch_review
from judging.work.services.batches import batch_create
from tests.factories import CandidateFactory
from tests.judging.growing import Growing
from tests.judging.imports.test_release_import import again
from tests.judging.play import judge_round

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("encoder")]


@pytest.fixture
def collection() -> Growing:
    """One query that is released, and one that was judged as a pilot."""
    scenario = Growing()
    scenario.close()
    pilots = scenario.project.query_sets.create(name="pilot", is_pilot=True)
    first = scenario.begin(11, [1, 2], query_set=pilots).batches.get(number=1)
    judge_round(first, [2, 2], [2, 2])
    batch_review(batch=first, extend=False, lead=scenario.lead)
    return scenario


@pytest.mark.parametrize("is_pilot_still", [True, False])
def test_the_files_are_the_same_again_and_its_first_batch_is_a_pilot(
    collection: Growing, tmp_path: Path, is_pilot_still: bool
) -> None:
    NamedQuerySet.objects.update(is_pilot=is_pilot_still)
    imported, before, after = again(collection.project, tmp_path)
    assert before == after
    query = Query.objects.get(project=imported, number=11)
    assert (tmp_path / "one" / "missing.csv").read_text().splitlines()[1:] == [f"11,{query.text},val,pilot,,,"]
    assert (tmp_path / "one" / "queries.csv").read_text().splitlines()[2].endswith(",pilot,,no,no,yes")
    CandidateFactory(query=query)
    batch = batch_create(query=query, number=1)
    assert batch is not None and batch.is_pilot
