"""Joining by a link, and the pages of people: the way itself, and nothing to complain about on any page of it."""

import re

from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Membership
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_access import barriers
from tests.browser.test_every_page import DESKTOP, PHONE, Complaints, too_wide

PASSWORD = "quite a long one"


def faults(page: Page) -> list[str]:
    return [*barriers(page), *too_wide(page, DESKTOP), *too_wide(page, PHONE)]


def test_a_person_is_invited_joins_is_suspended_and_forgotten(browse: Browse) -> None:
    project = acts.project()
    lead, guest = browse(factories.lead(project)), browse()
    complaints = [Complaints(lead), Complaints(guest)]
    problems = []
    lead.goto(reverse("judging:people", args=[project.uuid]))
    expect(lead.get_by_text("No annotator yet")).to_be_visible()
    lead.get_by_role("button", name="Invite", exact=True).click()
    link = lead.get_by_label("The link of the invitation").input_value()
    problems += faults(lead)

    guest.goto(link)
    problems += faults(guest)
    for label, value in (("User name", "newcomer"), ("Name", "New Comer"), ("Password", PASSWORD)):
        guest.get_by_label(label, exact=True).fill(value)
    guest.get_by_label("Password again").fill(PASSWORD)
    guest.get_by_role("button", name="Join as annotator").click()
    expect(guest.get_by_text("You are annotator 1 of")).to_be_visible()
    for name in ("account", "password-change"):
        guest.goto(reverse(name))
        problems += faults(guest)
    guest.goto(reverse("judging:leave-project", args=[project.uuid]))
    problems += faults(guest)

    lead.goto(reverse("judging:person", args=[project.uuid, 1]))
    lead.get_by_label("Reason").fill("Too fast")
    lead.get_by_role("button", name="Suspend").click()
    expect(lead.get_by_role("heading", name="Annotator 1 suspended")).to_be_visible()
    lead.get_by_role("button", name="Make a link to a new password").click()
    expect(lead.get_by_label("A link to a new password")).to_have_value(re.compile("/password/choose/"))
    problems += faults(lead)
    lead.get_by_role("link", name="Erase name and e-mail").click()
    problems += faults(lead)
    lead.get_by_label("Type the number").fill("1")
    lead.get_by_role("button", name="Erase").click()
    expect(lead.get_by_text("Name, e-mail and account are erased")).to_be_visible()
    assert Membership.objects.get(project=project, number=1).standing == "left"
    assert [*problems, *complaints[0], *complaints[1]] == []


def test_pages_for_people_without_access_are_clean(browse: Browse) -> None:
    project = acts.project()
    project.registration_is_open = True
    project.save()
    page = browse()
    problems = []
    for address in (reverse("login"), reverse("password-forgotten"), reverse("judging:join", args=[project.uuid])):
        page.goto(address)
        problems += faults(page)
    page.get_by_role("button", name="Join as annotator").click()
    expect(page.get_by_text("This field is required.").first).to_be_visible()
    problems += faults(page)
    page.goto("/invitations/nonsense/")
    problems += faults(page)
    assert problems == []
