"""How often people may join and ask for links; who was counted cannot be read from the table."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.limits import MAILS_FROM, MAILS_TO, REGISTRATIONS, Limit
from accounts.models import CacheEntry, User
from accounts.services.identities import identity_set
from accounts.tasks import sessions_sweep
from core.exceptions import TooOften
from tests.conftest import Messages
from tests.factories import ProjectFactory

pytestmark = pytest.mark.django_db
TWICE = Limit("test", 2, timedelta(minutes=15))


def test_so_often_within_its_span_and_then_anew() -> None:
    assert [TWICE.try_once("a") for _ in range(3)] == [True, True, False]
    assert TWICE.try_once("b")
    CacheEntry.objects.update(expires=timezone.now() - timedelta(minutes=1))
    assert TWICE.try_once("A")
    TWICE.forget("a")
    assert CacheEntry.objects.count() == 1
    for _ in range(2):
        TWICE.try_or_refuse("c", "Slowly.")
    with pytest.raises(TooOften, match=r"Slowly\. Wait up to 15 minutes"):
        TWICE.try_or_refuse("c", "Slowly.")


def test_a_try_is_taken_back() -> None:
    for _ in range(5):
        assert TWICE.try_once("a")
        TWICE.take_back("a")
    assert [TWICE.try_once("a") for _ in range(3)] == [True, True, False]


def test_nobody_can_be_read_from_the_table() -> None:
    for who in ("203.0.113.9", "some@example.org"):
        TWICE.try_once(who)
    rows = CacheEntry.objects.values_list("cache_key", "value")
    assert len(rows) == 2
    for key, value in rows:
        assert re.search(" [0-9a-f]{64}$", key)
        assert "203.0" not in key + value and "some" not in key + value


def test_what_no_limit_looks_at_is_deleted() -> None:
    TWICE.try_once("a")
    sessions_sweep()
    assert CacheEntry.objects.exists()
    CacheEntry.objects.update(expires=timezone.now() - timedelta(seconds=1))
    sessions_sweep()
    assert not CacheEntry.objects.exists()


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
