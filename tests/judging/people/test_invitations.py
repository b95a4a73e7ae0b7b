"""Invitations: one person joins, once; what is kept of the link opens nothing."""

import re
from datetime import timedelta
from smtplib import SMTPException
from typing import Any

import pytest
from django.core import mail
from django.db import IntegrityError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Identity, Membership, Project, User
from accounts.services.identities import NewAccount, identity_set
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.exceptions import InvitationGone, InvitationUnknown, NotPossibleNow
from judging.models import Invitation
from judging.people import services
from judging.people.services import (
    FORGOTTEN_AFTER,
    MAILS,
    invitation_accept,
    invitation_accepted_just_now,
    invitation_create,
    invitation_find,
    invitation_mail,
    invitation_renew,
    invitation_revoke,
    invitations_sweep,
    registration_join,
    registration_switch,
)
from tests.conftest import Messages
from tests.factories import ProjectFactory, UserFactory, lead
from tests.locks import locked_elsewhere

pytestmark = pytest.mark.django_db
NEW = NewAccount("newcomer", "a long password", "New Comer", "new@example.org")
ADDRESS = "guest@example.org"


class Killed(BaseException):
    """Raised by tests to kill tasks."""


def invite(project: Project, **values: Any) -> tuple[Invitation, str]:
    """An invitation and the secret of its link."""
    invitation, path = invitation_create(
        project=project, actor=lead(project), role=values.pop("role", "annotator"), **values
    )
    return invitation, secret_in(path)


def secret_in(text: str) -> str:
    return "".join(re.findall(r"/invitations/([^/]+)/", text))


def expire(invitation: Invitation) -> None:
    long_ago = timezone.now() - timedelta(days=20)
    Invitation.objects.filter(pk=invitation.pk).update(created_at=long_ago, expires_at=long_ago + timedelta(days=1))


class TestJoining:
    def test_a_new_person_is_a_candidate_with_the_next_number(self, project: Project) -> None:
        invitation, secret = invite(project)
        member = invitation_accept(secret=secret, person=NEW)
        assert (member.roles, member.number, member.status) == (["annotator"], 1, "candidate")
        assert member.user.check_password("a long password")
        assert (member.user.identity.name, member.user.identity.email) == ("New Comer", "new@example.org")
        invitation.refresh_from_db()
        assert invitation.accepted_by == member.user

    def test_somebody_with_an_account_joins_with_it(self, project: Project) -> None:
        person = UserFactory()
        _, secret = invite(project, role="admin")
        member = invitation_accept(secret=secret, person=person)
        assert (member.user, member.roles, member.number) == (person, ["admin"], None)

    def test_whom_it_was_mailed_to_yields_to_what_the_person_says(self, project: Project) -> None:
        invitation, _ = invite(project, email=ADDRESS, name="A Guest")
        secret = secret_in(invitation_renew(invitation=invitation, actor=lead(project)))
        invitation_accept(secret=secret, person=NEW)
        assert list(Identity.objects.values_list("user__username", "email")) == [("newcomer", "new@example.org")]

    def test_who_cannot_join_uses_nothing_up(self, project: Project) -> None:
        _, secret = invite(project)
        person = UserFactory(username="NewComer")
        with pytest.raises(NotPossible, match="user name is taken"):
            invitation_accept(secret=secret, person=NEW)
        User.objects.filter(pk=person.pk).update(username="somebody")
        identity_set(user=person, name="", email="NEW@example.org")
        with pytest.raises(NotPossible, match="another account"):
            invitation_accept(secret=secret, person=NEW)
        with pytest.raises(NotPossible, match="has a role"):
            invitation_accept(secret=secret, person=lead(project))
        assert not User.objects.filter(username="newcomer").exists()
        assert invitation_find(secret=secret)


class TestRefused:
    def test_used(self, project: Project) -> None:
        _, secret = invite(project)
        invitation_accept(secret=secret, person=NEW)
        with pytest.raises(InvitationGone, match="used already"):
            invitation_accept(secret=secret, person=UserFactory())

    def test_expired_or_revoked(self, project: Project) -> None:
        old, expired_secret = invite(project)
        expire(old)
        invitation, secret = invite(project)
        for _ in range(2):
            invitation_revoke(invitation=invitation, actor=lead(project))
        for refused, words in ((expired_secret, "has expired"), (secret, "taken back")):
            with pytest.raises(InvitationGone, match=words):
                invitation_accept(secret=refused, person=NEW)
        assert AuditEvent.objects.filter(action="invitation.revoke").count() == 1
        assert not User.objects.filter(username="newcomer").exists()

    @pytest.mark.parametrize("secret", ["", "x" * 43, "nul\0l", "\ud800", "ü" * 5000, "' OR 1=1 --"])
    def test_garbled(self, project: Project, secret: str) -> None:
        invite(project)
        with pytest.raises(InvitationUnknown):
            invitation_accept(secret=secret, person=NEW)


