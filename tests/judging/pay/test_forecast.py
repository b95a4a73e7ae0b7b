"""Figures of a running project for a forecast."""

import pytest
from django.db import transaction

from accounts.models import Project
from judging.guidelines.selectors import policy_in_force
from judging.models import Judgment
from judging.pay.selectors import forecast_measured
from tests.factories import annotator, triggers_asleep
from tests.judging.money import judged, local, project_in

pytestmark = pytest.mark.django_db


def seconds(project: Project) -> float | None:
    return forecast_measured(project, policy_in_force(project.pk))["seconds"]


def test_judges_of_a_round_are_the_projects() -> None:
    project = project_in()
    project.judges = 3
    assert forecast_measured(project, policy_in_force(project.pk))["judges"] == 3


def test_seconds_are_those_that_were_measured_up_to_the_cap() -> None:
    project = project_in()
    assert seconds(project) is None
    judgments = [judged(project, annotator(project), local("2026-03-02T10:00"), spent) for spent in (10, 20, 500)]
    assert seconds(project) == pytest.approx((10 + 20 + 120) / 3)
    with transaction.atomic(), triggers_asleep():
        Judgment.objects.filter(pk=judgments[2].pk).update(active_ms=None)
    assert seconds(project) == pytest.approx(15)
