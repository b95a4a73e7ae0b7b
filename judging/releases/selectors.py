"""Releases and grades, to those who may read them, and as files that are sent."""

from uuid import UUID

from django.db.models import QuerySet
from django.http import FileResponse, Http404, HttpRequest, StreamingHttpResponse
from django.shortcuts import get_object_or_404

from accounts.access import STAFF, grant
from accounts.models import Membership, Project
from judging.models import Release
from judging.releases.files import archive_opened
from judging.releases.judgments import judgments_csv


def release_granted(request: HttpRequest, release_uuid: UUID, roles: frozenset[Membership.Role] = STAFF) -> Release:
    """Return the release; 404 for strangers, 403 for people of another role."""
    release = get_object_or_404(Release.objects.select_related("project__dataset__corpus"), uuid=release_uuid)
    grant(request, release.project, roles)
    return release


def ready_release(request: HttpRequest, release_uuid: UUID) -> Release:
    """Return the release as ``release_granted`` does; 404 while it has no archive."""
    release = release_granted(request, release_uuid)
    if release.state != Release.State.READY:
        raise Http404
    return release


def others(release: Release) -> QuerySet[Release]:
    """Return the other releases of the project that have an archive, newest first."""
    return release.project.releases.filter(state=Release.State.READY).exclude(pk=release.pk)


def release_file(request: HttpRequest, release_uuid: UUID) -> FileResponse:
    """Send the archive, as it was released: another of its name is not handed out."""
    release = ready_release(request, release_uuid)
    name = f"momentjudge-release-{release.version}.zip"
    return FileResponse(archive_opened(release), as_attachment=True, filename=name)


def judgments_csv_response(project: Project) -> StreamingHttpResponse:
    """Send all final grades of the project as they are read."""
    headers = {"Content-Disposition": 'attachment; filename="judgments.csv"'}
    return StreamingHttpResponse(judgments_csv(project), content_type="text/csv; charset=utf-8", headers=headers)
