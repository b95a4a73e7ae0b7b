"""The page of webhooks, for leads: add one, try it, see what was sent, switch it off, delete it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from accounts.access import LEAD, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from core import clock
from core.exceptions import NotPossible
from core.forms import errors_as_messages
from judging.models import Webhook, WebhookDelivery
from judging.webhooks import services
from judging.webhooks.forms import DeliveryForm, WebhookForm
from judging.webhooks.selectors import webhooks_shown

PAGE = "judging:webhooks"
WEBHOOKS = Webhook.objects.select_related("project")


@project_page(LEAD)
def webhooks(request: MemberRequest, project: Project) -> HttpResponse:
    """All webhooks with their last deliveries, and the form for another."""
    return _page(request, project, WebhookForm())


def _page(
    request: MemberRequest, project: Project, form: WebhookForm, *, secret: str = "", url: str = "", status: int = 200
) -> HttpResponse:
    query = DeliveryForm(request.GET)
    delivery = query.cleaned_data["delivery"] if query.is_valid() else None
    rows = webhooks_shown(project, now=clock.now(), delivery=delivery)
    context = {"webhooks": rows, "form": form, "secret": secret, "secret_of": url}
    return render(request, "judging/webhooks/webhooks.html", context, status=status)


def _follow(delivery: WebhookDelivery) -> HttpResponse:
    """Redirect to the page that says what comes of this delivery."""
    page = reverse(PAGE, args=[delivery.webhook.project.uuid])
    return redirect(f"{page}?{urlencode({'delivery': str(delivery.uuid)})}")


@project_action(LEAD, back=PAGE)
def webhook_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Answer with the secret itself: it is shown this once, so no redirect may carry it."""
    form = WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form, status=422)
    try:
        webhook, secret = services.webhook_create(project=project, actor=request.user, **form.cleaned_data)
    except NotPossible as error:
        form.add_error(None, str(error))
        return _page(request, project, form, status=409)
    return _page(request, project, WebhookForm(), secret=secret, url=webhook.url)


@row_page(WEBHOOKS, LEAD)
def webhook_redirect(request: MemberRequest, webhook: Webhook) -> HttpResponse:
    """Redirect to the webhook's row among the others."""
    return redirect(PAGE, webhook.project.uuid)


@row_page(WEBHOOKS, LEAD, back="judging:webhook")
def webhook_ping(request: MemberRequest, webhook: Webhook) -> HttpResponse:
    """Send a test message; the page says what came of it."""
    with errors_as_messages(request, NotPossible):
        delivery = services.webhook_ping(webhook=webhook, actor=request.user)
        messages.success(request, "A test message is on its way.")
        return _follow(delivery)
    return redirect(PAGE, webhook.project.uuid)


@row_page(WEBHOOKS, LEAD, back="judging:webhook")
def webhook_switch(request: MemberRequest, webhook: Webhook) -> HttpResponse:
    """Switch a webhook off or on."""
    if (active := request.POST.get("active")) not in ("yes", "no"):
        messages.error(request, "This form could not be read. Here is the page as it is now.")
        return redirect(PAGE, webhook.project.uuid)
    is_active = active == "yes"
    with errors_as_messages(request, NotPossible):
        services.webhook_change(webhook=webhook, actor=request.user, is_active=is_active)
        messages.success(request, "It is on." if is_active else "It is off; what waited is not sent.")
    return redirect(PAGE, webhook.project.uuid)


@row_page(WEBHOOKS, LEAD, back="judging:webhook")
def webhook_delete(request: MemberRequest, webhook: Webhook) -> HttpResponse:
    """Delete a webhook with its deliveries."""
    with errors_as_messages(request, NotPossible):
        services.webhook_delete(webhook=webhook, actor=request.user)
        messages.success(request, f"The webhook {webhook.url} is deleted.")
    return redirect(PAGE, webhook.project.uuid)


@row_page(
    WebhookDelivery.objects.select_related("webhook__project"),
    LEAD,
    project="webhook.project",
    back="judging:webhook-delivery",
)
def delivery_retry(request: MemberRequest, delivery: WebhookDelivery) -> HttpResponse:
    """Try a message again now."""
    with errors_as_messages(request, NotPossible):
        services.delivery_retry(delivery=delivery, actor=request.user)
        messages.success(request, "The message is being sent again.")
        return _follow(delivery)
    return redirect(PAGE, delivery.webhook.project.uuid)


@row_page(WebhookDelivery.objects.select_related("webhook__project"), LEAD, project="webhook.project")
def delivery_redirect(request: MemberRequest, delivery: WebhookDelivery) -> HttpResponse:
    """Redirect to the page that lists the delivery."""
    return redirect(PAGE, delivery.webhook.project.uuid)
