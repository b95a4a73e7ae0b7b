"""People who verify at the same instant: no pair goes to more of them than its study asks."""

from collections import Counter
from functools import partial

import pytest

from judging.models import VerificationAssignment
from judging.verification import services
from tests.factories import NOW, VerificationPairFactory, VerificationStudyFactory, checker
from tests.judging.concurrency.meeting import rush

pytestmark = pytest.mark.django_db(transaction=True)


def test_12_people_at_once_and_no_pair_goes_to_three() -> None:
    study = VerificationStudyFactory(n_pairs=5, answers_per_pair=2)
    VerificationPairFactory.create_batch(5, study=study)
    people = [checker(study.project) for _ in range(12)]
    answers = rush([partial(services.pair_take, study=study, verifier=person, now=NOW) for person in people])
    assert sum(answer is not None for answer in answers) == 10
    assert set(Counter(VerificationAssignment.objects.values_list("pair", flat=True)).values()) == {2}
