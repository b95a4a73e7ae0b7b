"""Every answer tells the browser what it must not do with it: pages, refusals, static files, media, faults."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from pytest_django import Settings

from accounts.models import User
from tests.factories import AssignmentFactory, lead
from tests.judging.play import pairs_of

pytestmark = pytest.mark.django_db
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
REFERRERS = {"same-origin", "strict-origin"}  # the second where the address itself is a secret
PROBES = {"/healthz", "/readyz", "/metrics"}  # asked by machines, over plain http
UNKNOWN = "00000000-0000-4000-8000-000000000000"
SECURE = {"HTTP_X_FORWARDED_PROTO": "https", "secure": True}


@pytest.fixture(autouse=True)
def _production(settings: Settings) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = True


def routes(resolver: URLResolver, before: str = "/") -> list[str]:
    """An address of every route of the site, of objects that are not there."""
    addresses = []
    for each in resolver.url_patterns:
        path = before + str(each.pattern)
        addresses += routes(each, path) if isinstance(each, URLResolver) else [filled(each, path)]
    return addresses


def filled(route: URLPattern, path: str) -> str:
    for name, converter in route.pattern.converters.items():  # type: ignore[attr-defined]
        value = {"UUIDConverter": UNKNOWN, "IntConverter": "1"}.get(type(converter).__name__, "x")
        for kind in ("uuid", "int", "str", "slug", "path"):
            path = path.replace(f"<{kind}:{name}>", value)
    return path


def lacking(answer: Any) -> list[str]:
    headers = answer.headers
    wrong = [name for name, value in ALWAYS.items() if headers.get(name) != value]
    wrong += ["Referrer-Policy"] if headers.get("Referrer-Policy") not in REFERRERS else []
    wrong += ["Permissions-Policy"] if "camera=()" not in headers.get("Permissions-Policy", "") else []
    wrong += [] if is_strict(headers.get("Content-Security-Policy", "")) else ["Content-Security-Policy"]
    wrong += ["Strict-Transport-Security"] if "31536000" not in headers.get("Strict-Transport-Security", "") else []
    return wrong


def is_strict(policy: str) -> bool:
    """No inline code; inline style only in a drawing on its own, which may run and load nothing at all."""
    parts = [part.split() for part in policy.split(";") if part.strip()]
    directives = {name: values for name, *values in parts}
    scripts = directives.get("script-src", directives.get("default-src"))
    runs_nothing, runs_ours = scripts == ["'none'"], scripts == ["'self'"] and "unsafe" not in policy
    return directives.get("default-src") == ["'none'"] and (runs_nothing or runs_ours)


@pytest.mark.parametrize("method", ["get", "post"])
def test_every_route(method: str) -> None:
    """By nobody and by a lead who has none of these objects: redirects, refusals and pages."""
    person = lead(AssignmentFactory().project)
    browsers = [Client(raise_request_exception=False), Client(raise_request_exception=False)]
    browsers[1].force_login(person)
    addresses = routes(get_resolver())
    assert len(addresses) > 200
    faults_by_path = {}
    for path in addresses:
        if path == reverse("logout"):
            continue
        for browser in browsers:
            answer = getattr(browser, method)(path, **SECURE)
            if wrong := set(lacking(answer)) - ({"Strict-Transport-Security"} if path in PROBES else set()):
                faults_by_path[path] = wrong
            assert answer.status_code < 500 or path in PROBES, path
    assert faults_by_path == {}


def test_media() -> None:
    assignment = AssignmentFactory()
    moment = pairs_of(assignment.batch)[0].candidate.moment
    browser = Client()
    browser.force_login(assignment.annotator)
    for name in ("judging:preview", "api:preview-gif"):
        answer = browser.get(reverse(name, args=[moment.preview_uuid]), **SECURE)  # type: ignore[arg-type]
        assert (answer.status_code, lacking(answer)) == (200, [])


def test_static_files(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "some.css").write_text("p { color: red }")
    settings.STATIC_ROOT = str(tmp_path)
    settings.WHITENOISE_USE_FINDERS = False
    answer = Client().get("/static/some.css", **SECURE)  # type: ignore[arg-type]
    assert (answer.status_code, lacking(answer)) == (200, [])


def test_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.menu.render", Mock(side_effect=RuntimeError("a fault of ours")))
    answer = Client(raise_request_exception=False).get(reverse("help"), **SECURE)  # type: ignore[arg-type]
    assert (answer.status_code, lacking(answer)) == (500, [])


def test_what_django_refuses_before_any_view(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["judge.example.org"]
    browser = Client(raise_request_exception=False)
    for path in ("/", "/api/v1/projects/"):
        answer = browser.get(path, headers={"host": "evil.example.org"}, **SECURE)  # type: ignore[arg-type]
        assert (answer.status_code, lacking(answer)) == (400, [])
    broken = browser.get("/%00", headers={"host": "judge.example.org"}, **SECURE)  # type: ignore[arg-type]
    assert lacking(broken) == []


def test_cookies_are_for_the_site_and_for_https_alone(settings: Settings) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True  # as in config.settings.production
    User.objects.create_user("somebody", "a long password")
    browser = Client()
    browser.get(reverse("login"), **SECURE)  # type: ignore[arg-type]
    form = {"username": "somebody", "password": "a long password"}
    browser.post(reverse("login"), form, **SECURE)  # type: ignore[arg-type]
    for name, is_hidden in (("sessionid", True), ("csrftoken", False)):
        cookie = browser.cookies[name]
        assert (cookie["secure"], cookie["samesite"], bool(cookie["httponly"])) == (True, "Lax", is_hidden)
