"""What participants are given, and what leads set for them."""

from collections.abc import Iterator
from typing import IO
from uuid import UUID
from zipfile import ZipFile

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import LEAD, RUNNERS, MemberRequest, grant, project_page
from accounts.models import Project
from judging.models import Release
from judging.releases.selectors import archive_opened
from models_runner.leaderboard import files as leaderboard_files
from models_runner.leaderboard.forms import LeaderboardForm, ready_releases
from models_runner.leaderboard.services.participants import leaderboard_change, leaderboard_of


@project_page(RUNNERS)
def files(request: MemberRequest, project: Project) -> HttpResponse:
    """The files of every release that tell no hidden label."""
    settings = leaderboard_of(project)
    listed = [(release, leaderboard_files.listed(release, settings)) for release in ready_releases(project)]
    return render(request, "models_runner/leaderboard/files.html", {"releases": listed, "settings": settings})


@login_required
def file(request: HttpRequest, release_uuid: UUID, name: str) -> FileResponse:
    """One file of a release, straight from its archive."""
    release = get_object_or_404(Release.objects.select_related("project"), uuid=release_uuid)
    grant(request, release.project, RUNNERS)
    settings = leaderboard_of(release.project)
    if release.state != Release.State.READY or name not in {
        each.name for each in leaderboard_files.listed(release, settings)
    }:
        raise Http404
    filename = f"release-{release.version}-{name}"
    if leaderboard_files.is_made(name):
        return FileResponse(leaderboard_files.queries_json(release, name), as_attachment=True, filename=filename)
    archive = ZipFile(archive_opened(release))
    return FileResponse(_pieces(archive, archive.open(name)), as_attachment=True, filename=filename)


def _pieces(archive: ZipFile, member: IO[bytes]) -> Iterator[bytes]:
    with archive, member:
        while piece := member.read(1 << 16):
            yield piece


@project_page(LEAD)
def settings(request: MemberRequest, project: Project) -> HttpResponse:
    """What participants never see, and how often they upload."""
    held = leaderboard_of(project)
    initial = {name: getattr(held, name) for name in LeaderboardForm.base_fields}
    form = LeaderboardForm(request.POST if request.method == "POST" else None, initial=initial)
    if request.method == "POST" and form.is_valid():
        leaderboard_change(project=project, actor=request.user, **form.cleaned_data)
        messages.success(request, "Saved. It holds from now on.")
        return redirect("models_runner:settings", project.uuid)
    people = project.memberships.filter(role="participant").count()
    fields = [field for field in form if not field.name.startswith("hides")]
    context = {"form": form, "fields": fields, "participants": people}
    return render(request, "models_runner/leaderboard/settings.html", context, status=422 if form.errors else 200)
