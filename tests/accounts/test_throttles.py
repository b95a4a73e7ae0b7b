"""How often people may join and ask for links; who was counted cannot be read from the table."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Throttle, User
from accounts.services.identities import identity_set
from accounts.services.throttles import (
    MAILS_FROM,
    MAILS_TO,
    REGISTRATIONS,
    Limit,
    throttle_count,
    throttle_forget,
    throttle_or_refuse,
)
from accounts.tasks import sessions_sweep
from core.exceptions import TooOften
from tests.conftest import Messages
from tests.factories import ProjectFactory

pytestmark = pytest.mark.django_db
TWICE = Limit("test", 2, timedelta(minutes=15))


def test_so_often_within_its_span_and_then_anew() -> None:
    assert [throttle_count(TWICE, "a") for _ in range(3)] == [True, True, False]
    assert throttle_count(TWICE, "b")
    Throttle.objects.update(began_at=timezone.now() - timedelta(minutes=16))
    assert throttle_count(TWICE, "A")
    throttle_forget(TWICE, "a")
    assert Throttle.objects.count() == 1
    throttle_or_refuse(TWICE, "b", "Slowly.")
    throttle_or_refuse(TWICE, "b", "Slowly.")
    with pytest.raises(TooOften, match=r"Slowly\. Wait up to 15 minutes"):
        throttle_or_refuse(TWICE, "b", "Slowly.")


def test_nobody_can_be_read_from_the_table() -> None:
    throttle_count(TWICE, "203.0.113.9")
    throttle_count(TWICE, "some@example.org")
    assert all(re.fullmatch("[0-9a-f]{64}", row.digest) for row in Throttle.objects.all())


def test_what_no_limit_looks_at_is_deleted() -> None:
    throttle_count(TWICE, "a")
    sessions_sweep()
    assert Throttle.objects.exists()
    Throttle.objects.update(began_at=timezone.now() - timedelta(days=3))
    sessions_sweep()
    assert not Throttle.objects.exists()


def test_an_address_gets_few_links_and_nobody_learns_that(client: Client, messages: Messages) -> None:
    identity_set(user=User.objects.create_user("somebody"), name="", email="some@example.org")
    bodies = set()
    for _ in range(MAILS_TO.most + 2):
        with messages():
            answer = client.post(reverse("password-forgotten"), {"email": "Some@example.org"}, follow=True)
        bodies.add(re.sub(r"csrf\S+ value=\S+|x-csrftoken\S+ \S+", "", answer.content.decode()))
    assert len(mail.outbox) == MAILS_TO.most
    assert len(bodies) == 1


def test_whoever_asks_for_many_links_waits(client: Client) -> None:
    answers = [
        client.post(reverse("password-forgotten"), {"email": f"{n}@example.org"}).status_code
        for n in range(MAILS_FROM.most + 1)
    ]
    assert answers == [302] * MAILS_FROM.most + [429]
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert elsewhere.post(reverse("password-forgotten"), {"email": "x@example.org"}).status_code == 302


def test_joining_is_counted_by_address(client: Client) -> None:
    project = ProjectFactory(registration_is_open=True)
    url = reverse("judging:join", args=[project.uuid])
    form = {"username": "x", "password": "short"}
    answers = [client.post(url, form).status_code for _ in range(REGISTRATIONS.most + 1)]
    assert answers == [422] * REGISTRATIONS.most + [429]
    assert client.get(url).status_code == 200
