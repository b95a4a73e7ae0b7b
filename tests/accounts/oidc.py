"""A provider of single sign-on that answers as a test wants it; the real one is in tests/browser/test_sign_on.py."""

import json
import time
from base64 import urlsafe_b64encode
from functools import cache
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

URL, CLIENT_ID = "https://sso.example.net/realms/lab", "momentjudge"
APP = {"provider_id": "lab", "name": "the lab", "client_id": CLIENT_ID, "secret": "lab-secret"}


def providers(**urls: str) -> dict[str, Any]:
    """Return the setting of allauth for providers of these names."""
    apps = [APP | {"provider_id": name, "name": name, "settings": {"server_url": url}} for name, url in urls.items()]
    return {"openid_connect": {"APPS": apps}}


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk(name: str = "ours") -> dict[str, Any]:
    public: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key(name).public_key(), as_dict=True)
    return public | {"kid": name, "use": "sig", "alg": "RS256"}


class Provider:
    """Answers what ``requests`` asks, and counts; ``claims``, ``sign`` and ``config`` change how.

    Attributes:
        token_query: what the site wrote to the token endpoint, last.
        requests: the paths that were requested.
    """

    def __init__(self, url: str = URL) -> None:
        self.url, self.sub, self.nonce = url, "person-1", ""
        self.claims: dict[str, Any] = {}
        self.config: dict[str, Any] = {}
        self.signing: dict[str, Any] = {"key": key("ours"), "algorithm": "RS256", "headers": {"kid": "ours"}}
        self.token_query: dict[str, Any] = {}
        self.is_unavailable = False
        self.codes: set[str] = {"the-code"}
        self.requests: list[str] = []

    def id_token(self) -> str:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "sub": self.sub, "iat": now, "exp": now + 300}
        claims |= {"nonce": self.nonce, "email": "some@example.org", "email_verified": True, "name": "Some Body"}
        claims = {name: value for name, value in (claims | self.claims).items() if value is not None}
        return jwt.encode(claims, **self.signing)

    def request(self, method: str, url: str, **more: Any) -> requests.Response:
        if self.is_unavailable:
            raise requests.ConnectionError("nobody listens")
        status, body = 200, {}
        self.requests.append(url.removeprefix(self.url))
        match self.requests[-1]:
            case "/.well-known/openid-configuration":
                body = {"issuer": self.url, "jwks_uri": f"{self.url}/keys", "token_endpoint": f"{self.url}/token"}
                body |= {"authorization_endpoint": f"{self.url}/authorize", **self.config}
                body["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
            case "/keys":
                body = {"keys": [jwk()]}
            case "/token":
                self.token_query = more["data"]
                if self.token_query["code"] in self.codes:
                    self.codes.remove(self.token_query["code"])
                    body = {"access_token": "an-access-token", "token_type": "Bearer", "id_token": self.id_token()}
                else:
                    status, body = 400, {"error": "invalid_grant"}
        answer = requests.Response()
        answer.status_code, answer._content = status, json.dumps(body).encode()
        answer.headers["content-type"] = "application/json"
        return answer

    def patch(self, monkeypatch: pytest.MonkeyPatch, *others: "Provider") -> "Provider":
        """Answer the site's requests for this provider and ``others``."""

        def request(session: requests.Session, method: str, url: str, **more: Any) -> requests.Response:
            return next(one for one in (self, *others) if url.startswith(one.url)).request(method, url, **more)

        monkeypatch.setattr(requests.Session, "request", request)
        return self

    def begin(self, client: Client, name: str = "lab", **form: str) -> dict[str, str]:
        """Press the button: return the parameters that the browser takes to the provider."""
        answer = client.post(reverse("openid_connect_login", args=[name]), form)
        assert answer.status_code == 302, answer.text
        address = urlsplit(answer.headers["Location"])
        assert f"{address.scheme}://{address.netloc}{address.path}" == f"{self.url}/authorize"
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.nonce = query["nonce"]
        return query

    def end(self, client: Client, query: dict[str, str], *, name: str = "lab", **changes: str) -> HttpResponse:
        """Come back from the provider."""
        answer = {"state": query["state"], "code": "the-code", **changes}
        self.codes |= {answer.get("code", "")} if "code" not in changes else set()
        return client.get(reverse("openid_connect_callback", args=[name]), answer)  # type: ignore[return-value]

    def log_in(self, client: Client, **form: str) -> HttpResponse:
        return self.end(client, self.begin(client, **form))

    def verifies(self, query: dict[str, str]) -> bool:
        """Whether the token endpoint got the word whose digest the browser took along (RFC 7636)."""
        digest = sha256(self.token_query["code_verifier"].encode()).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode() == query["code_challenge"]
