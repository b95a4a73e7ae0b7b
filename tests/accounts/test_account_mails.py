"""Messages about accounts: one for each request, and none is lost with the worker that was sending it."""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest
from django.core import mail

from accounts.limits import digest_of
from accounts.models import User
from accounts.services import identities
from accounts.services.identities import email_changed_mail, identity_set, password_link_mail
from tests.conftest import Messages
from tests.locks import locked_elsewhere

pytestmark = pytest.mark.django_db
REQUEST = "0" * 32


@pytest.fixture(params=["password link", "address changed"])
def write(request: pytest.FixtureRequest) -> Callable[[], None]:
    if request.param == "address changed":
        return partial(email_changed_mail, email="old@example.org", request=REQUEST)
    user = User.objects.create_user("somebody")
    identity_set(user=user, name="", email="some@example.org")
    return partial(password_link_mail, user_id=user.pk, request=REQUEST)


def test_a_repeat_sends_no_other(write: Callable[[], None]) -> None:
    write()
    write()
    assert len(mail.outbox) == 1


class TestFormerAddress:
    """Nothing but the message knows it."""

    @pytest.fixture(autouse=True)
    def mails(self, settings: Any) -> None:
        settings.EMAIL_HOST = "mail.example.org"

    @pytest.fixture
    def user(self) -> User:
        user = User.objects.create_user("somebody")
        identity_set(user=user, name="", email="old@example.org")
        return user

    @pytest.mark.parametrize("is_broker_there", [True, False])
    def test_a_worker_sends_it_or_without_a_broker_the_site(
        self, user: User, messages: Messages, monkeypatch: pytest.MonkeyPatch, is_broker_there: bool
    ) -> None:
        if not is_broker_there:
            monkeypatch.setattr(identities, "send_now", lambda *message: False)
        with messages():
            identity_set(user=user, name="", email="new@example.org")
        assert [message.to for message in mail.outbox] == [["old@example.org"]]

    def test_an_unavailable_mail_server_is_logged(
        self, user: User, messages: Messages, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(identities, "send_now", lambda *message: False)
        monkeypatch.setattr(identities, "send_mail", Mock(side_effect=ConnectionRefusedError("nobody listens")))
        with messages():
            identity_set(user=user, name="", email="new@example.org")
        assert "was not told at the former one: nobody listens" in caplog.text
        assert "old@example.org" not in caplog.text


def test_a_killed_worker_loses_none(write: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(identities, "send_mail", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            write()
    write()
    assert len(mail.outbox) == 1


def test_not_while_another_worker_sends_it(write: Callable[[], None]) -> None:
    with locked_elsewhere("once", int(digest_of(REQUEST), 16)):
        write()
    assert not mail.outbox
