"""People and their roles."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Membership, User
from accounts.services.members import leads_named, member_add
from core.exceptions import NotPossible
from tests.factories import ProjectFactory, UserFactory, lead

pytestmark = pytest.mark.django_db


def test_annotators_are_numbered_in_order() -> None:
    project = ProjectFactory()
    roles = ["annotator", "lead", "annotator", "admin", "annotator"]
    members = [member_add(project=project, user=UserFactory(), roles=[role]) for role in roles]
    assert [member.number for member in members] == [1, None, 2, None, 3]


def test_a_member_once_in_a_project_and_with_other_roles_elsewhere() -> None:
    person, project = UserFactory(), ProjectFactory()
    member_add(project=project, user=person, roles=["annotator"])
    with pytest.raises(NotPossible, match="has a role"):
        member_add(project=project, user=person, roles=["lead"])
    project, actor = ProjectFactory(), UserFactory()
    assert member_add(project=project, user=person, roles=["lead"], actor=actor).roles == ["lead"]
    event = project.audit_events.get(action="member.add")
    assert (event.actor, event.subject, event.data) == (actor, person.uuid, {"role": "lead", "number": None})


def test_leads_are_named_or_the_only_one() -> None:
    assert leads_named([]) == []
    first = lead(ProjectFactory())
    assert leads_named([]) == [first]
    second = lead(ProjectFactory())
    assert leads_named([]) == []
    assert set(leads_named([first.username, second.username])) == {first, second}
    with pytest.raises(NotPossible, match="'nobody'"):
        leads_named([first.username, "nobody"])


class TestCommand:
    def test_a_new_account_and_a_known_one(self) -> None:
        ProjectFactory(name="one")
        ProjectFactory(name="two")
        out = StringIO()
        call_command("add_member", "one", "ann", "annotator", stdout=out)
        password = out.getvalue().splitlines()[-1].removeprefix("Password: ")
        assert User.objects.get(username="ann").check_password(password)
        out = StringIO()
        call_command("add_member", "two", "ann", "lead", stdout=out)
        assert "Password" not in out.getvalue()
        assert dict(Membership.objects.values_list("project__name", "roles")) == {"one": ["annotator"], "two": ["lead"]}

    def test_a_further_role_joins_the_ones_of_before(self) -> None:
        ProjectFactory(name="one")
        for role in ("admin", "lead"):
            call_command("add_member", "one", "ann", role, stdout=(out := StringIO()))
        assert out.getvalue() == "ann is lead and admin of one.\n"
        assert Membership.objects.get().roles == ["lead", "admin"]

    def test_refusals(self) -> None:
        with pytest.raises(CommandError, match="no project"):
            call_command("add_member", "none", "ann", "lead")
        ProjectFactory(name="one")
        call_command("add_member", "one", "ann", "lead", stdout=StringIO())
        with pytest.raises(CommandError, match="has a role"):
            call_command("add_member", "one", "ann", "lead", stdout=StringIO())
        with pytest.raises(CommandError, match="cannot be annotator as well"):
            call_command("add_member", "one", "ann", "annotator", stdout=StringIO())
