"""Secrets are in no line of any log, however they are used or misused."""

import io
import logging
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from gunicorn.config import Config
from pytest_django import Settings

from accounts.models import User
from accounts.services.credentials import phone_begin, phone_confirm, token_create
from accounts.services.identities import identity_set
from annotation.captions.rewriting.provider import Chat, Endpoint, Item, ProviderUnavailable
from core.observability.logs import NOTES, AccessLog
from core.refusals import WithoutSecrets, without_secrets
from judging.people.services import invitation_create
from tests.accounts.phone import code_at
from tests.conftest import Messages
from tests.factories import ProjectFactory, lead

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
KEY = "sk-this-key-opens-the-provider"


@pytest.fixture
def log_stream(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[io.StringIO]:
    """Provide all that the site's own handler writes from INFO on."""
    out = io.StringIO()
    handlers = logging.getLogger().handlers
    (console,) = [handler for handler in handlers if any(isinstance(each, WithoutSecrets) for each in handler.filters)]
    monkeypatch.setattr(console, "stream", out)
    for name in ("", "allauth", "django", "django.request", "django.security", "httpx", "openai"):
        monkeypatch.setattr(logging.getLogger(name), "level", logging.INFO)
    logging.getLogger().manager._clear_cache()  # type: ignore[attr-defined]
    yield out
    logging.getLogger().manager._clear_cache()  # type: ignore[attr-defined]


def test_of_log_ins_tokens_invitations_and_links(log_stream: io.StringIO, messages: Messages) -> None:
    person = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=person, name="Some Body", email="some@example.org")
    project = ProjectFactory()
    browser = Client(raise_request_exception=False)
    _, link = invitation_create(project=project, actor=lead(project), role="annotator")
    with messages():
        browser.post(reverse("password-forgotten"), {"email": "some@example.org"})
    (reset,) = re.findall(r"http://testserver(\S+)", mail.outbox[0].body)
    token = token_create(user=person, name="laptop")
    secret = phone_begin(user=person)
    codes = phone_confirm(user=person, secret=secret, code=code_at(secret), session=None)
    for password in ("a wrong password", PASSWORD):
        browser.post(reverse("login"), {"username": "somebody", "password": password})
    for wrong in ("123123", codes[0]):
        browser.post(reverse("login-code"), {"code": wrong})
    session = browser.cookies["sessionid"].value
    for path in (link, reset, f"{link}x", f"{reset}x", f"/api/v1/{token}/", f"/nowhere/?token={token}"):
        for send in (browser.get, browser.post, browser.delete):
            send(path)
    for proof in (token, token + "x"):
        Client(headers={"Authorization": f"Bearer {proof}"}).post("/api/v1/projects/", {"token": proof})
    log_text = log_stream.getvalue()
    assert "404" in log_text and "/invitations/[secret]" in log_text  # it was written, only without them
    secrets = [PASSWORD, "a wrong password", token, token[3:], secret, *codes, session, "some@example.org"]
    secrets += [link.strip("/").split("/")[-1], *reset.strip("/").split("/")[-2:]]
    assert [one for one in secrets if len(one) > 4 and one in log_text] == []


def test_of_a_fault(log_stream: io.StringIO, settings: Settings) -> None:
    settings.REWRITING_API_KEY = KEY
    token = "mj_" + "x" * 43
    try:
        raise RuntimeError(f"the provider said: {KEY} and {token} are wrong")
    except RuntimeError:
        logging.getLogger("annotation").exception("a fault with %s", KEY)
    log_text = log_stream.getvalue()
    assert "Traceback" in log_text
    assert "the provider said: [secret] and mj_[secret] are wrong" in log_text
    assert KEY not in log_text
    assert token not in log_text


