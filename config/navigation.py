"""What the header offers: the pages of the viewer's role in the project at hand."""

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.urls import reverse

from annotation.models import Membership

ANNOTATOR_PAGES = [("Judge", "judging:desk"), ("My grades", "judging:own-grades"), ("Guideline", "judging:guideline")]
STAFF_PAGES = [
    ("Overview", "judging:overview"),
    ("Review", "judging:review-queue"),
    ("Queries", "judging:queries"),
    ("Corpus", "annotation:corpus"),
    ("Exams", "judging:exams"),
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
    return ANNOTATOR_PAGES if membership.role == Membership.Role.ANNOTATOR else STAFF_PAGES


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
