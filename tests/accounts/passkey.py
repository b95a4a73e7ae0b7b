"""A passkey in software, for what no browser would do; Chromium's own is in tests/browser/test_passkeys.py."""

import json
from hashlib import sha256
from secrets import token_bytes
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from django.urls import reverse
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode

from tests.accounts.phone import PASSWORD

PRESENT, VERIFIED, ATTESTED = 1, 4, 64
HOST, ORIGIN = "localhost", "http://localhost"


def visitor() -> Client:
    return Client(SERVER_NAME=HOST)


class Passkey:
    """Answers what a site asks; ``origin``, ``host`` and ``flags`` are what it says of itself."""

    def __init__(self) -> None:
        self.key, self.id = ec.generate_private_key(ec.SECP256R1()), token_bytes(16)
        self.origin, self.host, self.flags, self.user = ORIGIN, HOST, PRESENT | VERIFIED, ""

    def create(self, options: dict[str, Any]) -> str:
        request = options["publicKey"]
        self.user = request["user"]["id"]
        key = cbor.encode(ES256.from_cryptography_key(self.key.public_key()))
        data = self._data(ATTESTED) + bytes(16) + len(self.id).to_bytes(2, "big") + self.id + key
        answer = {"attestationObject": cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})}
        return self._answer("webauthn.create", request["challenge"], answer)

    def get(self, options: dict[str, Any], *, user: str | None = None) -> str:
        public = options["publicKey"]
        client = self._client("webauthn.get", public["challenge"])
        data = self._data()
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        answer = {"authenticatorData": data, "signature": signature}
        answer["userHandle"] = websafe_decode(self.user if user is None else user)
        return self._answer("webauthn.get", public["challenge"], answer)

    def _data(self, more: int = 0) -> bytes:
        return sha256(self.host.encode()).digest() + bytes([self.flags | more]) + bytes(4)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, kind: str, challenge: str, answer: dict[str, bytes]) -> str:
        answer["clientDataJSON"] = self._client(kind, challenge)
        name = websafe_encode(self.id)
        packed = {field: websafe_encode(value) for field, value in answer.items()}
        credential = {"id": name, "rawId": name, "type": "public-key", "response": packed, "clientExtensionResults": {}}
        return json.dumps(credential)


def options_on(page: Any) -> dict[str, Any]:
    return json.loads(page.context["options"])  # type: ignore[no-any-return]


def login_options(client: Client) -> dict[str, Any]:
    return client.get(reverse("passkey-login"), headers={"Accept": "application/json"}).json()  # type: ignore[no-any-return]


def make(client: Client, passkey: Passkey, *, name: str = "phone") -> Any:
    """Add the passkey by its pages, as who is logged in: the answer to the form."""
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    page = client.get(reverse("passkey-add"))
    return client.post(reverse("passkey-add"), {"name": name, "credential": passkey.create(options_on(page))})


def log_in_by(client: Client, passkey: Passkey, **form: str) -> Any:
    return client.post(reverse("passkey-login"), {"credential": passkey.get(login_options(client)), **form})
