"""How often something may be tried within a while, and from where, counted in the database for all web hosts."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import Throttle
from core.exceptions import TooOften
from core.sql import only_one

COUNT = f"""
INSERT INTO {Throttle._meta.db_table} AS held (kind, digest, tries, began_at) VALUES (%(kind)s, %(digest)s, 1, %(now)s)
ON CONFLICT (kind, digest) DO UPDATE SET
    tries = CASE WHEN held.began_at <= %(gone)s THEN 1 ELSE held.tries + 1 END,
    began_at = CASE WHEN held.began_at <= %(gone)s THEN %(now)s ELSE held.began_at END
RETURNING tries
"""  # noqa: S608  # nosec B608 - constants
RETENTION = timedelta(days=2)
LOGINS_SPAN = timedelta(minutes=15)


class Limit(NamedTuple):
    """At most ``most`` tries within ``span``."""

    kind: str
    most: int
    span: timedelta

    @property
    def words(self) -> str:
        minutes = int(self.span.total_seconds() // 60)
        return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"


REGISTRATIONS = Limit("registration", 60, timedelta(hours=1))  # by address: a class room joins together
MAILS_TO = Limit("password mail to", 3, timedelta(hours=2))  # by e-mail address
MAIL_ONCE = Limit("password mail for", 1, timedelta(days=2))  # by request: its message may be repeated
MAILS_FROM = Limit("password mail from", 20, timedelta(hours=2))  # by address
LOGINS_TO = Limit("log-in to", 60, timedelta(hours=2))  # by user name, wrong ones from everywhere
CODES = Limit("log-in code", 6, timedelta(minutes=15))  # by account


def throttle_count(limit: Limit, who: str) -> bool:
    """Count one try; whether it is still within the limit."""
    now = timezone.now()
    digest = throttle_digest(who)
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"kind": limit.kind, "digest": digest, "now": now, "gone": now - limit.span})
        (tries,) = cursor.fetchone()
    return bool(tries <= limit.most)


@contextmanager
def throttle_once(limit: Limit, who: str) -> Iterator[bool]:
    """Whether the block is to do what is done once: it never ended well before, nor is anybody else inside.

    Only its end counts: after an error or a killed process it is to be done still.
    """
    digest = throttle_digest(who)
    with only_one(limit.kind, int(digest, 16)) as alone:
        is_due = alone and not Throttle.objects.filter(kind=limit.kind, digest=digest).exists()
        yield is_due
        if is_due:
            Throttle.objects.create(kind=limit.kind, digest=digest)


def throttle_or_refuse(limit: Limit, who: str, message: str) -> None:
    """Count one try; TooOften where it is one too many, with ``message`` and how long to wait."""
    if not throttle_count(limit, who):
        raise TooOften(f"{message} Wait up to {limit.words}, then try again.")


def logins_from() -> Limit:
    """Wrong log-ins by address, whatever the user names: a class room mistypes together."""
    return Limit("log-in from", settings.LOGIN_TRIES_FROM, LOGINS_SPAN)


def throttle_take_back(limit: Limit, who: str) -> None:
    """Take back a try, so that it does not count."""
    throttles = Throttle.objects.filter(kind=limit.kind, digest=throttle_digest(who), tries__gt=0)
    throttles.update(tries=F("tries") - 1)


def throttle_forget(limit: Limit, who: str) -> None:
    Throttle.objects.filter(kind=limit.kind, digest=throttle_digest(who)).delete()


def throttle_digest(who: str) -> str:
    """Addresses and e-mail cannot be read from the table, nor tried out without the site's secret key."""
    return salted_hmac("accounts.throttles", who.casefold(), algorithm="sha256").hexdigest()


def client_address(request: HttpRequest) -> str:
    """The address that counts for the log-in throttle.

    Anybody can send X-Forwarded-For, so it is read only as far as proxies of ours have written it: with
    TRUSTED_PROXIES = n, the n-th entry from its end. Without a proxy it is not looked at.
    """
    own = str(request.META.get("REMOTE_ADDR") or "127.0.0.1")  # empty on a unix socket
    addresses = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    n = settings.TRUSTED_PROXIES
    return addresses[-n] if 0 < n <= len(addresses) and _is_address(addresses[-n]) else own


def address_block(request: HttpRequest) -> str:
    """Return the addresses of one internet line: an IPv4 address, or 2**64 of IPv6, which count as one."""
    text = client_address(request)
    if not _is_address(text):
        return text
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, 64), strict=False))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def nobody(*args: Any, **kwargs: Any) -> str:
    return "somebody"
