"""Checks of ``manage.py check --deploy`` on the settings of an open site; docker/migrate stops on its errors."""

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

EXAMPLES = ("change-me", "example", "a-long-random-text", "only-for-tests")
EXAMPLE_HOST = re.compile(r"(^|\.)example(\.(org|com|net))?$")
BROKERS = ("redis", "rediss", "redis+socket")
Findings = Iterator[CheckMessage]


@register(Tags.security, deploy=True)
def open_site(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Return what is wrong with the settings of production."""
    return [*secrets(), *addresses(), *services(), *people()]


def secrets() -> Findings:
    """Report each secret that can be guessed, or still has the value of the example file or of some other example."""
    bucket = settings.STORAGES["default"].get("OPTIONS", {})
    former = [("SECRET_KEY_FALLBACKS", str(key)) for key in settings.SECRET_KEY_FALLBACKS]
    for name, key in [("SECRET_KEY", settings.SECRET_KEY), *former]:
        if len(key) < 50 or len(set(key)) < 12 or _is_example(key):
            yield Error(
                f"{name} can be guessed: sessions and password links could be forged.",
                hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(50))'",
                id="momentjudge.E001",
            )
    values_by_name = {
        "The password in DATABASE_URL": settings.DATABASES["default"].get("PASSWORD"),
        "The password in BROKER_URL": urlsplit(settings.CELERY_BROKER_URL).password,
        "METRICS_TOKEN": settings.METRICS_TOKEN,
        "S3_ACCESS_KEY_ID": bucket.get("access_key"),
        "S3_SECRET_ACCESS_KEY": bucket.get("secret_key"),
        **{f"The secret of the provider {one.app['name']}": one.app["secret"] for one in settings.OIDC},
    }
    for name, value in values_by_name.items():
        if _is_example(value or ""):
            yield Error(f"{name} is an example's: anybody knows it.", hint="Make one.", id="momentjudge.E010")


def _is_example(text: str) -> bool:
    return any(word in text.lower() for word in EXAMPLES)


def addresses() -> Findings:
    site, allowed = urlsplit(settings.SITE_URL), settings.ALLOWED_HOSTS
    host = site.hostname or ""
    if site.scheme != "https":
        yield Error("SITE_URL does not begin with https://.", hint="Log-in needs https.", id="momentjudge.E002")
    if "*" in allowed:
        yield Error("ALLOWED_HOSTS lets any host through.", hint="Name the site's own.", id="momentjudge.E003")
    elif not any(host == one or (one.startswith(".") and f".{host}".endswith(one)) for one in allowed):
        yield Error(
            f"SITE_URL's host, {site.hostname!r}, is not among ALLOWED_HOSTS: links in e-mails would lead to an error.",
            id="momentjudge.E004",
        )
    for name, hosts in {"SITE_URL": [host], "ALLOWED_HOSTS": allowed}.items():
        if any(EXAMPLE_HOST.search(one.lower()) for one in hosts):
            yield Error(f"{name} names an example's host.", hint="Name the site's own.", id="momentjudge.E011")
    if settings.TRUSTED_PROXIES < 1 and settings.SECURE_PROXY_SSL_HEADER:
        yield Warning(
            "TRUSTED_PROXIES is 0 behind a proxy: everybody shares one address, and one log-in throttle.",
            hint="Set it to how many of your own proxies add to X-Forwarded-For.",
            id="momentjudge.W002",
        )


def services() -> Findings:
    if settings.EMBEDDED_DATABASE:
        yield Error("DATABASE_URL is not set: an open site needs its own PostgreSQL.", id="momentjudge.E005")
    elif not settings.DATABASES["default"]["NAME"]:
        yield Error("DATABASE_URL names no database.", id="momentjudge.E006")
    if not os.environ.get("BROKER_URL"):
        yield Error("BROKER_URL is not set: an open site needs its own Redis or Valkey.", id="momentjudge.E007")
    elif urlsplit(settings.CELERY_BROKER_URL).scheme not in BROKERS:
        yield Error(f"BROKER_URL must begin with one of {', '.join(BROKERS)}.", id="momentjudge.E008")
    folder = settings.MOMENTJUDGE_VAR
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        yield Error(f"MOMENTJUDGE_VAR, {folder}, is no folder that can be written.", id="momentjudge.E009")


def people() -> Findings:
    if not settings.EMAIL_HOST:
        yield Warning(
            "EMAIL_HOST is not set: no message reaches anybody, and nobody can ask for a new password by themselves.",
            hint="Leads pass on the links of invitations, and make links to new passwords.",
            id="momentjudge.W001",
        )
    if not settings.TOTP_REQUIRED_FOR:
        yield Warning(
            "TOTP_REQUIRED_FOR is empty: a lead's or an admin's password alone opens everything of theirs.",
            hint="TOTP_REQUIRED_FOR=lead,admin",
            id="momentjudge.W003",
        )
