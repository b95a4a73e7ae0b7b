"""Pages of ground truth of other forms: the list, one leaderboard with its runs, and uploads of both."""

import mimetypes
from collections.abc import Callable
from functools import partial, wraps
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models.fields.files import FieldFile
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from accounts.access import RUNNERS, STAFF, MemberRequest, RowView, post_only, project_page, row_page
from accounts.models import Project, User
from accounts.uploads import receives_file, save_form
from core.exceptions import NotPossible
from core.files import file_answer
from core.lists import csv_download, page_of
from models_runner.ground_truths import services
from models_runner.ground_truths.forms import GroundTruthForm, TruthRunForm
from models_runner.ground_truths.rules import ABOUT, MeasureFamily
from models_runner.ground_truths.selectors import (
    CSV_COLUMNS,
    csv_rows,
    may_withdraw,
    run_families,
    truth_check_visible,
    truth_run_granted,
    truth_run_withdrawable,
    truth_runs_visible_to,
    truth_table_of,
    truths_visible_to,
)
from models_runner.models import GroundTruth, TruthRun

LIST_PAGE, TRUTH_PAGE, RUN_PAGE = (f"models_runner:{name}" for name in ("ground-truths", "ground-truth", "truth-run"))
OWN_RUNS = 20
TRUTHS = GroundTruth.objects.select_related("project")


def truth_page(view: RowView[GroundTruth]) -> Callable[..., HttpResponseBase]:
    """Make a page of one ground truth, for leads and admins; for participants where it is public."""

    @wraps(view)
    def page(request: MemberRequest, truth: GroundTruth) -> HttpResponseBase:
        truth_check_visible(truth, request.membership)
        return view(request, truth)

    return row_page(TRUTHS, RUNNERS)(page)


@project_page(RUNNERS)
def ground_truths(request: MemberRequest, project: Project) -> HttpResponse:
    """All ground truths of other forms, newest first."""
    page = page_of(request, truths_visible_to(request.membership).order_by("-pk"))
    context = {"page": page, "staff": request.membership.has(STAFF), "at_work": any(row.is_at_work for row in page)}
    return render(request, "models_runner/ground_truths/ground_truths.html", context)


@project_page(STAFF)
@receives_file(limit="RUN_MAX_MB", instead="pack it with gzip")
def ground_truth_new(request: MemberRequest, project: Project) -> HttpResponse:
    """The form for a file of labels."""

    def page(form: forms.Form, status: int = 200) -> HttpResponse:
        context = {"labels_form": form, "most_mb": settings.RUN_MAX_MB}
        return render(request, "models_runner/ground_truths/new.html", context, status=status)

    if request.method != "POST":
        return page(GroundTruthForm())
    create = partial(services.ground_truth_create, project=project, actor=request.user)
    return save_form(GroundTruthForm(request.POST, request.FILES), create, page, TRUTH_PAGE)


@truth_page
def ground_truth(request: MemberRequest, truth: GroundTruth) -> HttpResponse:
    """The leaderboard of one ground truth."""
    membership = request.membership
    own = truth_runs_visible_to(truth, membership).filter(owner=request.user)[:OWN_RUNS]
    context: dict[str, object] = {
        "truth": truth,
        "staff": membership.has(STAFF),
        "own": own,
        "at_work": truth.is_at_work or any(run.is_at_work for run in own),
    }
    if truth.is_ready:
        table = truth_table_of(truth, membership, request.GET)
        context |= {"table": table, "about": ABOUT[MeasureFamily(table.family)]}
    return render(request, "models_runner/ground_truths/ground_truth.html", context)


@truth_page
def ground_truth_csv(request: MemberRequest, truth: GroundTruth) -> HttpResponse:
    """Every scored run by every measure."""
    return csv_download(f"ground-truth-{truth.uuid}.csv", CSV_COLUMNS, csv_rows(truth))


