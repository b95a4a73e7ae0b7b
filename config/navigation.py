"""What the header offers: the pages of the viewer's role in the project at hand."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from accounts.models import Membership

ANNOTATOR_PAGES = [
    ("Judge", "judging:desk"),
    ("My grades", "judging:own-grades"),
    ("My hours", "judging:hours"),
    ("Guideline", "judging:guideline"),
]
STAFF_PAGES = [
    ("Overview", "judging:overview"),
    ("Review", "judging:review-queue"),
    ("Queries", "judging:queries"),
    ("Corpus", "annotation:corpus"),
    ("Exams", "judging:exams"),
    ("Quality", "judging:flags"),
    ("Figures", "judging:figures"),
    ("Releases", "judging:releases"),
    ("Leaderboard", "models_runner:runs"),
    ("Benchmarks", "models_runner:experiments"),
    ("Search", "models_runner:search"),
    ("Settings", "judging:guideline"),
    ("Audit", "judging:audit"),
]
LEAD_PAGES = [*STAFF_PAGES[:-1], ("People", "judging:people"), ("Pay", "judging:pay"), STAFF_PAGES[-1]]  # no admin's
PARTICIPANT_PAGES = [
    ("Leaderboard", "models_runner:runs"),
    ("Upload a run", "models_runner:run-new"),
    ("Files", "models_runner:files"),
]
PAGES = {
    Membership.Role.ANNOTATOR: ANNOTATOR_PAGES,
    Membership.Role.LEAD: LEAD_PAGES,
    Membership.Role.ADMIN: STAFF_PAGES,
    Membership.Role.PARTICIPANT: PARTICIPANT_PAGES,
}
LAST = "project"  # in the session: the project visited last
SETTINGS = ("/guideline", "/training", "/gate", "/policy")  # where the addresses of settings begin


class Entry(NamedTuple):
    label: str
    url: str
    current: bool


def pages_of(membership: Membership) -> list[tuple[str, str]]:
    return PAGES[Membership.Role(membership.role)]


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``membership`` and the entries it opens: of the page's project, else of the one visited last."""
    membership = _membership(request)
    if membership is None:
        return {"entries": []}
    urls = {label: reverse(name, args=[membership.project.uuid]) for label, name in pages_of(membership)}
    current = [label for label, url in urls.items() if _is_current(label, url, request.path)]
    here = max(current, key=lambda label: len(urls[label]), default="")  # a page below another is itself
    entries = [Entry(label, url, label == here) for label, url in urls.items()]
    return {"membership": membership, "project": membership.project, "entries": entries}


def _membership(request: HttpRequest) -> Membership | None:
    """The viewer's role in the project at hand (set by the view through accounts.access), which is remembered.

    Pages of no project (help, account, errors) show the project visited last, or the person's only one.
    """
    held: Membership | None = getattr(request, "membership", None)
    if held is None:
        return _last_membership(request)
    name = str(held.project.uuid)
    if request.session.get(LAST) != name:
        request.session[LAST] = name
    return held


def _last_membership(request: HttpRequest) -> Membership | None:
    user = getattr(request, "user", None)  # none where a request is refused early
    at_home = request.resolver_match is not None and request.resolver_match.view_name == "home"
    if user is None or not user.is_authenticated or at_home:
        return None
    held: list[Membership] = list(user.memberships.select_related("project").order_by("pk"))
    last = request.session.get(LAST)
    visited = next((membership for membership in held if str(membership.project.uuid) == last), None)
    return held[0] if visited is None and len(held) == 1 else visited


def _is_current(label: str, url: str, path: str) -> bool:
    return path.startswith(SETTINGS if label == "Settings" else url)
