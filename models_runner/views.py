"""Pages of runs and their scores."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import STAFF, MemberRequest, grant, post_only, project_page
from annotation.models import Project
from judging.models import Release
from models_runner import services
from models_runner.models import Run
from models_runner.retrieval.metrics.ndcg_iou import Convention
from models_runner.retrieval.metrics.report import KS, MUS


@project_page(STAFF)
def runs(request: MemberRequest, project: Project) -> HttpResponse:
    """Runs of the project with NDCG@K,IoU>=mu under one convention."""
    known = [convention.value for convention in Convention]
    convention = request.GET.get("convention", known[0])
    if convention not in known:
        convention = known[0]
    measures = [(k, mu) for k in KS for mu in MUS]
    rows = []
    for run in project.runs.select_related("release").prefetch_related("scores"):
        values = {(s.k, s.mu): s.value for s in run.scores.all() if s.convention == convention}
        rows.append((run, [values.get(measure) for measure in measures]))
    ready = project.releases.filter(state=Release.State.READY)
    context = {"rows": rows, "ks": KS, "mus": MUS, "convention": convention, "conventions": known, "ready": ready}
    return render(request, "models_runner/runs.html", context)


@project_page(STAFF)
@post_only("models_runner:runs")
def similarity_run_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Make the similarity run of the newest release."""
    release = project.releases.filter(state=Release.State.READY).first()
    if release is None:
        messages.error(request, "Make a release first: a run is scored on one.")
    else:
        services.similarity_runs_request(release=release, actor=request.user)
        messages.success(request, f"The similarity run on release {release.version} is being made.")
    return redirect("models_runner:runs", project.uuid)


@login_required
def run_download(request: HttpRequest, run_uuid: UUID) -> FileResponse:
    run = get_object_or_404(Run.objects.select_related("project"), uuid=run_uuid)
    grant(request, run.project, STAFF)
    if run.state != Run.State.SCORED:
        raise Http404
    return FileResponse(run.file.open("rb"), as_attachment=True, filename=f"{run.system}.{run.split}.json")
