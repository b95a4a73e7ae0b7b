"""Webhooks, the messages that events write for them, and what becomes of each message."""

import hmac
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from pytest_django import Settings

from accounts.services.credentials import decrypt
from core.exceptions import NotPossible
from core.jobs import sweep_all
from core.models import AuditEvent
from core.sql import is_locked
from judging.audit.rules import in_words
from judging.guidelines.services import policy_publish
from judging.models import Batch, Release, Webhook, WebhookDelivery
from judging.releases.services import release_build
from judging.webhooks import services
from judging.webhooks.models import Event
from judging.webhooks.rules import MOST_TRIES
from judging.webhooks.services import (
    delivery_retry,
    event_record,
    webhook_change,
    webhook_create,
    webhook_delete,
    webhook_ping,
    webhook_send,
)
from models_runner.experiments.services import training_cancel
from models_runner.experiments.trainings import training_end
from models_runner.models import Experiment, Training
from tests.conftest import Messages
from tests.factories import BatchFactory, ProjectFactory, WebhookFactory, lead
from tests.judging.play import judge_round
from tests.locks import locked_elsewhere
from tests.loopback import Server, serving

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    with serving() as one:
        one.replies = [(200, b"ok", {})]
        yield one


def audited() -> list[str]:
    return list(AuditEvent.objects.order_by("pk").values_list("action", flat=True))


def hook(server: Server, **values: Any) -> Webhook:
    return WebhookFactory(url=server.address, **values)  # type: ignore[no-any-return]


def message(webhook: Webhook, **values: Any) -> WebhookDelivery:
    about = {"event": "ping", "payload": {"n": 1}, "next_try_at": timezone.now(), **values}
    return WebhookDelivery.objects.create(webhook=webhook, **about)


class TestWebhooks:
    def test_the_secret_is_shown_once_and_encrypted(self) -> None:
        project = ProjectFactory()
        webhook, secret = webhook_create(
            project=project, actor=lead(project), url="https://example.org/", events=["release.ready", "batch.done"]
        )
        assert secret not in webhook.secret and decrypt(webhook.secret) == secret
        assert webhook.events == ["batch.done", "release.ready"]
        event = AuditEvent.objects.get(action="webhook.create")
        assert secret not in json.dumps(event.data)

    @pytest.mark.parametrize(
        ("url", "events"), [("ftp://x/", ["batch.done"]), ("https://x/", []), ("https://x/", ["batch.undone"])]
    )
    def test_what_is_no_webhook(self, url: str, events: list[str]) -> None:
        project = ProjectFactory()
        with pytest.raises(NotPossible):
            webhook_create(project=project, actor=lead(project), url=url, events=events)
        assert not Webhook.objects.exists()

    def test_an_address_once_and_ten_of_a_project(self) -> None:
        project = ProjectFactory()
        about = {"project": project, "actor": lead(project), "events": ["batch.done"]}
        for number in range(services.MOST_WEBHOOKS - 1):
            webhook_create(url=f"https://example.org/{number}", **about)
        with pytest.raises(NotPossible, match="already"):
            webhook_create(url="https://example.org/0", **about)
        webhook_create(url="https://example.org/last", **about)
        with pytest.raises(NotPossible, match="at most 10"):
            webhook_create(url="https://example.org/more", **about)

    def test_switched_off_it_hears_of_nothing_and_what_waited_is_given_up(self, server: Server) -> None:
        webhook = hook(server)
        waiting, actor = message(webhook), lead(webhook.project)
        webhook_change(webhook=webhook, actor=actor, is_active=False)
        event_record(project_id=webhook.project_id, event=Event.BATCH_DONE)
        waiting.refresh_from_db()
        assert (WebhookDelivery.objects.count(), waiting.state, waiting.error) == (1, "failed", services.OFF)
        for refused in (
            lambda: webhook_ping(webhook=webhook, actor=actor),
            lambda: delivery_retry(delivery=waiting, actor=actor),
        ):
            with pytest.raises(NotPossible, match="off"):
                refused()
        assert audited() == ["webhook.change"]

    def test_deleted_it_takes_its_messages_along(self, server: Server) -> None:
        webhook = hook(server)
        message(webhook)
        webhook_delete(webhook=webhook, actor=lead(webhook.project))
        assert not WebhookDelivery.objects.exists()
        assert AuditEvent.objects.filter(action="webhook.delete").exists()
        with pytest.raises(NotPossible, match="deleted"):
            webhook_ping(webhook=webhook, actor=lead(webhook.project))

    @pytest.mark.parametrize("values", [{"url": "ftp://x"}, {"secret": ""}, {"events": []}, {"events": ["other"]}])
    def test_the_database_refuses_what_is_no_webhook(self, values: dict[str, Any]) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            WebhookFactory(**values)

    @pytest.mark.parametrize("values", [{"state": "sent"}, {"state": "failed"}, {"state": "lost"}])
    def test_the_database_refuses_what_is_no_state(self, values: dict[str, Any]) -> None:
        webhook = WebhookFactory()
        with pytest.raises(IntegrityError), transaction.atomic():
            message(webhook, **values)


