"""Passkeys in a browser with an authenticator of its own: made, used alone and as the second step, removed."""

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import User
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import Complaints, looked_at

PASSWORD = "a long password"
OPTIONS = {
    **{"protocol": "ctap2", "transport": "internal", "automaticPresenceSimulation": True},
    **{"hasResidentKey": True, "hasUserVerification": True, "isUserVerified": True},
}


@pytest.fixture
def user(transactional_db: None) -> User:
    return User.objects.create_user("somebody", PASSWORD)


def with_authenticator(page: Page) -> Any:
    """Give the browser an authenticator; return the session that speaks with it."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.authenticator = session.send("WebAuthn.addVirtualAuthenticator", {"options": OPTIONS})["authenticatorId"]  # type: ignore[attr-defined]
    return session


def log_out(page: Page) -> None:
    page.get_by_role("button", name="Log out", exact=True).first.click()
    expect(page.get_by_role("heading", name="Log in", exact=True)).to_be_visible()


def test_a_passkey_from_the_first_to_the_last(browse: Browse, user: User) -> None:
    page = browse()
    complaints = Complaints(page)
    with_authenticator(page)
    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("link", name="somebody")).to_be_visible()
    page.goto(reverse("totp"))
    complaints += looked_at(page)
    page.get_by_role("link", name="Make a passkey").click()
    expect(page.get_by_role("heading", name="Say that it is you")).to_be_visible()
    complaints += looked_at(page)
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("heading", name="A new passkey")).to_be_visible()
    complaints += looked_at(page)
    page.get_by_label("Name").fill("my laptop")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("Your recovery codes")).to_be_visible()
    complaints += looked_at(page)
    page.goto(reverse("totp"))
    expect(page.get_by_text("my laptop")).to_be_visible()
    complaints += looked_at(page)

    log_out(page)
    complaints += looked_at(page)
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("link", name="somebody")).to_be_visible()

    log_out(page)
    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("heading", name="The second step")).to_be_visible()
    complaints += looked_at(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("link", name="somebody")).to_be_visible()

    page.goto(reverse("totp"))
    page.get_by_role("button", name="Remove my laptop").click()
    page.get_by_role("link", name="Use a passkey instead").click()
    complaints += looked_at(page)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_text("This passkey opens nothing any more")).to_be_visible()
    log_out(page)
    page.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_text("not accepted")).to_be_visible()
    assert complaints == []


def test_who_confirms_nothing_may_try_again(browse: Browse, user: User) -> None:
    page = browse()
    session = with_authenticator(page)
    session.send("WebAuthn.setUserVerified", {"authenticatorId": session.authenticator, "isUserVerified": False})
    acts.log_in(page, "somebody", PASSWORD)
    expect(page.get_by_role("link", name="somebody")).to_be_visible()
    page.goto(reverse("passkey-add"))
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("Nothing was confirmed. Try again.")).to_be_visible()
    session.send("WebAuthn.setUserVerified", {"authenticatorId": session.authenticator, "isUserVerified": True})
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("Your recovery codes")).to_be_visible()
