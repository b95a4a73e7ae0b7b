"""Each refusal is logged once, with its reason; and no line of a log holds a secret."""

import logging
import re
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.log import log_response

logger = logging.getLogger(__name__)
SECRETS = re.compile(r"(/invitations/|/password/choose/)[^/\s]+(/[^/\s]+)?")
EMAILS = re.compile(r"[\w.+-]{1,64}@(?:[\w-]{1,64}\.)+[A-Za-z]{2,24}\b")
TOKENS = re.compile(r"\bmj_[\w-]{20,}")
# Settings that open something
SECRET_SETTINGS = ("REWRITING_API_KEY", "EMAIL_HOST_PASSWORD", "SECRET_KEY", "METRICS_TOKEN", "SENTRY_DSN")
SHORTEST = 6  # a shorter word would be found everywhere


def refusal_log(request: HttpRequest, response: HttpResponse, reason: str) -> HttpResponse:
    """Log status, path and reason in the place of Django's own line, which does not know why."""
    words = (response.status_code, request.method, without_secrets(request.path), reason)
    log_response("%s %s %s: %s", *words, response=response, request=request, logger=logger)
    return response


class WithoutSecrets(logging.Filter):
    """Lets every line through, less what opens something: Django writes the paths of refused and failed requests,
    and errors of others may repeat the key they were given."""

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if (cleaned := without_secrets(message)) != message:
            record.msg, record.args = cleaned, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = without_secrets(record.exc_text)
        return True


def without_secrets(text: str) -> str:
    """A path, or a line that holds one, as it may be written down: what opens something is left out."""
    text = TOKENS.sub("mj_[secret]", SECRETS.sub(r"\1[secret]", text))
    for secret in configured_secrets():
        text = text.replace(secret, "[secret]")
    return text


def without_emails(text: str) -> str:
    """Whose a line is about, it may say by number only."""
    return EMAILS.sub("[e-mail]", text) if "@" in text else text


def configured_secrets() -> tuple[str, ...]:
    """Keys and passwords that the settings hold, as they are and as an address spells them; the longest first."""
    return _spelt(
        *(str(getattr(settings, name, "")) for name in SECRET_SETTINGS),
        str(settings.DATABASES["default"].get("PASSWORD", "")),
        str(settings.STORAGES["default"].get("OPTIONS", {}).get("secret_key", "")),
        *(str(provider.app["secret"]) for provider in settings.OIDC),
        *settings.SECRET_KEY_FALLBACKS,
        broker=str(settings.CELERY_BROKER_URL),
    )


@lru_cache(maxsize=8)  # called for every line of a log
def _spelt(*values: str, broker: str) -> tuple[str, ...]:
    secrets = [secret for secret in (*values, unquote(urlsplit(broker).password or "")) if len(secret) >= SHORTEST]
    spelt = {word for secret in secrets for word in (secret, quote(secret), quote(secret, safe=""))}
    return tuple(sorted(spelt, key=len, reverse=True))
