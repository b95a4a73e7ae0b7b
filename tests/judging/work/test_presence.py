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
    def test_a_heartbeat_starts_the_lease_anew(self, browser: Client, open_assignment: Assignment) -> None:
        Assignment.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        answer = browser.post(url("heartbeat", open_assignment.project))
        assert (answer.status_code, answer.content) == (204, b"")
        open_assignment.refresh_from_db()
        assert open_assignment.expires_at > timezone.now() + timedelta(minutes=19)

    def test_a_heartbeat_does_not_revive(self, browser: Client, open_assignment: Assignment) -> None:
        lapse(open_assignment)
        before = rows()
        answer = browser.post(url("heartbeat", open_assignment.project), headers=HTMX)
        assert answer.status_code == 409
        assert "Your time on this batch has run out" in answer.content.decode()
        assert rows() == before

    def test_a_heartbeat_without_a_batch(self, browser: Client, open_assignment: Assignment) -> None:
        end(open_assignment, "returned")
        assert browser.post(url("heartbeat", open_assignment.project)).status_code == 409

    def test_leaving_keeps_it_for_a_moment(self, browser: Client, open_assignment: Assignment) -> None:
        answer = browser.post(url("leave", open_assignment.project))
        assert (answer.status_code, answer.content) == (204, b"")
        open_assignment.refresh_from_db()
        assert open_assignment.state == "open"
        assert timedelta(seconds=80) < open_assignment.expires_at - clock.now() <= LEAVING

    def test_leaving_never_lengthens_and_needs_no_batch(self, browser: Client, open_assignment: Assignment) -> None:
        soon = timezone.now() + timedelta(seconds=20)
        Assignment.objects.update(expires_at=soon)
        assert browser.post(url("leave", open_assignment.project)).status_code == 204
        assert Assignment.objects.get().expires_at == soon
        end(open_assignment)
        assert browser.post(url("leave", open_assignment.project)).status_code == 204
