"""Where a request comes from."""

from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address that counts for the log-in throttle.

    Anybody can send X-Forwarded-For, so it is read only as far as proxies of ours have written it: with
    TRUSTED_PROXIES = n, the n-th entry from its end. Without a proxy it is not looked at.
    """
    own = str(request.META.get("REMOTE_ADDR") or "127.0.0.1")  # empty on a unix socket
    said = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    n = settings.TRUSTED_PROXIES
    return said[-n] if 0 < n <= len(said) and _is_address(said[-n]) else own


def address_block(request: HttpRequest) -> str:
    """What one line to the internet is given: an IPv4 address, or 2**64 of IPv6, which count as one."""
    said = client_address(request)
    if not _is_address(said):
        return said
    address = ip_address(said.partition("%")[0])
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
