"""Webhooks for programs of leads: added, changed, tried, deleted, and what was sent."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, grant, grant_by, person_of
from core.api import (
    ApiView,
    ChoiceOfField,
    Nothing,
    Pages,
    Problem,
    WordsField,
    YesNoField,
    body_of,
    form_values,
    paged,
)
from judging.models import Webhook, WebhookDelivery
from judging.webhooks import services
from judging.webhooks.forms import WebhookForm
from judging.webhooks.models import Event


class WebhookOutput(serializers.ModelSerializer[Webhook]):
    class Meta:
        model = Webhook
        fields = ["uuid", "url", "events", "is_active", "created_at"]


class WebhookSecretOutput(WebhookOutput):
    """The secret that messages are signed with is shown this once."""

    secret = serializers.SerializerMethodField()

    class Meta(WebhookOutput.Meta):
        fields = [*WebhookOutput.Meta.fields, "secret"]

    def get_secret(self, webhook: Webhook) -> str:
        return str(self.context["secret"])


class DeliveryOutput(serializers.ModelSerializer[WebhookDelivery]):
    """One message; ``status`` and ``error`` are of its last try."""

    class Meta:
        model = WebhookDelivery
        fields = [
            *("uuid", "event", "payload", "state", "attempts", "next_try_at", "status", "error", "created_at"),
            "sent_at",
        ]


class WebhookInput(serializers.Serializer[Any]):
    url = WordsField(help_text="Where messages go: https://...")
    events = serializers.ListField(child=ChoiceOfField(Event.choices))


class WebhookChange(serializers.Serializer[Any]):
    """Changes to a webhook; what is left out stays."""

    events = serializers.ListField(child=ChoiceOfField(Event.choices), required=False)
    is_active = YesNoField(required=False)


class Webhooks(ApiView):
    @extend_schema(operation_id="webhooks", responses={200: WebhookOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """The webhooks of the project; for leads."""
        project = grant_by(request, project_uuid, LEAD).project
        return Response(WebhookOutput(project.webhooks.all(), many=True).data)

    @extend_schema(
        operation_id="webhook_create",
        request=WebhookInput,
        responses={201: WebhookSecretOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Add a webhook; the answer holds its secret, this once."""
        project = grant_by(request, project_uuid, LEAD).project
        values = form_values(WebhookForm(body_of(request, WebhookInput)))
        webhook, secret = services.webhook_create(project=project, actor=person_of(request), **values)
        return Response(WebhookSecretOutput(webhook, context={"secret": secret}).data, status=201)


class OneWebhook(ApiView):
    @extend_schema(
        operation_id="webhook_change",
        request=WebhookChange,
        responses={200: WebhookOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def patch(self, request: Request, webhook_uuid: UUID) -> Response:
        """Have a webhook hear of other events, or switch it off or on. What waits when it is off is given up."""
        webhook = webhook_granted(request, webhook_uuid)
        changes = body_of(request, WebhookChange)
        return Response(
            WebhookOutput(services.webhook_change(webhook=webhook, actor=person_of(request), **changes)).data
        )

    @extend_schema(operation_id="webhook_delete", responses={204: None, **dict.fromkeys((403, 404, 409), Problem)})
    def delete(self, request: Request, webhook_uuid: UUID) -> Response:
        """Delete a webhook with its deliveries."""
        services.webhook_delete(webhook=webhook_granted(request, webhook_uuid), actor=person_of(request))
        return Response(status=204)


class PingWebhook(ApiView):
    @extend_schema(
        operation_id="webhook_ping",
        request=Nothing,
        responses={202: DeliveryOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def post(self, request: Request, webhook_uuid: UUID) -> Response:
        """Send a message of the event ``ping``: its delivery says what came of it."""
        webhook = webhook_granted(request, webhook_uuid)
        body_of(request, Nothing)
        return Response(
            DeliveryOutput(services.webhook_ping(webhook=webhook, actor=person_of(request))).data, status=202
        )


class Deliveries(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="webhook_deliveries", responses={200: DeliveryOutput(many=True), 403: Problem})
    def get(self, request: Request, webhook_uuid: UUID) -> Response:
        """Messages to a webhook, newest first, of the last 30 days."""
        return paged(request, self, webhook_granted(request, webhook_uuid).deliveries.all(), DeliveryOutput)


class RetryDelivery(ApiView):
    @extend_schema(
        operation_id="webhook_delivery_retry",
        request=Nothing,
        responses={202: DeliveryOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def post(self, request: Request, delivery_uuid: UUID) -> Response:
        """Try a message again now, that was given up or waits."""
        delivery = get_object_or_404(WebhookDelivery.objects.select_related("webhook__project"), uuid=delivery_uuid)
        grant(request, delivery.webhook.project, LEAD)
        body_of(request, Nothing)
        return Response(
            DeliveryOutput(services.delivery_retry(delivery=delivery, actor=person_of(request))).data, status=202
        )


def webhook_granted(request: Request, webhook_uuid: UUID) -> Webhook:
    """Return a webhook to the lead of its project."""
    webhook = get_object_or_404(Webhook.objects.select_related("project"), uuid=webhook_uuid)
    grant(request, webhook.project, LEAD)
    return webhook
