"""What the header offers: the pages of the viewer's role in the project at hand."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from annotation.models import Membership

ANNOTATOR_PAGES = [
    ("Judge", "judging:desk"),
    ("My grades", "judging:own-grades"),
    ("My hours", "judging:hours"),
    ("Guideline", "judging:guideline"),
]
LEAD_PAGES = [("Pay", "judging:pay")]  # money is no admin's
STAFF_PAGES = [
    ("Overview", "judging:overview"),
    ("Review", "judging:review-queue"),
    ("Queries", "judging:queries"),
    ("Corpus", "annotation:corpus"),
    ("Quality", "judging:flags"),
    ("Releases", "judging:releases"),
    ("Runs", "models_runner:runs"),
    ("Guideline", "judging:guideline"),
    ("Audit", "judging:audit"),
]


class Entry(NamedTuple):
    label: str
    url: str
    current: bool


def pages_of(membership: Membership) -> list[tuple[str, str]]:
    if membership.role == Membership.Role.ANNOTATOR:
        return ANNOTATOR_PAGES
    return [*STAFF_PAGES, *LEAD_PAGES] if membership.role == Membership.Role.LEAD else STAFF_PAGES


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``membership`` (set by the view through annotation.access) and the entries it opens."""
    membership: Membership | None = getattr(request, "membership", None)
    if membership is None:
        return {"entries": []}
    entries = [
        Entry(label, url := reverse(name, args=[membership.project.uuid]), request.path.startswith(url))
        for label, name in pages_of(membership)
    ]
    return {"membership": membership, "project": membership.project, "entries": entries}
