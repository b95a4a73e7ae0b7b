"""Faults to Sentry, or what speaks like it, where SENTRY_DSN names one; without anything that tells who somebody is."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from structlog.contextvars import get_contextvars

from core.env import env_str
from core.refusals import without_emails, without_secrets

DROPPED = ("user", "server_name", "breadcrumbs", "modules")
OF_A_REQUEST = ("method", "url")  # what is kept of one
TAGS = ("request_id", "route", "task", "task_id", "member")


def begin(dsn: str, **more: Any) -> None:
    """Send what breaks from now on; ``more`` as sentry_sdk.init takes it."""
    if not dsn:
        return
    import sentry_sdk
    from sentry_sdk.utils import BadDsn

    said: dict[str, Any] = {
        "send_default_pii": False,
        "before_send": scrubbed,
        "include_local_variables": False,
        "max_request_body_size": "never",
        "max_breadcrumbs": 0,
        "traces_sample_rate": 0,
        "environment": env_str("SENTRY_ENVIRONMENT", "production"),
        "release": env_str("SENTRY_RELEASE", "") or None,
    }
    try:
        sentry_sdk.init(dsn, **(said | more))
    except BadDsn:  # which repeats a part of it
        raise ImproperlyConfigured("SENTRY_DSN must be an address such as https://key@sentry.example.org/1.") from None


def scrubbed(event: Any, hint: Any) -> Any:
    """Where it broke, and in which request or task; cookies, headers, bodies, users and e-mails are left out."""
    for name in DROPPED:
        event.pop(name, None)
    if "request" in event:
        event["request"] = {name: event["request"][name] for name in OF_A_REQUEST if name in event["request"]}
        event["request"]["url"] = str(event["request"].get("url", "")).partition("?")[0]
    event.get("extra", {}).clear()
    for frame in _frames(event):
        frame.pop("vars", None)
    context = get_contextvars()
    event["tags"] = dict(event.get("tags") or {}) | {name: str(context[name]) for name in TAGS if name in context}
    return _clean(event)


def _frames(event: Any) -> list[dict[str, Any]]:
    held = (event.get("exception") or {}).get("values") or []
    return [frame for each in held for frame in ((each.get("stacktrace") or {}).get("frames") or [])]


def _clean(value: Any) -> Any:
    """The same with every text as a log would hold it."""
    if isinstance(value, str):
        return without_emails(without_secrets(value))
    if isinstance(value, dict):
        return {name: _clean(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(held) for held in value]
    return value
