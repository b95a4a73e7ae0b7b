"""Pages of hours and money, with something on them: clean, and without barriers."""

from datetime import date
from decimal import Decimal

from django.urls import reverse

from accounts.models import Project, User
from judging.pay.services import hours_correct, pay_rate_set
from tests.browser.conftest import Browse
from tests.browser.test_every_page import visit
from tests.factories import MembershipFactory, lead
from tests.judging.money import judged, local, project_in

MARCH = "?month=2026-03"
UNBROKEN = "Supercalifragilisticexpialidocious" * 3


def paid() -> tuple[Project, User]:
    """A project with annotator 7, who was paid at two rates in March and corrected once."""
    project = project_in()
    person = MembershipFactory(project=project, number=7).user
    for day in (2, 20):
        judged(project, person, local(f"2026-03-{day:02}T09:00"), 90)
    judged(project, person, local("2026-03-21T09:00"), 90, pilot=True)
    values = {"project": project, "annotator": person, "actor": lead(project)}
    pay_rate_set(rate=Decimal("123456.78"), currency="IDR", from_day=date(2026, 3, 10), **values)
    hours_correct(day=date(2026, 3, 2), seconds=36_000, reason=UNBROKEN, **values)
    return project, person


def test_pages_of_the_lead(browse: Browse) -> None:
    project, _ = paid()
    page = browse(lead(project))
    addresses = [
        reverse("judging:pay", args=[project.uuid]) + MARCH,
        reverse("judging:pay-person", args=[project.uuid, 7]) + MARCH,
        reverse("judging:forecast", args=[project.uuid]),
    ]
    assert visit(page, *addresses) == []


def test_own_hours(browse: Browse) -> None:
    project, person = paid()
    page = browse(person)
    address = reverse("judging:hours", args=[project.uuid]) + MARCH
    assert visit(page, address) == []
