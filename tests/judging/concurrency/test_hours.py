"""Two leads correct the same hours."""

from functools import partial

import pytest
from django.db.models import Sum

from judging.models import HoursCorrection
from judging.pay import services
from judging.pay.services import hours_correct
from tests.factories import NOW, ProjectFactory, annotator, lead
from tests.judging.concurrency.meeting import Meet

pytestmark = pytest.mark.django_db(transaction=True)


def test_two_leads_subtract_the_same_time(meet: Meet) -> None:
    """The second waits, and is told that the day holds no more."""
    project = ProjectFactory()
    person, actor = annotator(project), lead(project)
    values = {"project": project, "annotator": person, "day": NOW.date(), "reason": "r", "actor": actor}
    hours_correct(seconds=600, **values)
    subtract = partial(hours_correct, seconds=-400, **values)
    answers = meet((services, "pay_statement"), subtract, subtract)
    assert sorted(type(answer).__name__ for answer in answers) == ["HoursCorrection", "NotPossible"]
    assert HoursCorrection.objects.aggregate(left=Sum("seconds")) == {"left": 200}
