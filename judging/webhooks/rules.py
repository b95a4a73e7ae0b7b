"""How a message to a webhook is signed, when it is tried again, and where it may go. Pure."""

import hmac
import ipaddress
from datetime import timedelta
from urllib.parse import urlsplit

FIRST_RETRY = timedelta(minutes=1)
MOST_TRIES = 11  # the last of them 17 hours after the first
LONGEST_URL = 500
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # RFC 6052: the last four bytes are an address of IPv4


class UrlRefused(ValueError):
    """The address is none that a webhook may have."""


def signature_header(secret: str, timestamp: int, body: bytes) -> str:
    """Return the header that proves who sent ``body`` and when: HMAC-SHA256 over the time, a point and the body."""
    digest = hmac.new(secret.encode(), b"%d.%s" % (timestamp, body), "sha256").hexdigest()
    return f"t={timestamp},v1={digest}"


def retry_after(tries: int) -> timedelta | None:
    """Return how long to wait after so many tries: each time twice as long; None once that is enough."""
    return FIRST_RETRY * 2 ** (tries - 1) if tries < MOST_TRIES else None


def url_checked(url: str) -> str:
    """Return the address as it is kept. Raises UrlRefused where it is not of the web, or holds a password."""
    url = url.strip()
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # which has to be a number
    except ValueError as error:
        raise UrlRefused("This is no address of the web.") from error
    if parts.scheme not in ("http", "https") or not host or not url.isascii() or any(char.isspace() for char in url):
        raise UrlRefused("Give an address that begins with https:// or http://, in ASCII.")
    if len(url) > LONGEST_URL:
        raise UrlRefused(f"An address has at most {LONGEST_URL} characters.")
    if parts.username or parts.password:
        raise UrlRefused("Leave user name and password out of the address: messages are signed.")
    return parts._replace(fragment="").geturl()


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public Internet, whatever it is wrapped in."""
    number = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(number, ipaddress.IPv6Address):
        inner = number.ipv4_mapped or number.sixtofour or (number.teredo[1] if number.teredo else None)
        if number in NAT64:
            inner = ipaddress.IPv4Address(number.packed[-4:])
        if inner is not None:
            return is_public(str(inner))
        if number.is_site_local:
            return False
    return number.is_global and not (number.is_multicast or number.is_reserved or number.is_unspecified)