def test_the_same_form_finds_what_it_did_and_no_other_does_nor_later(project: Project) -> None:
    """Else a used link would be a place to try passwords at."""
    _, secret = invite(project)
    member = invitation_accept(secret=secret, person=NEW)

    def find(username: str = "newcomer") -> Membership | None:
        return invitation_accepted_just_now(secret=secret, username=username)

    assert find() == member
    assert find(username="somebody") is None
    Invitation.objects.update(accepted_at=timezone.now() - timedelta(minutes=2))
    assert find() is None


class TestRenewed:
    def test_the_old_link_opens_nothing_and_the_new_one_does(self, project: Project) -> None:
        invitation, old = invite(project)
        expire(invitation)
        new = secret_in(invitation_renew(invitation=invitation, actor=lead(project)))
        with pytest.raises(InvitationUnknown):
            invitation_find(secret=old)
        assert invitation_find(secret=new) == invitation

    def test_not_when_used_or_revoked_nor_sent_to_nobody(self, project: Project) -> None:
        invitation, secret = invite(project)
        with pytest.raises(NotPossibleNow, match="no e-mail address"):
            invitation_renew(invitation=invitation, actor=lead(project), mail=True)
        invitation_accept(secret=secret, person=NEW)
        with pytest.raises(NotPossibleNow, match="used already"):
            invitation_renew(invitation=invitation, actor=lead(project))
        with pytest.raises(NotPossibleNow, match="used already"):
            invitation_revoke(invitation=invitation, actor=lead(project))
        other, _ = invite(project)
        invitation_revoke(invitation=other, actor=lead(project))
        with pytest.raises(NotPossibleNow, match="was revoked"):
            invitation_renew(invitation=other, actor=lead(project))


