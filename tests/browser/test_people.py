"""Pages of people: those who join, leave, and forget their password, and what a lead sees of them."""

import re

from django.urls import reverse
from playwright.sync_api import expect

from judging.people.services import invitation_create
from tests import factories
from tests.browser import acts
from tests.browser.conftest import Browse
from tests.browser.test_every_page import looked_at, paths, visit


def test_pages_of_who_joins_are_clean(browse: Browse) -> None:
    project = acts.project()
    project.registration_is_open = True
    project.save()
    _, link = invitation_create(project=project, actor=factories.lead(project), role="annotator")
    page, join = browse(), reverse("judging:join", args=[project.uuid])
    assert visit(page, link, join) == []
    page.get_by_role("button", name="Join as annotator").click()
    expect(page.get_by_text("This field is required.").first).to_be_visible()
    problems = looked_at(page)
    page.goto("/invitations/nonsense/")
    assert problems + looked_at(page) == []
    member = browse(factories.annotator(project))
    assert visit(member, reverse("password-change"), *paths(["judging:leave-project"], project)) == []


def test_pages_of_people_are_clean_for_their_lead(browse: Browse) -> None:
    project = acts.project()
    page = browse(factories.lead(project))
    people = reverse("judging:people", args=[project.uuid])
    complaints = visit(page, people)
    page.get_by_role("button", name="Invite", exact=True).click()
    expect(page.get_by_label("The link of the invitation")).to_be_visible()
    complaints += looked_at(page)
    factories.MembershipFactory(project=project, number=1)
    person, erase = (reverse(f"judging:{name}", args=[project.uuid, 1]) for name in ("person", "person-erase"))
    complaints += visit(page, people, person)
    page.get_by_role("button", name="Make a link to a new password").click()
    expect(page.get_by_label("A link to a new password")).to_have_value(re.compile("/password/choose/"))
    assert complaints + looked_at(page) + visit(page, erase) == []
