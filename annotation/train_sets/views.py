"""The page of pseudo training sets: order one, watch it, download it, discard it."""

from typing import cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Project, User
from annotation.captions.selectors import captions_to_train_on
from annotation.models import TrainSet
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity.base import SimilarityMissing
from annotation.train_sets import services
from annotation.train_sets.models import MOST_DEPTH
from core.exceptions import NotPossible
from core.files import file_answer

PER_PAGE = 20
PAGE = "annotation:train-sets"
OFFERED = 40
OUT_OF_RANGE = f"N is a whole number from 1 to {MOST_DEPTH:,}."
TYPES = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}


class StartForm(forms.Form):
    depth = forms.IntegerField(
        min_value=1,
        max_value=MOST_DEPTH,
        error_messages=dict.fromkeys(("required", "invalid", "min_value", "max_value"), OUT_OF_RANGE),
    )


@project_page(STAFF)
def train_sets(request: MemberRequest, project: Project) -> HttpResponse:
    """All training sets of the project, newest first, and the form for another."""
    return _page(request, project, StartForm(initial={"depth": OFFERED}))


@post_only(PAGE)
@project_page(STAFF)
def start(request: MemberRequest, project: Project) -> HttpResponse:
    """Write a training set in the background."""
    form = StartForm(request.POST)
    if not form.is_valid():
        return _page(request, project, form, status=422)
    try:
        services.train_set_start(project=project, depth=form.cleaned_data["depth"], actor=request.user)
    except (NotPossible, SimilarityMissing) as error:
        form.add_error(None, str(error))
        return _page(request, project, form, status=409)
    return redirect(PAGE, project.uuid)


def _page(request: MemberRequest, project: Project, form: StartForm, status: int = 200) -> HttpResponse:
    rows = Paginator(project.train_sets.order_by("-pk"), PER_PAGE).get_page(request.GET.get("page"))
    if request.htmx and request.method == "GET":  # a set asks how far it is
        return render(request, "annotation/train_sets/train_sets.html#sets", {"page": rows})
    context = {
        "page": rows,
        "form": form,
        "queries": queries_to_train_on(project.pk).count(),
        "moments": captions_to_train_on(project.dataset.corpus_id).values("moment").distinct().count(),
        "most": MOST_DEPTH,
    }
    return render(request, "annotation/train_sets/train_sets.html", context, status=status)


@login_required
def discard(request: HttpRequest, set_uuid: UUID) -> HttpResponse:
    """Ask, then remove a training set and its files."""
    row = _granted(request, set_uuid)
    if request.method != "POST":
        return render(request, "annotation/train_sets/discard.html", {"row": row})
    services.train_set_discard(train_set=row, actor=cast(User, request.user))
    messages.success(request, f"The training set N = {row.depth} is gone.")
    return redirect(PAGE, row.project.uuid)


@login_required
def json(request: HttpRequest, set_uuid: UUID) -> HttpResponseBase:
    return train_file(request, set_uuid, "json")


@login_required
def parquet(request: HttpRequest, set_uuid: UUID) -> HttpResponseBase:
    return train_file(request, set_uuid, "parquet")


def train_file(request: HttpRequest, set_uuid: UUID, form: str) -> HttpResponseBase:
    """One of the files, read from the storage as it is sent; 404 until they are written."""
    row = _granted(request, set_uuid)
    if row.state != TrainSet.State.DONE:
        raise Http404
    return file_answer(request, getattr(row, form), content_type=TYPES[form], filename=f"{row.name}.{form}")


def _granted(request: HttpRequest, set_uuid: UUID) -> TrainSet:
    row = get_object_or_404(TrainSet.objects.select_related("project"), uuid=set_uuid)
    grant(request, row.project, STAFF)
    return row
