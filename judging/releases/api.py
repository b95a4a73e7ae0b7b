"""Judgments and releases for programs: made, watched, fetched."""

from typing import Any
from uuid import UUID

from django.http import FileResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts.access import LEAD, STAFF, grant_by, person_of
from core.api import ApiView, KeyField, Nothing, Pages, YesNoField, body_of, paged
from core.api import Problem as REFUSED
from judging.models import Release
from judging.releases.selectors import judgments_csv, release_file, release_granted
from judging.releases.services import release_create, release_retry


class ArchiveOutput(serializers.Serializer[Any]):
    """The archive, at an address that opens with the same token."""

    url = serializers.URLField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()


class ReleaseOutput(serializers.ModelSerializer[Release]):
    """``done`` and ``total`` count what ``step`` is at; the archive is null until the release is ready."""

    archive = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()

    class Meta:
        model = Release
        fields = [
            *("uuid", "version", "state", "step", "done", "total", "error"),
            *("includes_pilot", "is_anonymised", "is_partial"),
            *("counts", "archive", "content_sha256", "created_at", "state_at"),
        ]

    @extend_schema_field(ArchiveOutput(allow_null=True))
    def get_archive(self, row: Release) -> dict[str, Any] | None:
        if row.state != Release.State.READY:
            return None
        url = reverse("api:release-zip", [row.uuid], request=self.context["request"])
        return {"url": url, "bytes": row.archive_bytes, "sha256": row.archive_sha256}

    def get_counts(self, row: Release) -> dict[str, Any]:
        counts: dict[str, Any] = row.manifest.get("counts", {})
        return counts


class ReleaseInput(serializers.Serializer[Any]):
    key = KeyField(required=False, help_text="Any UUID: sent again with it, a request is answered as the first time.")
    includes_pilot = YesNoField(required=False, help_text="Pilots are left out unless this says yes.")
    is_anonymised = YesNoField(required=False, help_text="Annotators get numbers of this release alone, at random.")


class Releases(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="releases", responses={200: ReleaseOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Releases of the project, newest first, and how far those at work are."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, project.releases.all(), ReleaseOutput)

    @extend_schema(
        operation_id="release_create",
        request=ReleaseInput,
        responses={201: ReleaseOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Have a worker make a release of what is judged: ask until its state says ready. For leads."""
        project = grant_by(request, project_uuid, LEAD).project
        release = release_create(project=project, actor=person_of(request), **body_of(request, ReleaseInput))
        return Response(ReleaseOutput(release, context={"request": request}).data, status=201)


class OneRelease(ApiView):
    @extend_schema(operation_id="release", responses={200: ReleaseOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, release_uuid: UUID) -> Response:
        """One release: how far it is, its counts, its archive."""
        release = release_granted(request._request, release_uuid)
        return Response(ReleaseOutput(release, context={"request": request}).data)


class RetryRelease(ApiView):
    @extend_schema(
        operation_id="release_retry",
        request=Nothing,
        responses={200: ReleaseOutput, **dict.fromkeys((403, 404, 409, 422), REFUSED)},
    )
    def post(self, request: Request, release_uuid: UUID) -> Response:
        """Build a release again that failed. For leads."""
        release = release_granted(request._request, release_uuid, LEAD)
        body_of(request, Nothing)
        release_retry(release=release, actor=person_of(request))
        release.refresh_from_db()
        return Response(ReleaseOutput(release, context={"request": request}).data)


class ReleaseZip(ApiView):
    @extend_schema(
        operation_id="release_zip",
        responses={(200, "application/zip"): OpenApiTypes.BINARY, 403: REFUSED, 404: REFUSED, 409: REFUSED},
    )
    def get(self, request: Request, release_uuid: UUID) -> FileResponse:
        """The archive, once the release is ready."""
        return release_file(request._request, release_uuid)


class JudgmentsCsv(ApiView):
    @extend_schema(
        operation_id="judgments_csv", responses={(200, "text/csv"): OpenApiTypes.BINARY, 403: REFUSED, 404: REFUSED}
    )
    def get(self, request: Request, project_uuid: UUID) -> StreamingHttpResponse:
        """All final grades as they are now, released or not, by annotator number."""
        return judgments_csv(request._request, grant_by(request, project_uuid, STAFF).project)