class TestMessages:
    def test_it_is_signed_and_says_nothing_of_the_content(self, server: Server, messages: Messages) -> None:
        webhook = hook(server)
        with messages():
            delivery = webhook_ping(webhook=webhook, actor=lead(webhook.project))
        ((_, _, headers, body),) = server.requests
        parts = dict(part.split("=") for part in headers["MomentJudge-Signature"].split(","))
        digest = hmac.new(b"whsec_tests", parts["t"].encode() + b"." + body, "sha256").hexdigest()
        assert parts["v1"] == digest
        payload = json.loads(body)
        assert set(payload) == {"id", "event", "project", "at", "webhook"}
        assert (payload["id"], payload["event"]) == (str(delivery.uuid), "ping")
        assert (headers["MomentJudge-Delivery"], headers["MomentJudge-Event"]) == (payload["id"], "ping")
        delivery.refresh_from_db()
        assert (delivery.state, delivery.status, delivery.attempts) == ("sent", 200, 1)

    def test_each_try_is_later_and_one_day_is_enough(self, server: Server) -> None:
        server.replies = [(500, b"", {})]
        webhook = hook(server)
        delivery = message(webhook)
        for tries in range(1, MOST_TRIES + 1):
            webhook_send(webhook_id=webhook.pk)
            webhook_send(webhook_id=webhook.pk)  # a repeat: it is not due
            delivery.refresh_from_db()
            assert (delivery.attempts, delivery.status, len(server.requests)) == (tries, 500, tries)
            if tries < MOST_TRIES:
                assert delivery.state == "waiting" and delivery.next_try_at > timezone.now()
                WebhookDelivery.objects.update(next_try_at=timezone.now())
        assert (delivery.state, delivery.error) == ("failed", "127.0.0.1 answered 500.")
        webhook_send(webhook_id=webhook.pk)
        assert len(server.requests) == MOST_TRIES
        assert len({headers["MomentJudge-Delivery"] for _, _, headers, _ in server.requests}) == 1

    def test_after_a_failure_the_others_wait_for_the_next_run(self, server: Server) -> None:
        server.replies = [(500, b"", {}), (200, b"", {})]
        webhook = hook(server)
        first, second = message(webhook), message(webhook)
        later = message(webhook, next_try_at=timezone.now() + timedelta(hours=2))
        webhook_send(webhook_id=webhook.pk)
        webhook_send(webhook_id=webhook.pk)  # not due: an address that does not answer is tried once a minute
        assert len(server.requests) == 1
        second.refresh_from_db()
        assert (second.attempts, second.next_try_at > timezone.now() + timedelta(seconds=50)) == (0, True)
        WebhookDelivery.objects.filter(pk=second.pk).update(next_try_at=timezone.now())
        webhook_send(webhook_id=webhook.pk)
        states = dict(WebhookDelivery.objects.values_list("pk", "state"))
        assert states == {first.pk: "waiting", second.pk: "sent", later.pk: "waiting"}
        assert WebhookDelivery.objects.get(pk=later.pk).next_try_at == later.next_try_at

    def test_the_sweep_finds_what_lost_its_message(self, server: Server, messages: Messages) -> None:
        webhook = hook(server)
        message(webhook)
        message(webhook, next_try_at=timezone.now() + timedelta(minutes=5))
        with messages():
            sweep_all()
        assert sorted(WebhookDelivery.objects.values_list("state", flat=True)) == ["sent", "waiting"]

    def test_more_than_twenty_are_sent_in_turns(self, server: Server, messages: Messages) -> None:
        webhook = hook(server)
        for _ in range(services.AT_ONCE + 1):
            message(webhook)
        with messages():
            webhook_send(webhook_id=webhook.pk)
            assert len(server.requests) == services.AT_ONCE
        assert len(server.requests) == services.AT_ONCE + 1

    def test_only_one_message_of_the_site_is_at_work(self, server: Server) -> None:
        """A server that takes its time keeps one worker process; the others do what else there is."""
        delivery = message(hook(server))
        with locked_elsewhere(services.AT_WORK, 0):
            webhook_send(webhook_id=delivery.webhook_id)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts, server.requests) == ("waiting", 0, [])
        webhook_send(webhook_id=delivery.webhook_id)
        assert len(server.requests) == 1

    def test_webhooks_take_turns(self, server: Server, messages: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
        """Messages that came while another webhook was at work are sent next, and a slow one has its next turn last."""
        monkeypatch.setattr(services, "TURN_S", 0.0)
        webhooks = [WebhookFactory(url=f"{server.address}/{name}") for name in "abc"]
        for webhook in [*webhooks, *webhooks[:2]]:
            message(webhook)
        with messages():
            webhook_send(webhook_id=webhooks[1].pk)
        assert [path for _, path, *_ in server.requests] == ["/b", "/c", "/a", "/b", "/a"]

    def test_the_next_one_is_woken_once_the_lock_is_free(self, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        woken: list[tuple[int, bool]] = []
        send = lambda key: woken.append((key, is_locked(services.AT_WORK)))  # noqa: E731
        monkeypatch.setattr(services.DELIVERIES, "send", send)
        webhook, other = hook(server), WebhookFactory(url=f"{server.address}/other")
        message(webhook), message(other)
        webhook_send(webhook_id=webhook.pk)
        assert woken == [(other.pk, False)]

    def test_a_private_address_is_given_nothing(self, server: Server, settings: Settings) -> None:
        settings.WEBHOOK_PRIVATE_ADDRESSES = False
        delivery = message(hook(server))
        webhook_send(webhook_id=delivery.webhook_id)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts, server.requests) == ("waiting", 1, [])
        assert "public Internet" in delivery.error

    def test_a_site_with_another_key_says_so(self, server: Server, settings: Settings) -> None:
        delivery = message(hook(server))
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "y" * 50, []
        webhook_send(webhook_id=delivery.webhook_id)
        delivery.refresh_from_db()
        assert (delivery.error, server.requests) == (services.KEY_CHANGED, [])

    def test_given_up_it_is_tried_again_on_request(self, server: Server, messages: Messages) -> None:
        delivery = message(hook(server), state="failed", error="No answer.", attempts=MOST_TRIES)
        actor = lead(delivery.webhook.project)
        with messages():
            delivery_retry(delivery=delivery, actor=actor)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts) == ("sent", 1)
        with pytest.raises(NotPossible, match="sent already"):
            delivery_retry(delivery=delivery, actor=actor)
        assert audited() == ["webhook.retry"]

    def test_the_audit_names_who_sent_a_message(self, server: Server) -> None:
        webhook = hook(server)
        delivery, actor = message(webhook, event="batch.done"), lead(webhook.project)
        webhook_ping(webhook=webhook, actor=actor)
        delivery_retry(delivery=delivery, actor=actor)
        assert audited() == ["webhook.ping", "webhook.retry"]
        for event in AuditEvent.objects.all():
            assert (event.project, event.actor, event.subject) == (webhook.project, actor, webhook.uuid)
            assert in_words(event.action, event.data).endswith(f" to {server.address}")
        assert "batch.done" in in_words("webhook.retry", AuditEvent.objects.get(action="webhook.retry").data)

    def test_old_ones_are_forgotten(self, server: Server) -> None:
        webhook = hook(server)
        final = {"state": "sent", "sent_at": timezone.now()}
        rows = [message(webhook, **final), message(webhook), message(webhook, **final)]
        old = timezone.now() - services.FORGOTTEN_AFTER - timedelta(hours=1)
        WebhookDelivery.objects.filter(pk__in=[row.pk for row in rows[:2]]).update(
            created_at=old, next_try_at=timezone.now() + timedelta(hours=1)
        )
        sweep_all()
        assert set(WebhookDelivery.objects.values_list("pk", flat=True)) == {rows[1].pk, rows[2].pk}


