"""Webhooks by page and by API."""

import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.services.credentials import decrypt
from judging.models import Webhook, WebhookDelivery
from tests.conftest import Messages
from tests.factories import ProjectFactory, WebhookFactory, lead
from tests.judging.api.acts import Program, refusal
from tests.judging.views.acts import logged_in
from tests.loopback import Server, serving

pytestmark = pytest.mark.django_db
FORM = {"url": "https://example.org/hook", "events": ["batch.done", "release.ready"]}


@pytest.fixture
def server(settings: Settings) -> Iterator[Server]:
    settings.WEBHOOK_PRIVATE_ADDRESSES = True
    with serving() as one:
        one.replies = [(500, b"", {}), (200, b"", {})]
        yield one


def browser() -> tuple[Client, Webhook]:
    webhook = WebhookFactory()
    return logged_in(lead(webhook.project)), webhook


def page(client: Client, webhook: Webhook) -> str:
    return unescape(client.get(reverse("judging:webhooks", args=[webhook.project.uuid])).content.decode())


def test_one_is_added_and_its_secret_shown_this_once() -> None:
    project = ProjectFactory()
    client = logged_in(lead(project))
    answer = client.post(reverse("judging:webhook-create", args=[project.uuid]), FORM)
    webhook = Webhook.objects.get()
    secret = decrypt(webhook.secret)
    assert secret in answer.content.decode()
    assert secret not in page(client, webhook)
    again = client.post(reverse("judging:webhook-create", args=[project.uuid]), FORM)
    assert (again.status_code, Webhook.objects.count()) == (409, 1)
    assert "of this address already" in again.content.decode()


@pytest.mark.parametrize("form", [{**FORM, "url": "javascript:alert(1)"}, {**FORM, "events": []}, {}])
def test_what_is_wrong_is_shown_beside_the_field(form: dict[str, object]) -> None:
    project = ProjectFactory()
    answer = logged_in(lead(project)).post(reverse("judging:webhook-create", args=[project.uuid]), form)
    assert (answer.status_code, Webhook.objects.count()) == (422, 0)
    assert "field-error" in answer.content.decode()


def test_a_test_message_fails_and_is_tried_again(server: Server, messages: Messages) -> None:
    client, webhook = browser()
    Webhook.objects.update(url=server.address)
    with messages():
        client.post(reverse("judging:webhook-ping", args=[webhook.uuid]))
    assert "127.0.0.1 answered 500." in page(client, webhook)
    delivery = WebhookDelivery.objects.get()
    with messages():
        answer = client.post(reverse("judging:webhook-delivery-retry", args=[delivery.uuid]), follow=True)
    assert "being sent again" in answer.content.decode()
    assert "answered 500" not in page(client, webhook)
    assert WebhookDelivery.objects.get().state == "sent"


def test_the_page_follows_a_message_until_it_has_ended(server: Server, messages: Messages) -> None:
    client, webhook = browser()
    Webhook.objects.update(url=server.address)
    section = f'id="messages-{webhook.uuid}" data-live hx-get='

    def follow(address: str) -> str:
        html = unescape(client.get(address).content.decode())
        assert "Load the page again" not in re.sub(r"<noscript>.*?</noscript>", "", html)
        return html

    for name, outcome in (
        ("webhook-ping", "did not get through: 127.0.0.1 answered 500."),
        ("webhook-delivery-retry", "got through: the answer is 200."),
    ):
        row = webhook if name == "webhook-ping" else WebhookDelivery.objects.get()
        with messages():
            address = client.post(reverse(f"judging:{name}", args=[row.uuid])).headers["Location"]
            waiting = follow(address)
            assert section in waiting and "A message is being sent." in waiting
            [poll] = re.findall(rf'{section}"([^"]+)" hx-trigger="every 2s', waiting)
        ended = follow(poll)
        assert f"The message {outcome}" in ended and section not in ended
        assert f"The message {outcome}" in follow(address)
    assert "The message got" not in follow(address.partition("?")[0])
    assert "The message got" not in follow(address.partition("=")[0] + "=none")


def test_a_message_behind_one_that_did_not_get_through_waits(server: Server, messages: Messages) -> None:
    client, webhook = browser()
    Webhook.objects.update(url=server.address)
    with messages():
        pings = [client.post(reverse("judging:webhook-ping", args=[webhook.uuid])) for _ in range(2)]
    html = unescape(client.get(pings[1].headers["Location"]).content.decode())
    assert "The message waits, as one before it did not get through; it is sent by itself." in html
    assert "being sent" not in html


def test_it_is_switched_off_and_on_and_deleted() -> None:
    client, webhook = browser()
    for active, is_active in (("no", False), ("yes", True)):
        client.post(reverse("judging:webhook-switch", args=[webhook.uuid]), {"active": active})
        assert Webhook.objects.get().is_active is is_active
    client.get(reverse("judging:webhook-delete", args=[webhook.uuid]))
    assert Webhook.objects.exists()
    client.post(reverse("judging:webhook-delete", args=[webhook.uuid]))
    assert not Webhook.objects.exists()


def test_by_programs(server: Server, messages: Messages) -> None:
    project = ProjectFactory()
    program = Program(lead(project))
    body = {"url": server.address, "events": ["batch.done"]}
    answer = program.post("webhooks", project, **body)
    webhook = Webhook.objects.get()
    assert answer.status_code == 201
    assert answer.json()["secret"] == decrypt(webhook.secret)
    (row,) = program.get("webhooks", project).json()
    assert row == {name: value for name, value in answer.json().items() if name != "secret"}
    changed = program.patch("webhook", webhook, events=["release.ready"]).json()
    assert (changed["events"], changed["is_active"]) == (["release.ready"], True)
    with messages():
        delivery = program.post("webhook-ping", webhook).json()
    (message,) = program.get("webhook-deliveries", webhook).json()["results"]
    assert (message["uuid"], message["state"], message["status"]) == (delivery["uuid"], "waiting", 500)
    with messages():
        assert program.post("webhook-retry", delivery["uuid"]).status_code == 202
    again = program.post("webhook-retry", delivery["uuid"])
    assert refusal(again) == (409, "not_possible")
    assert program.delete("webhook", webhook).status_code == 204
    assert program.get("webhook-deliveries", webhook).status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"url": "x", "events": ["batch.done"]}, {"url": "https://x/", "events": []}, {**FORM, "secret": "s"}]
)
def test_what_is_no_webhook_is_refused(body: dict[str, object]) -> None:
    project = ProjectFactory()
    assert refusal(Program(lead(project)).post("webhooks", project, **body)) == (422, "invalid")
    assert not Webhook.objects.exists()
