"""Single sign-on in a browser, against a server of OpenID Connect: refused, linked, used, unlinked."""

from collections.abc import Iterator

import pytest
from django.conf import settings as configured
from django.urls import reverse
from oidc_provider_mock import User as There
from oidc_provider_mock import run_server_in_thread
from playwright.sync_api import Page, expect
from pytest_django import Settings

from accounts.models import User
from accounts.services.identities import identity_set
from judging.people.services import invitation_create
from tests import factories
from tests.accounts.acts import give_phone, shown_on_phone
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints, looked_at

PASSWORD = "a long password"
PEOPLE = [There(sub="person-1", claims={"email": "some@example.org"}), There(sub="person-2")]


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """The address of the provider."""
    with run_server_in_thread(require_nonce=True, user_claims=PEOPLE) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def offered(lab: str, settings: Settings) -> None:
    app = {
        "provider_id": "lab",
        "name": "the lab",
        "client_id": "momentjudge",
        "secret": "x",
        "settings": {"server_url": lab},
    }
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": [app]}}
    policy = configured.CONTENT_SECURITY_POLICY
    settings.CONTENT_SECURITY_POLICY = policy.replace("form-action 'self'", f"form-action 'self' {lab}")


@pytest.fixture
def user(transactional_db: None) -> User:
    user = User.objects.create_user("somebody", PASSWORD)
    identity_set(user=user, name="Some Body", email="some@example.org")
    return user


def at_the_lab(page: Page, sub: str) -> None:
    """Say there who it is."""
    page.locator(f"button[name=sub][value='{sub}'], button:has-text('{sub}')").first.click()


def log_out(page: Page) -> None:
    page.get_by_role("button", name="Log out", exact=True).first.click()
    expect(page.get_by_role("heading", name="Log in", exact=True)).to_be_visible()


def test_a_log_in_by_a_provider_from_the_first_to_the_last(browse: Browse, user: User, lab: str) -> None:
    page = browse()
    complaints = Complaints(page)
    page.goto(reverse("login"))
    complaints += looked_at(page)
    page.get_by_role("button", name="Log in with the lab").click()
    page.wait_for_url(f"{lab}/**")
    at_the_lab(page, "person-1")
    expect(page.get_by_text("No account here is linked")).to_be_visible()  # though the address is the same
    complaints += looked_at(page)

    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("link", name="somebody")).to_be_visible()
    page.goto(reverse("account"))
    complaints += looked_at(page)
    page.get_by_role("button", name="Link the lab").click()
    expect(page.get_by_role("heading", name="Say that it is you")).to_be_visible()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.wait_for_url(f"{lab}/**")
    at_the_lab(page, "person-1")
    expect(page.get_by_text("Linked: the lab lets you in")).to_be_visible()
    complaints += looked_at(page)

    log_out(page)
    page.get_by_role("button", name="Log in with the lab").click()
    at_the_lab(page, "person-1")
    expect(page.get_by_role("link", name="somebody")).to_be_visible()
    assert not user.memberships.exists()
    project = factories.ProjectFactory()
    _, path = invitation_create(project=project, actor=factories.lead(project), role="annotator")
    page.goto(path)
    page.get_by_role("main").get_by_role("button").click()
    expect(page.get_by_text("Welcome. You are annotator 1")).to_be_visible()

    give_phone(user)
    page.goto(reverse("account"))  # every session has ended
    page.get_by_role("button", name="Log in with the lab").click()
    at_the_lab(page, "person-1")
    expect(page.get_by_role("heading", name="The second step")).to_be_visible()
    page.get_by_label("Code").fill(shown_on_phone(user))
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("link", name="Annotator 1")).to_be_visible()

    page.goto(reverse("account"))
    page.get_by_role("button", name="Unlink the lab").click()
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("Unlinked.")).to_be_visible()
    log_out(page)
    page.get_by_role("button", name="Log in with the lab").click()
    at_the_lab(page, "person-1")
    expect(page.get_by_text("No account here is linked")).to_be_visible()
    assert [line for line in complaints if not line.startswith(lab)] == []  # what the provider's pages lack is its own


def test_who_says_no_there_comes_back_and_may_use_the_password(browse: Browse, user: User, lab: str) -> None:
    page = browse()
    page.goto(reverse("login"))
    page.get_by_role("button", name="Log in with the lab").click()
    page.wait_for_url(f"{lab}/**")
    page.locator("[name=action][value=deny]").click()
    expect(page.get_by_text("Logging in by the lab did not work")).to_be_visible()
    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("link", name="somebody")).to_be_visible()
