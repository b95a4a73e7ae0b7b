"""The headers of an answer as they came: what every one must bring, and once only."""

import requests

from core.middleware import HEADERS

HSTS = {"Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload"}
ALWAYS = HEADERS | HSTS
PAGES_OWN = "Content-Security-Policy"  # a page says what it loads


def lacking(answer: requests.Response, *, page: bool = False) -> list[str]:
    """List headers missing, sent twice, or not as set by core/middleware.py."""
    wrong = []
    for name, value in ALWAYS.items():
        lines = answer.raw.headers.getlist(name)
        is_correct = bool(lines) if page and name == PAGES_OWN else lines == [value]
        if len(lines) != 1 or not is_correct:
            wrong.append(f"{name}: {lines}")
    return wrong
