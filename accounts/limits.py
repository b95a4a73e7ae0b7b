"""How often something may be tried within a while, and from where, counted in the cache that all web hosts share; and
how many do what is costly at once in one process."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from ipaddress import IPv4Address, ip_address, ip_network
from secrets import token_hex
from threading import BoundedSemaphore
from typing import NamedTuple

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from core.exceptions import Busy, TooOften
from core.sql import only_one

TOO_MANY_BEGINNINGS = "Too many log-ins were begun from your network address."
ONCE_S = 2 * 24 * 3600  # for which a message is remembered: it may be repeated so long


class Limit(NamedTuple):
    """At most ``most`` tries within ``span``."""

    kind: str
    most: int
    span: timedelta

    @property
    def words(self) -> str:
        minutes = int(self.span.total_seconds() // 60)
        return f"{minutes} minutes" if minutes < 120 else f"{minutes // 60} hours"

    def try_once(self, who: str) -> bool:
        """Count one try; whether it is still within the limit."""
        key = self._key(who)
        cache.add(key, 0, self.span.total_seconds())
        try:
            return cache.incr(key) <= self.most
        except ValueError:  # the span ended in this moment
            return cache.add(key, 1, self.span.total_seconds()) or self.try_once(who)

    def try_or_refuse(self, who: str, message: str) -> None:
        """Count one try; TooOften where it is one too many, with ``message`` and how long to wait."""
        if not self.try_once(who):
            raise TooOften(f"{message} Wait up to {self.words}, then try again.")

    def is_used_up(self, who: str) -> bool:
        return bool(cache.get(self._key(who), 0) >= self.most)

    def take_back(self, who: str) -> None:
        """Take back a try, so that it does not count."""
        with suppress(ValueError):  # its span has ended
            cache.decr(self._key(who))

    def forget(self, who: str) -> None:
        cache.delete(self._key(who))

    def _key(self, who: str) -> str:
        return f"{self.kind} {digest_of(who)}"


REGISTRATIONS = Limit("registration", 60, timedelta(hours=1))  # by address: a class room joins together
MAILS_TO = Limit("password mail to", 3, timedelta(hours=2))  # by e-mail address
MAILS_FROM = Limit("password mail from", 20, timedelta(hours=2))  # by address
PASSWORDS = Limit("password confirmed", 6, timedelta(minutes=15))  # by account, of who is logged in
CODES = Limit("log-in code", 6, timedelta(minutes=15))  # by account: codes, and passkeys as second step
BEGINNINGS_FROM = Limit("log-in begun from", 300, timedelta(minutes=15))  # by address: passkeys and providers
LOGINS_TO = Limit("log-in to", 60, timedelta(hours=2))  # by user name, wrong ones from everywhere


def logins_from() -> Limit:
    """Wrong log-ins by address, whatever the user names: a class room mistypes together."""
    return Limit("log-in from", settings.LOGIN_TRIES_FROM, timedelta(minutes=15))


def logins_to_from() -> Limit:
    """Wrong log-ins by user name and address."""
    return Limit("log-in to and from", settings.LOGIN_TRIES, timedelta(minutes=15))


def tries_of(username: str) -> str:
    """Return the name that wrong log-ins of this user are counted under; another one once they are forgotten."""
    return f"{username} {cache.get(_era(username), '')}"


def tries_forget(username: str) -> None:
    """Wrong log-ins of this user count no more, wherever they came from."""
    cache.set(_era(username), token_hex(8), LOGINS_TO.span.total_seconds())


def _era(username: str) -> str:
    return f"log-ins of {digest_of(username)}"


class Turns:
    """At most ``at_once`` threads of this process do something; who waits longer than ``wait_s`` seconds is refused."""

    def __init__(self, at_once: int, *, wait_s: float, message: str) -> None:
        self.semaphore, self.wait_s, self.message = BoundedSemaphore(at_once), wait_s, message

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn. Raises Busy, with the message, where none becomes free."""
        if not self.semaphore.acquire(timeout=self.wait_s):
            raise Busy(self.message)
        try:
            yield
        finally:
            self.semaphore.release()


@contextmanager
def once(name: str) -> Iterator[bool]:
    """Whether the block is to do what is done once: it never ended well before, nor is anybody else inside.

    Only its end counts: after an error or a killed process it is to be done still.
    """
    digest = digest_of(name)
    with only_one("once", int(digest, 16)) as alone:
        is_due = alone and cache.get(f"once {digest}") is None
        yield is_due
        if is_due:
            cache.set(f"once {digest}", True, ONCE_S)


def digest_of(who: str) -> str:
    """Addresses and e-mail cannot be read from the cache, nor tried out without the site's secret key."""
    return salted_hmac("accounts.throttles", who.casefold(), algorithm="sha256").hexdigest()


def client_address(request: HttpRequest) -> str:
    """The address that counts for the limits of the log-in.

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
