"""Who decided what, under which versions pairs were judged, and where each event's object is. For staff."""

import json
from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.serializers.json import DjangoJSONEncoder
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Membership, Project
from core.lists import csv_stream, page_of
from core.models import AuditEvent
from core.texts import uuid_or_none
from judging.audit.rules import (
    BY_SUBJECT,
    KINDS,
    OF_PEOPLE,
    OF_PROJECT,
    SENTENCES,
    Pages,
    in_words,
    kind_words,
    value_text,
)
from judging.audit.selectors import audit_all, audit_page, judged_under, judgments_under
from judging.guidelines.models import OF_PUBLISHED
from judging.people.selectors import actor_names
from judging.review.selectors import annotator_numbers

SYSTEM = "system"
ORDER = (*Membership.COMBINABLE, Membership.Role.PARTICIPANT, Membership.Role.ANNOTATOR)  # of people to choose from


class AuditForm(forms.Form):
    """A value that makes no sense asks for nothing."""

    who = forms.CharField(required=False, max_length=36)
    kind = forms.CharField(required=False, max_length=60)
    object = forms.UUIDField(required=False)
    since = forms.DateField(required=False)
    until = forms.DateField(required=False)
    q = forms.CharField(required=False, max_length=200)

    def clean_who(self) -> str:
        who = str(self.cleaned_data["who"])
        return who if who == SYSTEM or uuid_or_none(who) else ""

    def filters(self) -> tuple[dict[str, Any], str]:
        """Return the conditions on events and the words to look for, as ``audit_page`` takes them."""
        self.is_valid()
        values: dict[str, Any] = self.cleaned_data
        who, kind, until = values.get("who", ""), values.get("kind", ""), values.get("until")
        conditions = {
            "actor__isnull": who == SYSTEM,
            "actor__uuid": uuid_or_none(who),
            # one action, or all of a kind by its label
            "action__in": tuple(KINDS.get(kind, (kind,) if kind in SENTENCES else ())),
            "subject": values.get("object"),
            "created_at__gte": _begin(values.get("since")),
            "created_at__lt": _begin(until + timedelta(days=1)) if until else None,
        }
        return {name: value for name, value in conditions.items() if value}, values.get("q", "")


def _begin(day: Any) -> datetime | None:
    return timezone.make_aware(datetime.combine(day, time.min)) if day else None


def link_of(event: AuditEvent, project: Project, *, to_lead: bool) -> tuple[str, str] | None:
    """Address and name of a page about what was decided on; None where the viewer has none."""
    number = event.data.get("number")
    if event.action.startswith(("annotator.", "member.")):
        if not to_lead or not isinstance(number, int):
            return None
        return reverse("judging:person", args=[project.uuid, number]), f"Annotator {number}"
    if event.subject and (page := _page_of(BY_SUBJECT, event.action)):
        return reverse(page[0], args=[event.subject]), page[1]
    page = _page_of(OF_PROJECT | OF_PEOPLE if to_lead else OF_PROJECT, event.action)
    return (reverse(page[0], args=[project.uuid]), page[1]) if page else None


def _page_of(pages: Pages, action: str) -> tuple[str, str] | None:
    return next((page for beginnings, page in pages.items() if action.startswith(beginnings)), None)


PER_PAGE = 50
OUTSIDE = "somebody without a role here"
COLUMNS = ("at", "who", "action", "in_words", "object", "details")
VERSION_COLUMNS = ("guideline_version", "policy_version", "judgments", "pairs", "first_at", "last_at")
JUDGED_COLUMNS = (
    *("guideline_version", "policy_version", "query_id", "query", "batch", "rank", "pair", "annotator"),
    *("round", "grade", "source", "judged_at"),
)


