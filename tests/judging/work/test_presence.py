"""Heartbeats and leaving, as the page sends them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from core import clock
from judging.models import Assignment
from judging.work.rules import LEAVING
from tests.judging.views.acts import HTMX, end, lapse, rows, url

pytestmark = pytest.mark.django_db


class TestPresence:
    def test_a_heartbeat_starts_the_lease_anew(self, browser: Client, held: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        answer = browser.post(url("heartbeat", held.project))
        assert (answer.status_code, answer.content) == (204, b"")
        held.refresh_from_db()
        assert held.expires_at > timezone.now() + timedelta(minutes=19)

    def test_a_heartbeat_does_not_revive(self, browser: Client, held: Assignment) -> None:
        lapse(held)
        before = rows()
        answer = browser.post(url("heartbeat", held.project), headers=HTMX)
        assert answer.status_code == 409
        assert "Your time on this batch has run out" in answer.content.decode()
        assert rows() == before

    def test_a_heartbeat_without_a_batch(self, browser: Client, held: Assignment) -> None:
        end(held, "returned")
        assert browser.post(url("heartbeat", held.project)).status_code == 409

    def test_leaving_keeps_it_for_a_moment(self, browser: Client, held: Assignment) -> None:
        answer = browser.post(url("leave", held.project))
        assert (answer.status_code, answer.content) == (204, b"")
        held.refresh_from_db()
        assert held.state == "open"
        assert timedelta(seconds=80) < held.expires_at - clock.now() <= LEAVING

    def test_leaving_never_lengthens_and_needs_no_batch(self, browser: Client, held: Assignment) -> None:
        soon = timezone.now() + timedelta(seconds=20)
        Assignment.objects.update(expires_at=soon)
        assert browser.post(url("leave", held.project)).status_code == 204
        assert Assignment.objects.get().expires_at == soon
        end(held)
        assert browser.post(url("leave", held.project)).status_code == 204
