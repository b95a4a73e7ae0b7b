"""Bringing a run, and the page of one run."""

import mimetypes
from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.access import RUNNERS, MemberRequest, post_only, project_page
from accounts.models import Membership, Project, User
from core.exceptions import NotPossible, StorageAway
from core.files import file_answer, receive_on_disk
from models_runner.leaderboard.forms import SPLITS, RunForm, ready_releases
from models_runner.leaderboard.selectors.runs import run_granted, run_withdrawable
from models_runner.leaderboard.selectors.shown_scores import ScoreView, sees_all
from models_runner.leaderboard.services import runs
from models_runner.leaderboard.services.participants import leaderboard_of
from models_runner.leaderboard.services.runs import run_upload, upload_check, upload_possible_at, uploads_in_all
from models_runner.models import Run
from moment_retrieval.formats import Form


@csrf_exempt  # its token stands in the body, which is read only after the file's way is laid; see below
@project_page(RUNNERS)
def run_new(request: MemberRequest, project: Project) -> HttpResponse:
    """The form for a run; the file goes into a temporary one, piece by piece."""
    receive_on_disk(request, most_mb=settings.RUN_MAX_MB, instead="pack it with gzip")
    if request.method == "POST" and (refused := _refused_unread(request, project)):
        return refused
    answer: HttpResponse = _run_form(request, project)
    return answer


def _refused_unread(request: MemberRequest, project: Project) -> HttpResponse | None:
    """The answer to somebody who may not upload now: nothing of the body is read, so its token is not asked for."""
    try:
        upload_check(request.membership, timezone.now())
    except NotPossible as error:
        return _form_page(request, project, RunForm(project=project), 409, refusal=str(error))
    return None


@csrf_protect
def _run_form(request: MemberRequest, project: Project) -> HttpResponse:
    if request.method != "POST":
        return _form_page(request, project, RunForm(project=project), 200)
    form = RunForm(request.POST, request.FILES, project=project)
    if not form.is_valid():
        return _form_page(request, project, form, 422)
    try:
        run = run_upload(membership=request.membership, **form.values())
    except (NotPossible, StorageAway) as error:
        form.add_error(None, str(error))
        return _form_page(request, project, form, error.status)
    return redirect("models_runner:run", run.uuid)


def _form_page(request: MemberRequest, project: Project, form: RunForm, status: int, refusal: str = "") -> HttpResponse:
    now, membership, settings_of_project = timezone.now(), request.membership, leaderboard_of(project)
    context = {
        "form": form,
        "refusal": refusal,
        "most_mb": settings.RUN_MAX_MB,
        "forms": [known.value for known in Form],
        "ready": ready_releases(project).exists(),
        "settings": settings_of_project,
        "limited": membership.role == Membership.Role.PARTICIPANT,
        "possible_at": upload_possible_at(membership, now),
        "in_all": [
            (split, uploads_in_all(membership, split)) for split, _ in SPLITS if settings_of_project.hides(split)
        ],
        "now": now,
    }
    return render(request, "models_runner/leaderboard/run_new.html", context, status=status)


@login_required
def run_page(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """One run: how far it is, what is odd about it, and its scores on every release."""
    run, membership = run_granted(request, run_uuid)
    view = ScoreView(membership, run.split)
    scorings = run.scorings.select_related("release", "run").prefetch_related("scores").order_by("-release__version")
    shown = [(scoring, view.shown(scoring, scoring.scores.all()), view.refusal(scoring)) for scoring in scorings]
    context = {"run": run, "scorings": shown, "is_blind": view.is_blind, "staff": sees_all(membership)}
    context["may_withdraw"] = run.owner_id and (membership.role == "lead" or run.owner_id == membership.user_id)
    return render(request, "models_runner/leaderboard/run.html", context)


@login_required
def run_download(request: HttpRequest, run_uuid: UUID) -> HttpResponseBase:
    """The file as it was brought, to its owner, leads and admins."""
    run, _ = run_granted(request, run_uuid)
    if run.state != Run.State.SCORED:
        raise Http404
    name = run.file_name if run.owner_id else f"{run.system}.{run.split}.json"
    kind, packed = mimetypes.guess_type(name)
    kind = "application/gzip" if packed == "gzip" else kind or "application/octet-stream"
    return file_answer(request, run.file, content_type=kind, filename=name)


@login_required
@post_only("models_runner:run")
def run_withdraw(request: HttpRequest, run_uuid: UUID) -> HttpResponse:
    """Its owner or a lead takes a run off the leaderboard."""
    run = run_withdrawable(request, run_uuid)
    try:
        runs.run_withdraw(run=run, actor=cast(User, request.user), reason=request.POST.get("reason", ""))
        messages.success(request, "Withdrawn. Its name is free again.")
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect("models_runner:run", run.uuid)