@truth_page
def ground_truth_file(request: MemberRequest, truth: GroundTruth) -> HttpResponseBase:
    """The labels as they were uploaded: to leads and admins, and where they are public to participants."""
    return _download(request, truth.file, truth.file_name)


def _download(request: HttpRequest, upload: FieldFile, name: str) -> HttpResponseBase:
    kind, packed = mimetypes.guess_type(name)
    kind = "application/gzip" if packed == "gzip" else kind or "application/octet-stream"
    return file_answer(request, upload, content_type=kind, filename=name)


@row_page(TRUTHS, STAFF)
def ground_truth_delete(request: MemberRequest, truth: GroundTruth) -> HttpResponse:
    """Ask, then delete a ground truth that no run stands on."""
    error = None
    if request.method == "POST":
        try:
            services.ground_truth_delete(truth=truth, actor=request.user)
        except NotPossible as refusal:
            error = refusal
        else:
            messages.success(request, f"The ground truth {truth.name} is deleted.")
            return redirect(LIST_PAGE, truth.project.uuid)
    context = {"truth": truth, "runs": truth.runs.exclude(state__in=TruthRun.ENDED), "error": error}
    return render(request, "models_runner/ground_truths/delete.html", context, status=409 if error else 200)


def _refused_unread(request: MemberRequest, truth: GroundTruth) -> HttpResponse | None:
    """Answer a person who may not upload now."""
    if not truth.is_ready:
        return redirect(TRUTH_PAGE, truth.uuid)
    try:
        services.truth_run_check(request.membership, truth, timezone.now())
    except NotPossible as error:
        return _run_form_page(request, truth, TruthRunForm(truth=truth), 409, refusal=str(error))
    return None


@truth_page
@receives_file(limit="RUN_MAX_MB", instead="pack it with gzip", refuse=_refused_unread)
def truth_run_new(request: MemberRequest, truth: GroundTruth) -> HttpResponse:
    """The form for a run: its measures, and how they are computed."""
    if not truth.is_ready:
        return redirect(TRUTH_PAGE, truth.uuid)
    page = partial(_run_form_page, request, truth)
    if request.method != "POST":
        return page(TruthRunForm(truth=truth))
    create = partial(services.truth_run_upload, membership=request.membership, truth=truth)
    return save_form(TruthRunForm(request.POST, request.FILES, truth=truth), create, page, RUN_PAGE)


def _run_form_page(
    request: MemberRequest, truth: GroundTruth, form: forms.Form, status: int = 200, refusal: str = ""
) -> HttpResponse:
    numbers = [form[name] for name in ("cutoffs", "thresholds", "nms", "convention", "gain") if name in form.fields]
    context = {"truth": truth, "form": form, "numbers": numbers, "refusal": refusal, "most_mb": settings.RUN_MAX_MB}
    return render(request, "models_runner/ground_truths/run_new.html", context, status=status)


@login_required
def truth_run(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """One run: how far it is, what is odd about it, and its scores."""
    run, membership = truth_run_granted(request, run_uuid)
    context = {
        "run": run,
        "truth": run.truth,
        "families": run_families(run),
        "staff": membership.has(STAFF),
        "may_withdraw": may_withdraw(run, membership),
    }
    return render(request, "models_runner/ground_truths/run.html", context)


@login_required
def truth_run_download(request: HttpRequest, run_uuid: UUID) -> HttpResponseBase:
    """The file as it was uploaded, to its owner, leads and admins."""
    run, _ = truth_run_granted(request, run_uuid)
    if not run.file:
        raise Http404
    return _download(request, run.file, run.file_name or "run")


@login_required
@post_only(RUN_PAGE)
def truth_run_withdraw(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """Its owner or a lead takes a run off the leaderboard."""
    run = truth_run_withdrawable(request, run_uuid)
    assert isinstance(request.user, User)
    try:
        services.truth_run_withdraw(run=run, actor=request.user, reason=request.POST.get("reason", ""))
        messages.success(request, "Withdrawn. Its name is free again.")
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect(RUN_PAGE, run.uuid)
