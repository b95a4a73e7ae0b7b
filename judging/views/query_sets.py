"""Query sets: what goes first, and what rests."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from annotation.exceptions import NotPossible
from annotation.models import NamedQuerySet, Project
from judging import selectors
from judging.forms import QuerySetChangeForm, QuerySetForm
from judging.services import query_sets as services


@project_page(STAFF)
def query_sets(request: MemberRequest, project: Project) -> HttpResponse:
    context = {
        "sets": selectors.query_sets_with_counts(project),
        "priorities": NamedQuerySet.Priority.choices,
        "outside": selectors.queries_outside_sets(project).count(),
        "form": QuerySetForm(),
        "may_decide": request.membership.role in LEAD,
    }
    return render(request, "judging/query_sets.html", context)


@project_page(LEAD)
@post_only("judging:query-sets")
def query_set_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = QuerySetForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
        return redirect("judging:query-sets", project.uuid)
    found = selectors.queries_matching(project, split=form.cleaned_data["split"], words=form.cleaned_data["words"])
    try:
        made = services.query_set_create(
            project=project, name=form.cleaned_data["name"], queries=found, actor=request.user
        )
    except NotPossible as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{made.name} holds {made.queries.count()} queries.")
    return redirect("judging:query-sets", project.uuid)


@login_required
@post_only("judging:query-set")
def query_set_change(request: HttpRequest, set_uuid: UUID) -> HttpResponse:
    held = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
    membership = grant(request, held.project, LEAD)
    form = QuerySetChangeForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
    else:
        paused = {"pause": True, "resume": False}.get(form.cleaned_data["pause"])
        pilot = {"yes": True, "no": False}.get(form.cleaned_data["pilot"])
        services.query_set_change(
            query_set=held,
            actor=membership.user,
            priority=form.cleaned_data["priority"],
            is_paused=paused,
            is_pilot=pilot,
        )
        held.refresh_from_db()
        state = ("paused" if held.is_paused else "open") + (", a pilot" if held.is_pilot else "")
        messages.success(request, f"{held.name}: priority {held.get_priority_display().lower()}, {state}.")
    return redirect("judging:query-sets", held.project.uuid)


@login_required
def query_set(request: HttpRequest, set_uuid: UUID) -> HttpResponse:
    """Where somebody who follows a set's address ends: its row among the others."""
    held = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
    grant(request, held.project, STAFF)
    return redirect("judging:query-sets", held.project.uuid)