class TestMailed:
    def test_the_link_in_the_message_opens_it_and_is_sent_once(self, project: Project, messages: Messages) -> None:
        with messages():
            invitation, secret = invite(project, email=ADDRESS, name="A Guest")
        assert secret == ""
        assert not invitation_mail(invitation_id=invitation.pk)
        with messages():
            MAILS.sweep(timezone.now() + timedelta(minutes=5))
        (message,) = mail.outbox
        assert message.to == [ADDRESS]
        assert "http://testserver/invitations/" in message.body
        assert invitation_find(secret=secret_in(message.body)) == invitation
        assert invitation.identity is not None and invitation.identity.user is None

    def test_a_killed_worker_leaves_it_waiting_for_the_sweep(
        self, project: Project, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(*args: object) -> None:
            raise Killed

        invitation, _ = invite(project, email=ADDRESS)
        with monkeypatch.context() as patched:
            patched.setattr(services, "send_mail", die)
            with pytest.raises(Killed):
                invitation_mail(invitation_id=invitation.pk)
        invitation.refresh_from_db()
        assert invitation.mail == Invitation.Mail.WAITING
        with messages():
            MAILS.sweep(timezone.now() + timedelta(minutes=2))
        invitation.refresh_from_db()
        assert (invitation.mail, len(mail.outbox)) == (Invitation.Mail.SENT, 1)
        assert invitation_find(secret=secret_in(mail.outbox[0].body)) == invitation

    def test_not_while_another_worker_sends_it(self, project: Project) -> None:
        invitation, _ = invite(project, email=ADDRESS)
        with locked_elsewhere(MAILS.lock, invitation.pk):
            assert not invitation_mail(invitation_id=invitation.pk)
        assert invitation_mail(invitation_id=invitation.pk)
        assert len(mail.outbox) == 1

    def test_what_is_requested_again_meanwhile_still_waits(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def meanwhile(*args: object) -> None:
            invitation_renew(invitation=invitation, actor=lead(project), mail=True)

        invitation, _ = invite(project, email=ADDRESS)
        with monkeypatch.context() as patched:
            patched.setattr(services, "send_mail", meanwhile)
            invitation_mail(invitation_id=invitation.pk)
        invitation.refresh_from_db()
        assert invitation.mail == Invitation.Mail.WAITING

    @pytest.mark.parametrize("error", [SMTPException("no such user"), ValueError("a line break in the subject")])
    def test_a_server_that_refuses_is_shown(
        self, project: Project, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        def refuse(*args: object) -> None:
            raise error

        monkeypatch.setattr(services, "send_mail", refuse)
        invitation, _ = invite(project, email=ADDRESS)
        assert not invitation_mail(invitation_id=invitation.pk)
        invitation.refresh_from_db()
        assert invitation.mail == Invitation.Mail.FAILED

    def test_one_open_invitation_for_an_address_and_none_to_who_is_here(self, project: Project) -> None:
        invitation, _ = invite(project, email=ADDRESS)
        with pytest.raises(NotPossible, match="that is open"):
            invite(project, email=ADDRESS.upper())
        invite(ProjectFactory(), email=ADDRESS)
        invitation_revoke(invitation=invitation, actor=lead(project))
        assert invite(project, email=ADDRESS)
        identity_set(user=lead(project), name="A Guest", email="here@example.org")
        with pytest.raises(NotPossible, match="has a role"):
            invite(project, email="here@example.org")

    def test_whom_it_was_for_is_forgotten(self, project: Project) -> None:
        revoked, _ = invite(project, email=ADDRESS)
        invitation_revoke(invitation=revoked, actor=lead(project))
        old, _ = invite(project, email="old@example.org")
        invite(project, email="young@example.org", days=30)
        invitations_sweep(now=old.expires_at + FORGOTTEN_AFTER)
        assert list(Identity.objects.values_list("email", flat=True)) == ["young@example.org"]


def test_secret_and_identity_are_in_no_other_table(project: Project, messages: Messages) -> None:
    with messages():
        invitation, _ = invite(project, email=ADDRESS, name="A Guest")
    secret = secret_in(mail.outbox[0].body)
    invitation_accept(secret=secret, person=NEW)
    assert not find_in_tables(secret)
    assert not find_in_tables(ADDRESS) and not find_in_tables("A Guest")
    assert find_in_tables("New Comer") == find_in_tables("new@example.org") == ["accounts_identity"]
    invitation.refresh_from_db()
    assert AuditEvent.objects.filter(subject=invitation.uuid).count() == 2


def find_in_tables(text: str) -> list[str]:
    tables = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" shown WHERE shown::text LIKE %s', [f"%{text}%"])
            if cursor.fetchone() != (0,):
                tables.append(table)
    return tables


def test_whoever_comes_joins_while_registration_is_open(project: Project) -> None:
    with pytest.raises(InvitationUnknown):
        registration_join(project_uuid=project.uuid, person=NEW)
    for _ in range(2):
        registration_switch(project=project, actor=lead(project), is_open=True)
    member = registration_join(project_uuid=project.uuid, person=NEW)
    assert (member.number, member.status) == (1, "candidate")
    registration_switch(project=project, actor=lead(project), is_open=False)
    with pytest.raises(InvitationUnknown):
        registration_join(project_uuid=project.uuid, person=UserFactory())
    events = AuditEvent.objects.filter(action__in=["registration.open", "registration.close"]).order_by("id")
    assert list(events.values_list("action", flat=True)) == ["registration.open", "registration.close"]


class TestQualifiedByWord:
    def test_who_accepts_judges_at_once_by_the_word_of_the_lead(self, project: Project) -> None:
        invitation, secret = invite(project, qualifies=True)
        member = invitation_accept(secret=secret, person=NEW)
        assert member.status == Membership.Status.QUALIFIED
        change = member.status_changes.get(to_status="qualified")
        assert (change.actor, change.reason) == (invitation.created_by, "Qualified by the invitation.")
        assert AuditEvent.objects.get(action="invitation.create").data["qualifies"] is True

    def test_not_by_the_word_of_who_leads_no_more(self, project: Project) -> None:
        invitation, secret = invite(project, qualifies=True)
        project.memberships.filter(user=invitation.created_by).update(roles=["admin"])
        assert invitation_accept(secret=secret, person=NEW).status != Membership.Status.QUALIFIED

    @pytest.mark.parametrize("role", ["lead", "admin", "participant"])
    def test_annotators_alone(self, project: Project, role: str) -> None:
        with pytest.raises(NotPossible, match="Only annotators are qualified"):
            invite(project, role=role, qualifies=True)
        invitation, _ = invite(project, role=role)
        with pytest.raises(IntegrityError, match="invitation_qualifies_annotators"):
            Invitation.objects.filter(pk=invitation.pk).update(qualifies=True)

    def test_the_form_offers_it_and_the_pages_say_it(self, client: Client, project: Project) -> None:
        client.force_login(lead(project))
        form = {"role": "qualified", "days": 14}
        page = client.post(reverse("judging:invitation-create", args=[project.uuid]), form).content.decode()
        assert "annotator, qualified" in page
        (path,) = set(re.findall(r"/invitations/[\w-]{40,}/", page))
        client.logout()
        assert "as soon as you have confirmed the guideline" in client.get(path).content.decode()
