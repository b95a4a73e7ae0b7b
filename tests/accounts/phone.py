"""An authenticator app, written from RFC 6238 and not with the library that checks its codes; and who holds it."""

import hmac
import re
import time
from base64 import b32decode
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

PASSWORD = "a long password"
SECRET = re.compile(r'class="secret">([A-Z2-7 ]+)<')
PAPER = re.compile(r"<code>([a-z2-9]{5}(?:-[a-z2-9]{5}){2})</code>")


def code_at(secret: str, steps: int = 0) -> str:
    """Return the six digits that the app shows now, or so many half minutes later."""
    plain = secret.replace(" ", "")
    key = b32decode(plain + "=" * (-len(plain) % 8))
    digest = hmac.new(key, (int(time.time()) // 30 + steps).to_bytes(8, "big"), "sha1").digest()
    at = digest[-1] & 15
    return f"{(int.from_bytes(digest[at : at + 4], 'big') & 0x7FFFFFFF) % 10**6:06}"


def wrong_code(secret: str) -> str:
    near = {code_at(secret, steps) for steps in range(-3, 4)}
    return next(
        code
        for code in ("000000", "111111", "222222", "333333", "444444", "555555", "666666", "777777")
        if code not in near
    )


def log_in(client: Client, password: str = PASSWORD, name: str = "somebody", **more: Any) -> HttpResponse:
    return client.post(reverse("login"), {"username": name, "password": password}, **more)  # type: ignore[return-value]


def set_up(client: Client) -> tuple[str, list[str]]:
    """Set up the second step by its pages, with the code of half a minute ago: its secret, and the codes on paper."""
    page = client.post(reverse("totp-begin"), {"password": PASSWORD}, follow=True).text
    (secret,) = SECRET.findall(page)
    for _ in range(2):  # a half minute may end between the two
        paper = PAPER.findall(client.post(reverse("totp"), {"code": code_at(secret, -1)}).text)
        if len(paper) == 10:
            return secret, paper
    raise AssertionError("the second step is not set up")


def is_in(client: Client) -> bool:
    return client.get(reverse("account")).status_code == 200
