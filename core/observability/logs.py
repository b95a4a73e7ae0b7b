"""How log lines look: lines for people, JSON for machines; each with its request, its task and who asked, by number.

Faults go to Sentry, or what speaks like it, where SENTRY_DSN names one; nothing in them identifies a person.

What is bound with ``structlog.contextvars.bind_contextvars`` is in every line of the request or task at hand: see
core.observability.requests and core.observability.tasks. Names and e-mail addresses are never bound.
"""

import logging
import os
import re
from collections.abc import MutableMapping
from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured
from gunicorn.glogging import Logger
from structlog.contextvars import get_contextvars

from core.env import env_str
from core.refusals import without_emails, without_secrets

FORMATS = ("json", "lines")
NOTES = "momentjudge.notes"  # in a request's environ, for the access log: what core.observability.requests knows of it
ATOMS = re.compile(r"%\((.+?)\)")  # of gunicorn's format of a line
EXTRA = [
    *("status_code", "method", "path", "bytes", "duration_ms", "statement", "client_went", "request_id", "route"),
    "account",
]
DROPPED = ("user", "server_name", "breadcrumbs", "modules")
OF_A_REQUEST = ("method", "url")  # what is kept of one
TAGS = ("request_id", "route", "task", "task_id", "member")
Event = MutableMapping[str, Any]


def log_format() -> str:
    """Read LOG_FORMAT; JSON in production, lines elsewhere. Called by the web server before settings are read."""
    production = os.environ.get("DJANGO_SETTINGS_MODULE", "").endswith(".production")
    name = os.environ.get("LOG_FORMAT") or ("json" if production else "lines")
    if name not in FORMATS:
        raise ImproperlyConfigured(f"LOG_FORMAT must be one of {', '.join(FORMATS)}; it is {name!r}.")
    return name


def formatter(form: str = "") -> logging.Formatter:
    """Of every handler of ours."""
    is_json = (form or log_format()) == "json"
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True, key="time")
    plain = structlog.processors.TimeStamper(fmt="%Y-%m-%d %H:%M:%S", utc=False, key="time")
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.add_log_level,
            logger_name,
            structlog.stdlib.ExtraAdder(allow=EXTRA),
            stamp if is_json else plain,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            secrets_out,
            structlog.processors.JSONRenderer(default=str) if is_json else as_line,
        ],
    )


def logger_name(logger: Any, method: str, event: Event) -> Event:
    event["logger"] = event["_record"].name
    return event


def secrets_out(logger: Any, method: str, event: Event) -> Event:
    """Clean all that a line holds as the filter WithoutSecrets cleans the message; and of e-mail addresses: the
    database repeats the row it refuses."""
    clean = without_secrets if _names_workers(event) else _without_secrets_and_emails
    return {key: clean(value) if isinstance(value, str) else value for key, value in event.items()}


def _without_secrets_and_emails(text: str) -> str:
    return without_emails(without_secrets(text))


def _names_workers(event: Event) -> bool:
    """Celery's workers are named like addresses: worker@judge.example.org."""
    return event.get("level") == "info" and str(event.get("logger")).startswith("celery")


def as_line(logger: Any, method: str, event: Event) -> str:
    """One line to read, its context at the end; a traceback below."""
    words = [str(event.pop("time")), event.pop("level").upper(), event.pop("logger"), str(event.pop("event"))]
    below = [str(event.pop(name)) for name in ("exception", "stack") if name in event]
    about = [f"{name}={event[name]}" for name in sorted(event)]
    return "\n".join([" ".join([*words, *([f"[{' '.join(about)}]"] if about else [])]), *below])


def logging_for(*, verbose: bool) -> dict[str, Any]:
    """Django's LOGGING: everything to the standard error, without what opens something."""
    ours = ("core", "annotation", "judging", "models_runner", "moment_retrieval", "config")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"ours": {"()": "core.observability.logs.formatter"}},
        "filters": {"without_secrets": {"()": "core.refusals.WithoutSecrets"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": "ours", "filters": ["without_secrets"]}
        },
        "root": {"handlers": ["console"], "level": "INFO" if verbose else "WARNING"},
        "loggers": {name: {"level": "INFO"} for name in ours},
    }


class AccessLog(Logger):  # type: ignore[misc]
    """gunicorn's own, but the secrets of invitations and password links are left out of paths and referrers.

    As JSON a line names its request, its route and the account by number, and no address. What went well on the routes
    of ACCESS_LOG_SKIPS is counted in the metrics and not logged: a line costs a twentieth of a judgment.
    """

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        self.named = frozenset(ATOMS.findall(cfg.access_log_format))
        self.is_json = log_format() == "json"
        self.skipped_routes = frozenset(env_str("ACCESS_LOG_SKIPS", "").split())
        if self.is_json:
            for log in (self.error_log, self.access_log):
                for handler in log.handlers:
                    handler.setFormatter(formatter())

    def atoms(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return what the line names; gunicorn offers every header, and looking through all of them takes long."""
        values = super().atoms(*args, **kwargs)
        return {
            name: without_secrets(value) if isinstance(value, str) else value
            for name, value in values.items()
            if name in self.named
        }

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: Any) -> None:
        if environ.get(NOTES, {}).get("route") in self.skipped_routes and resp.status.startswith("2"):
            return
        if not self.is_json:
            super().access(resp, req, environ, request_time)
        elif self.access_log_enabled:
            self.access_log.info("request", extra=request_fields(resp, environ, request_time.total_seconds()))


def request_fields(resp: Any, environ: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A request in a few words; its query string is not among them."""
    return {
        "method": environ.get("REQUEST_METHOD", ""),
        "path": environ.get("RAW_URI", environ.get("PATH_INFO", "")).partition("?")[0],
        "status_code": int(str(resp.status).split()[0]),
        "bytes": getattr(resp, "sent", 0),
        "duration_ms": round(seconds * 1000, 1),
        **environ.get(NOTES, {}),
    }


def sentry_begin(dsn: str, **more: Any) -> None:
    """Send what breaks from now on; ``more`` as sentry_sdk.init takes it."""
    if not dsn:
        return
    import sentry_sdk
    from sentry_sdk.utils import BadDsn

    options: dict[str, Any] = {
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
        sentry_sdk.init(dsn, **(options | more))
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
    exceptions = (event.get("exception") or {}).get("values") or []
    return [frame for each in exceptions for frame in ((each.get("stacktrace") or {}).get("frames") or [])]


def _clean(value: Any) -> Any:
    """The same with every text as a log would hold it."""
    if isinstance(value, str):
        return _without_secrets_and_emails(value)
    if isinstance(value, dict):
        return {name: _clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
