"""Somebody who uses the site through nginx, as a browser does: cookies, CSRF token, Referer."""

import re
from typing import Any
from urllib.parse import urljoin

import requests

TIMEOUT_S = 180


class Person:
    """One browser; log it in, then ``get`` and ``post`` paths."""

    def __init__(self, url: str, certificate: str) -> None:
        self.url, self.session = url, requests.Session()
        self.session.verify = certificate
        self.session.trust_env = False

    def get(self, path: str, **more: Any) -> requests.Response:
        return self.session.get(urljoin(self.url, path), **{"timeout": TIMEOUT_S, **more})

    def post(self, path: str, data: dict[str, Any] | None = None, **more: Any) -> requests.Response:
        """A form; the page it stands on was seen before, so that the CSRF cookie is there."""
        if "csrftoken" not in self.session.cookies:
            self.get("/login/")
        headers = {"Referer": self.url + "/", "X-CSRFToken": self.session.cookies["csrftoken"]}
        headers |= more.pop("headers", {})
        return self.session.post(
            urljoin(self.url, path), data=data or {}, headers=headers, **{"timeout": TIMEOUT_S, **more}
        )

    def log_in(self, username: str, password: str) -> "Person":
        page = self.get("/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
        assert token is not None, page.text[:500]
        credentials = {"username": username, "password": password, "csrfmiddlewaretoken": token[1]}
        answer = self.post("/login/", credentials, allow_redirects=False)
        assert answer.status_code == 302, f"{username} cannot log in: {answer.status_code}"
        return self
