"""The audit: who decided what, and under which versions pairs were judged. For leads and admins."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from annotation.access import STAFF, MemberRequest, project_page
from annotation.models import AuditEvent, Membership, Project
from annotation.spreadsheets import csv_stream
from judging import selectors
from judging.audit_forms import SYSTEM, AuditForm
from judging.rules.audit_words import KINDS, in_words, kind_words, told
from judging.views.audit_links import link_of

PER_PAGE = 50
OUTSIDE = "somebody without a role here"
COLUMNS = ("at", "who", "action", "in_words", "object", "details")
VERSION_COLUMNS = ("guideline_version", "policy_version", "judgments", "pairs", "first_at", "last_at")
JUDGED_COLUMNS = (
    *("guideline_version", "policy_version", "query_id", "query", "batch", "rank", "pair", "annotator"),
    *("round", "grade", "source", "judged_at"),
)


class Line(NamedTuple):
    """One event as it is read."""

    event: AuditEvent
    who: str
    words: str
    link: tuple[str, str] | None
    details: list[tuple[str, str]]


@project_page(STAFF)
def audit(request: MemberRequest, project: Project) -> HttpResponse:
    """Who decided what, the newest first; to admins leads are numbers."""
    form = AuditForm(request.GET)
    after, before = (_uuid(request.GET.get(name, "")) for name in ("after", "before"))
    page = selectors.audit_page(project, form.sieve(), size=PER_PAGE, after=after, before=before)
    names = selectors.actor_names(project, to=request.membership.role)
    asked = {name: value for name, value in request.GET.items() if value and name in form.fields}
    context = {
        "page": page,
        "lines": [_line(event, project, names, request.membership.role) for event in page.events],
        "form": form,
        "asked": asked,
        "keep": urlencode(asked),
        "kinds": [(label, [(action, kind_words(action)) for action in actions]) for label, actions in KINDS.items()],
        "people": _people(project, names),
        "system": SYSTEM,
    }
    return render(request, "judging/audit.html", context)


def _line(event: AuditEvent, project: Project, names: dict[int, str], role: str) -> Line:
    details = [(name.replace("_", " "), told(value)) for name, value in event.data.items()]
    return Line(event, _who(event, names), in_words(event.action, event.data), link_of(event, project, role), details)


def _who(event: AuditEvent, names: dict[int, str]) -> str:
    return names.get(event.actor_id, OUTSIDE) if event.actor_id else "the system"


def _people(project: Project, names: dict[int, str]) -> list[tuple[str, str]]:
    """Who may have decided something, by account: staff, then annotators."""
    members = project.memberships.select_related("user").order_by("-role", "number", "pk")
    staff_first = sorted(members, key=lambda member: member.role == Membership.Role.ANNOTATOR)
    return [(str(member.user.uuid), names[member.user_id]) for member in staff_first]


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


@project_page(STAFF)
def audit_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    """Every event that was asked for, not only what fits a page."""
    events = selectors.audit_all(project, AuditForm(request.GET).sieve())
    names = selectors.actor_names(project, to=request.membership.role)
    rows = (_csv_row(event, names) for event in events)
    return csv_stream("audit.csv", COLUMNS, rows)


def _csv_row(event: AuditEvent, names: dict[int, str]) -> list[object]:
    details = json.dumps(event.data, cls=DjangoJSONEncoder, ensure_ascii=False)
    said = in_words(event.action, event.data)
    return [event.created_at.isoformat(), _who(event, names), event.action, said, event.subject or "", details]


@project_page(STAFF)
def versions(request: MemberRequest, project: Project) -> HttpResponse:
    """How much was judged under which versions; of one pair of them, what."""
    under = selectors.judged_under(project)
    shown = _asked_versions(request, under) if "guideline" in request.GET else None
    context: dict[str, Any] = {"under": under, "shown": shown, "total": sum(row.judgments for row in under)}
    if shown:
        judged = selectors.judgments_under(project, guideline=shown.guideline, policy=shown.policy)
        context["page"] = page = Paginator(judged, PER_PAGE).get_page(request.GET.get("page"))
        numbers = selectors.annotator_numbers(project)
        context["judged"] = [(judgment, numbers.get(judgment.annotator_id)) for judgment in page]
        context["keep"] = f"&guideline={shown.guideline or ''}&policy={shown.policy or ''}"
    return render(request, "judging/audit_versions.html", context)


def _asked_versions(request: MemberRequest, under: list[selectors.Versions]) -> selectors.Versions:
    guideline, policy = (_number(request.GET.get(name, "")) for name in ("guideline", "policy"))
    for row in under:
        if (row.guideline, row.policy) == (guideline, policy):
            return row
    raise Http404


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 10 else None


@project_page(STAFF)
def versions_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    """The counts; with ``guideline`` and ``policy``, every judgment given under these two."""
    under = selectors.judged_under(project)
    if "guideline" not in request.GET:
        return csv_stream("judged-under.csv", VERSION_COLUMNS, (_times(row) for row in under))
    shown = _asked_versions(request, under)
    return csv_stream("judgments-under.csv", JUDGED_COLUMNS, _judged_rows(project, shown))


def _times(row: selectors.Versions) -> list[object]:
    *counts, first, last = row
    return [*("" if count is None else count for count in counts), first.isoformat(), last.isoformat()]


def _judged_rows(project: Project, shown: selectors.Versions) -> Iterator[list[object]]:
    numbers = selectors.annotator_numbers(project)
    judged = selectors.judgments_under(project, guideline=shown.guideline, policy=shown.policy)
    for row in judged.iterator(chunk_size=2000):
        query = row.pair.batch.query
        yield [
            *(shown.guideline or "", shown.policy or "", query.number, query.text),
            *(row.pair.batch.number, row.pair.candidate.rank, row.pair.uuid, numbers.get(row.annotator_id, "")),
            *(row.round, row.grade, row.source, row.created_at.isoformat()),
        ]