class Echo(BaseHTTPRequestHandler):
    """A provider that repeats what it was given."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        reply = f'{{"error": {{"message": "no good: {self.headers["Authorization"]}"}}}}'.encode()
        self.send_response(418)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_of_a_provider_that_repeats_the_key(log_stream: io.StringIO, settings: Settings) -> None:
    settings.REWRITING_API_KEY = KEY
    server = HTTPServer(("127.0.0.1", 0), Echo)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    endpoint = Endpoint(url, "any", KEY, "Rewrite: {text}", tries=1, probes=False)
    with pytest.raises(ProviderUnavailable) as error:
        list(Chat(endpoint).rewrite([Item(1, "A man walks.")]))
    server.shutdown()
    server.server_close()
    assert "no good: Bearer [key]" in str(error.value)
    log_text = log_stream.getvalue()
    assert "no good" in log_text
    assert KEY not in log_text


def test_of_stores_that_repeat_what_opens_them(settings: Settings) -> None:
    settings.STORAGES = {
        "default": {"BACKEND": "core.storage.bucket.S3Media", "OPTIONS": {"secret_key": "opens/the+bucket"}}
    }
    settings.CELERY_BROKER_URL = "redis://:opens%2Fthe-broker@redis:6379/0"
    settings.SECRET_KEY_FALLBACKS = ["opens/older", "opens/oldest"]
    settings.DATABASES["default"] = settings.DATABASES["default"] | {"PASSWORD": "opens@the/database"}
    text = without_secrets(
        "opens/the+bucket opens%2Fthe%2Bbucket; redis://:opens%2Fthe-broker@redis opens/the-broker;"
        " postgresql://momentjudge:opens%40the%2Fdatabase@postgres opens%40the/database opens@the/database"
        " opens/older opens%2Foldest"
    )
    assert text == (
        "[secret] [secret]; redis://:[secret]@redis [secret];"
        " postgresql://momentjudge:[secret]@postgres [secret] [secret] [secret] [secret]"
    )


def test_every_handler_leaves_secrets_out(settings: Settings) -> None:
    assert all("without_secrets" in handler["filters"] for handler in settings.LOGGING["handlers"].values())


def test_a_broker_without_a_password_hides_no_word(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis+socket:///srv/valkey.sock"
    assert without_secrets("redis+socket:///srv/valkey.sock is away") == "redis+socket:///srv/valkey.sock is away"


def test_a_secret_that_the_settings_change_to_is_left_out_too(settings: Settings) -> None:
    settings.METRICS_TOKEN = "first-of-two-tokens"
    assert without_secrets("first-of-two-tokens second-of-two-tokens") == "[secret] second-of-two-tokens"
    settings.METRICS_TOKEN = "second-of-two-tokens"
    assert without_secrets("first-of-two-tokens second-of-two-tokens") == "first-of-two-tokens [secret]"


def test_the_access_log_looks_through_what_it_writes_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr("core.observability.logs.without_secrets", lambda text: [texts.append(text), text][1])
    config = Config()
    config.set("accesslog", os.devnull)
    answer = SimpleNamespace(status="200 OK", headers=[("X-Answer", "unlogged")], sent=2)
    request = SimpleNamespace(headers=[("X-Asked", "unlogged")])
    environ = {"REQUEST_METHOD": "GET", "RAW_URI": "/a/", "SERVER_PROTOCOL": "HTTP/1.1", "HTTP_REFERER": "http://b/"}
    AccessLog(config).access(answer, request, environ | {"HTTP_COOKIE": "unlogged"}, timedelta(seconds=1))
    assert {"GET /a/ HTTP/1.1", "http://b/"} <= set(texts)
    assert "unlogged" not in texts


def test_the_access_log_skips_what_went_well_on_named_routes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ACCESS_LOG_SKIPS", "judging:judgment-create")
    config = Config()
    config.set("accesslog", str(tmp_path / "log"))
    log = AccessLog(config)
    for route, status in (("judgment-create", "200 OK"), ("judgment-create", "409 Conflict"), ("desk", "200 OK")):
        environ = {"REQUEST_METHOD": "POST", "RAW_URI": f"/{route}/{status[:3]}/", "SERVER_PROTOCOL": "HTTP/1.1"}
        environ |= {NOTES: {"route": f"judging:{route}"}}  # type: ignore[dict-item]
        answer = SimpleNamespace(status=status, headers=[], sent=2)
        log.access(answer, SimpleNamespace(headers=[]), environ, timedelta(seconds=1))
    lines = (tmp_path / "log").read_text()
    assert "/judgment-create/200/" not in lines
    assert "/judgment-create/409/" in lines
    assert "/desk/200/" in lines
