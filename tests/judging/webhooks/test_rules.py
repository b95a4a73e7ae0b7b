"""How messages are signed, when they are tried again, and where they may go."""

import hmac
import re
from datetime import timedelta
from hashlib import sha256

import pytest

from judging.webhooks.rules import MOST_TRIES, UrlRefused, is_public, retry_after, signature_header, url_checked
from tests.docs.pages import ROOT

WEBHOOKS_PAGE = (ROOT / "docs" / "webhooks.md").read_text()


def test_the_signature_is_over_the_time_and_the_body() -> None:
    header = signature_header("whsec_s", 1_800_000_000, b'{"id": 1}')
    digest = hmac.new(b"whsec_s", b'1800000000.{"id": 1}', sha256).hexdigest()
    assert header == f"t=1800000000,v1={digest}"


def test_the_example_of_the_docs_is_signed_as_messages_are() -> None:
    (body,) = re.findall(r"^>>> body = b'(.+)'$", WEBHOOKS_PAGE, re.MULTILINE)
    (header,) = re.findall(r'^>>> signature = "(.+)"$', WEBHOOKS_PAGE, re.MULTILINE)
    assert signature_header("whsec_example", 1_800_000_000, body.encode()) == header


def test_waits_double_and_end_within_a_day() -> None:
    waits = [retry_after(tries) for tries in range(1, MOST_TRIES + 1)]
    assert waits[:4] == [timedelta(minutes=n) for n in (1, 2, 4, 8)]
    assert waits[-1] is None
    assert timedelta(hours=12) < sum(filter(None, waits), timedelta()) < timedelta(days=1)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.3.4", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),  # where clouds tell a machine its secrets
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),  # NAT64 of 127.0.0.1
        ("64:ff9b::5db8:d822", True),
        ("2002:7f00:1::", False),  # 6to4 of 127.0.0.1
        ("2001:0:0:0:0:0:80ff:fffe", False),  # Teredo
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_an_address_loses_what_is_never_sent() -> None:
    assert url_checked(" https://example.org/hook?a=1#part ") == "https://example.org/hook?a=1"


@pytest.mark.parametrize(
    "url",
    [
        *("", "example.org", "ftp://example.org/", "https://", "https:///path", "https://example.org:port/"),
        *(
            "https://user:secret@example.org/",
            "https://exa mple.org/",
            "https://example.org/\r\nHost: x",
            "http://[::1",
        ),
        *("https://exämple.org/", f"https://example.org/{'x' * 500}", "file:///etc/passwd"),
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(UrlRefused):
        url_checked(url)