def payloads(event: str) -> list[dict[str, Any]]:
    return list(WebhookDelivery.objects.filter(event=event).order_by("pk").values_list("payload", flat=True))


class TestEvents:
    def test_a_batch_that_is_done_and_a_query_that_waits(self) -> None:
        batch = BatchFactory(pairs=2)
        webhook = WebhookFactory(project=batch.project)
        WebhookFactory()  # of another project
        WebhookFactory(project=batch.project, events=["release.ready"])
        judge_round(batch, [1, 2], [1, 2])
        assert Batch.objects.get().state == "done"
        about = {"project": str(webhook.project.uuid), "batch": str(batch.uuid), "number": 1, "state": "done"}
        for event in ("batch.done", "query.waiting"):
            (payload,) = payloads(event)
            assert set(payload) == {*about, "id", "event", "at"}
            assert about.items() <= payload.items()

    def test_a_query_that_the_rule_decides_does_not_wait(self) -> None:
        batch = BatchFactory(pairs=2)
        WebhookFactory(project=batch.project)
        policy_publish(project=batch.project, actor=None, extend_automatically=True)
        judge_round(batch, [1, 2], [1, 2])
        assert (len(payloads("batch.done")), payloads("query.waiting")) == (1, [])

    def test_a_batch_that_goes_on_says_nothing(self) -> None:
        batch = BatchFactory(pairs=2)
        WebhookFactory(project=batch.project)
        judge_round(batch, [0, 2], [4, 2])
        assert (Batch.objects.get().round, WebhookDelivery.objects.count()) == (2, 0)

    def test_an_event_that_is_rolled_back_is_never_sent(self, server: Server, messages: Messages) -> None:
        webhook = hook(server)
        with messages(), transaction.atomic():
            event_record(project_id=webhook.project_id, event=Event.RELEASE_READY)
            transaction.set_rollback(True)
        assert (WebhookDelivery.objects.count(), server.requests) == (0, [])

    def test_a_release_that_is_ready(self, encoder: object) -> None:
        batch = BatchFactory(state="done")
        WebhookFactory(project=batch.project)
        release = Release.objects.create(project=batch.project, version=3)
        release_build(release_id=release.pk)
        release_build(release_id=release.pk)
        (payload,) = payloads("release.ready")
        assert (payload["release"], payload["number"], payload["state"]) == (str(release.uuid), 3, "ready")

    def trainings(self, *states: str) -> list[Training]:
        project = ProjectFactory()
        WebhookFactory(project=project)
        release = Release.objects.create(project=project, version=1)
        features = {kind: {"name": kind, "path": f"/{kind}.h5"} for kind in ("video", "query")}
        about = {"project": project, "release": release, "features": features}
        experiment = Experiment.objects.create(name="x", baseline="xml", top_n=20, **about)
        rows = enumerate(states, start=1)
        now = timezone.now()
        return [
            Training.objects.create(
                experiment=experiment, seed=seed, state=state, device=f"gpu {seed}", heartbeat=now, started_at=now
            )
            for seed, state in rows
        ]

    def test_a_benchmark_run_ends_with_its_last_seed(self) -> None:
        first, second = self.trainings("running", "waiting")
        training_end(first, Training.State.FAILED, "no room")
        assert payloads("experiment.ended") == []
        training_cancel(training=second, actor=None)
        (payload,) = payloads("experiment.ended")
        assert payload["experiment"] == str(first.experiment.uuid)
        assert payload["state"] in ("failed", "cancelled")


@pytest.mark.django_db(transaction=True)
def test_of_two_seeds_that_end_at_once_one_says_that_the_run_has_ended() -> None:
    """The second ends before the first is committed, which it would see at work if it did not wait for its turn."""
    first, second = TestEvents().trainings("running", "running")
    first_has_ended, second_has_ended = threading.Event(), threading.Event()

    def end_first() -> None:
        with transaction.atomic():
            training_end(first, Training.State.FAILED, "no room")
            first_has_ended.set()
            second_has_ended.wait(timeout=0.5)  # which it cannot before this is committed
        connection.close()

    def end_second() -> None:
        first_has_ended.wait(timeout=60)
        training_end(second, Training.State.FAILED, "no room")
        second_has_ended.set()
        connection.close()

    threads = [threading.Thread(target=end) for end in (end_first, end_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(payloads("experiment.ended")) == 1