@project_page(STAFF)
def audit(request: MemberRequest, project: Project) -> HttpResponse:
    """Who decided what, the newest first; to admins leads are numbers."""
    form = AuditForm(request.GET)
    after, before = (uuid_or_none(request.GET.get(name, "")) for name in ("after", "before"))
    page = audit_page(project, *form.filters(), size=PER_PAGE, after=after, before=before)
    names = actor_names(project, to_lead=request.membership.is_lead)
    parameters = {name: value for name, value in request.GET.items() if value and name in form.fields}
    members = project.memberships.select_related("user").order_by("number", "pk")
    staff_first = sorted(members, key=lambda member: ORDER.index(member.first_role))
    context = {
        "page": page,
        "lines": [_line(event, project, names, to_lead=request.membership.is_lead) for event in page.events],
        "form": form,
        "parameters": parameters,
        "keep": urlencode(parameters),
        "kinds": [(label, [(action, kind_words(action)) for action in actions]) for label, actions in KINDS.items()],
        "people": [(str(member.user.uuid), names[member.user_id]) for member in staff_first],
        "system": SYSTEM,
    }
    return render(request, "judging/audit/audit.html", context)


def _line(event: AuditEvent, project: Project, names: dict[int, str], *, to_lead: bool) -> dict[str, Any]:
    """One event as it is read."""
    names_now = [(OF_PUBLISHED.get(name, name), value) for name, value in event.data.items()]
    details = [(name.replace("_", " "), value_text(value)) for name, value in names_now]
    words, link = in_words(event.action, event.data), link_of(event, project, to_lead=to_lead)
    return {"event": event, "who": _who(event, names), "words": words, "link": link, "details": details}


def _who(event: AuditEvent, names: dict[int, str]) -> str:
    return names.get(event.actor_id, OUTSIDE) if event.actor_id else "the system"


@project_page(STAFF)
def audit_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    """Every event that was asked for, not only what fits a page."""
    names = actor_names(project, to_lead=request.membership.is_lead)
    rows = (_csv_row(event, names) for event in audit_all(project, *AuditForm(request.GET).filters()))
    return csv_stream("audit.csv", COLUMNS, rows)


def _csv_row(event: AuditEvent, names: dict[int, str]) -> list[object]:
    details = json.dumps(event.data, cls=DjangoJSONEncoder, ensure_ascii=False)
    sentence = in_words(event.action, event.data)
    return [event.created_at.isoformat(), _who(event, names), event.action, sentence, event.subject or "", details]


@project_page(STAFF)
def versions(request: MemberRequest, project: Project) -> HttpResponse:
    """How much was judged under which versions; of one pair of them, what."""
    under = judged_under(project)
    version_pair = _requested_versions(request, under) if "guideline" in request.GET else None
    context: dict[str, Any] = {"under": under, "shown": version_pair, "total": sum(row.judgments for row in under)}
    if version_pair:
        judged = judgments_under(project, version_pair)
        context["page"] = page = page_of(request, judged, PER_PAGE)
        numbers = annotator_numbers(project)
        context["judged"] = [(judgment, numbers.get(judgment.annotator_id)) for judgment in page]
    return render(request, "judging/audit/versions.html", context)


def _requested_versions(request: MemberRequest, under: list[Any]) -> Any:
    texts = (request.GET.get(name, "") for name in ("guideline", "policy"))
    guideline, policy = (int(text) if text.isdecimal() and len(text) < 10 else None for text in texts)
    for row in under:
        if (row.guideline, row.policy) == (guideline, policy):
            return row
    raise Http404


@project_page(STAFF)
def versions_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    """The counts; with ``guideline`` and ``policy``, every judgment given under these two."""
    under = judged_under(project)
    if "guideline" not in request.GET:
        rows = (
            [row.guideline or "", row.policy or "", row.judgments, row.pairs]
            + [at.isoformat() for at in (row.first_at, row.last_at)]
            for row in under
        )
        return csv_stream("judged-under.csv", VERSION_COLUMNS, rows)
    version_pair = _requested_versions(request, under)
    return csv_stream("judgments-under.csv", JUDGED_COLUMNS, _judged_rows(project, version_pair))


def _judged_rows(project: Project, version_pair: Any) -> Iterator[list[object]]:
    numbers = annotator_numbers(project)
    for row in judgments_under(project, version_pair).iterator(chunk_size=2000):
        query = row.pair.batch.query
        yield [
            *(version_pair.guideline or "", version_pair.policy or "", query.number, query.text),
            *(row.pair.batch.number, row.pair.candidate.rank, row.pair.uuid, numbers.get(row.annotator_id, "")),
            *(row.round, row.grade, row.source, row.created_at.isoformat()),
        ]
