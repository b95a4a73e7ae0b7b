"""Where messages about a project go, and what became of them."""

from judging.models import WebhookDelivery
from tests.factories import NOW, ProjectFactory, WebhookFactory
from tests.judging.constraints.writes import More, Refused, again, change, maker

delivery = maker(WebhookDelivery, webhook=WebhookFactory, event="ping", payload={}, next_try_at=NOW)

REFUSED: Refused = {
    "webhook_url_once_per_project": again(WebhookFactory, project=ProjectFactory, url="https://example.org/"),
    "webhook_url_is_of_the_web": change(WebhookFactory, url="file:///etc/passwd"),
    "webhook_has_a_secret": change(WebhookFactory, secret=""),
    "webhook_hears_of_known_events": change(WebhookFactory, events=["batch.done", "everything"]),
    "webhook_delivery_sent_has_its_time": change(delivery, state="sent"),
    "webhook_delivery_failed_says_why": change(delivery, state="failed"),
}
MORE: More = {
    "webhook_hears_of_known_events": {"a webhook hears of something": change(WebhookFactory, events=[])},
    "webhook_delivery_sent_has_its_time": {"what waits was not sent": change(delivery, sent_at=NOW)},
}
