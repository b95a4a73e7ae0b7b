"""The page of pseudo training sets: order one, watch it, download it, discard it."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from annotation.captions.selectors import captions_to_train_on
from annotation.models import TrainSet
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity.base import SimilarityMissing
from annotation.train_sets import services
from annotation.train_sets.models import MOST_DEPTH, TYPES
from core.exceptions import NotPossible
from core.files import file_answer
from core.lists import page_of

PAGE = "annotation:train-sets"
OFFERED = 40
OUT_OF_RANGE = f"N is a whole number from 1 to {MOST_DEPTH:,}."


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


@project_action(STAFF, back=PAGE)
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
    rows = page_of(request, project.train_sets.order_by("-pk"))
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


@row_page(TrainSet.objects.select_related("project"), STAFF)
def discard(request: MemberRequest, row: TrainSet) -> HttpResponse:
    """Ask, then remove a training set and its files."""
    if request.method != "POST":
        return render(request, "annotation/train_sets/discard.html", {"row": row})
    services.train_set_discard(train_set=row, actor=request.user)
    messages.success(request, f"The training set N = {row.depth} is gone.")
    return redirect(PAGE, row.project.uuid)


def _download(form: str) -> Callable[..., HttpResponseBase]:
    """Make the view that sends the file of a set that is done, read from the storage as it is sent."""

    @row_page(TrainSet.objects.filter(state=TrainSet.State.DONE).select_related("project"), STAFF)
    def page(request: MemberRequest, row: TrainSet) -> HttpResponseBase:
        return file_answer(request, getattr(row, form), content_type=TYPES[form], filename=f"{row.name}.{form}")

    return page


download_json, download_parquet = _download("json"), _download("parquet")
