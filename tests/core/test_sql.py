"""Rows read by statements that are worded once are those that the ORM reads."""

import pytest
from django.forms.models import model_to_dict
from pytest_django import DjangoAssertNumQueries

from accounts.models import Membership
from core.sql import row_first
from judging.models import Guideline, Policy
from tests.factories import MembershipFactory, ProjectFactory

pytestmark = pytest.mark.django_db


def test_the_row_is_the_one_that_the_orm_reads() -> None:
    project = ProjectFactory()
    policy = Policy.objects.get(project=project)
    row = row_first(Policy, "WHERE project_id = %s", project.pk)
    assert row == policy
    assert model_to_dict(row) == model_to_dict(policy)
    row.lease_minutes = 7
    row.save()
    policy.refresh_from_db()
    assert policy.lease_minutes == 7
    assert row_first(Policy, "WHERE id = %s", 0) is None


def test_a_related_row_comes_with_it(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    member = MembershipFactory()
    with django_assert_num_queries(1):
        row = row_first(Membership, "WHERE accounts_membership.id = %s", member.pk, related="project")
        assert row is not None
        assert (row, row.project, row.project.name) == (member, member.project, member.project.name)


def test_fields_that_need_converting_are_refused() -> None:
    with pytest.raises(TypeError, match="Guideline has fields that need converting: levels"):
        row_first(Guideline, "WHERE id = %s", 1)
