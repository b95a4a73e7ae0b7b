"""Corpora for programs: what there is, files of annotations with their check and their yes, videos in pieces."""

from functools import partial
from typing import Any, cast
from uuid import UUID

from django.http import FileResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiRequest, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts.access import STAFF, grant, grant_by, grant_staff, person_of
from annotation.corpora import tus
from annotation.corpora.exporters import EXPORTS
from annotation.corpora.exporters.base import JSON, JSON_LINES
from annotation.corpora.forms import ExportForm, ImportForm, SubtitlesForm
from annotation.corpora.importers import FORMATS
from annotation.corpora.selectors import corpora_of, corpus_file
from annotation.corpora.services import imports, video_uploads
from annotation.corpora.services.subtitles import subtitles_set
from annotation.models import CorpusImport, VideoUpload
from core.api import (
    ApiView,
    FileView,
    Invalid,
    Nothing,
    Pages,
    Problem,
    YesNoField,
    body_of,
    form_data_of,
    form_values,
    paged,
)
from core.uploads import first_warnings, report_download


class ProjectNameOutput(serializers.Serializer[Any]):
    uuid = serializers.UUIDField()
    name = serializers.CharField()


class CorpusOutput(serializers.Serializer[Any]):
    """A corpus with what it holds, and your projects over it."""

    uuid = serializers.UUIDField(source="corpus.uuid")
    name = serializers.CharField(source="corpus.name")
    videos = serializers.IntegerField()
    moments = serializers.IntegerField()
    descriptions = serializers.IntegerField()
    subtitles = serializers.IntegerField()
    projects = ProjectNameOutput(many=True)


class ImportOutput(serializers.ModelSerializer[CorpusImport]):
    """A file on its way: ``counts`` are of what its check found, and ``report`` lists the lines worth a look."""

    corpus = serializers.CharField(source="corpus_name")
    report = serializers.SerializerMethodField(help_text="Address of the report as CSV; null until there is one.")
    warnings = serializers.SerializerMethodField(help_text="The first lines of the report.")

    class Meta:
        model = CorpusImport
        fields = [
            *("uuid", "corpus", "format", "source_split", "clip", "file_name", "state", "bytes_read", "bytes_total"),
            *("counts", "preview", "warnings", "report", "error", "created_at", "updated_at"),
        ]

    @extend_schema_field(serializers.URLField(allow_null=True))
    def get_report(self, row: CorpusImport) -> str | None:
        return reverse("api:import-report", [row.uuid], request=self.context["request"]) if row.report else None

    @extend_schema_field(serializers.ListField(child=serializers.DictField(child=serializers.CharField())))
    def get_warnings(self, row: CorpusImport) -> list[dict[str, str]]:
        return first_warnings(row)


class ImportInput(serializers.Serializer[Any]):
    """A form with a file of annotations."""

    file = serializers.FileField(help_text="Plain, .gz, or alone in a .zip.")
    durations = serializers.FileField(required=False, help_text="A table of video lengths, where the file has none.")
    corpus_name = serializers.CharField(max_length=200, help_text="A new name, or that of a corpus of yours.")
    format = serializers.ChoiceField(list(FORMATS), required=False, help_text="Left out, the file says so.")
    source_split = serializers.CharField(max_length=40, required=False)
    clip = serializers.BooleanField(required=False, help_text="Cut windows that end after their video.")


class Confirmation(serializers.Serializer[Any]):
    skip_bad = YesNoField(required=False, help_text="Import the rest of a file that has bad lines.")


class VideoUploadOutput(serializers.ModelSerializer[VideoUpload]):
    """A video on its way, and for a day after that what became of it: ``offset`` of ``size`` bytes are here."""

    video = serializers.UUIDField(source="video.uuid", default=None, allow_null=True)
    replaces = serializers.UUIDField(source="replaces.uuid", default=None, allow_null=True)

    class Meta:
        model = VideoUpload
        fields = [
            *("uuid", "file_name", "size", "modified_ms", "offset", "state", "error", "video", "replaces"),
            "subtitles",
            "expires_at",
        ]


class SubtitlesInput(serializers.Serializer[Any]):
    """A form with a file of subtitles."""

    file = serializers.FileField(help_text=".srt or .vtt, in UTF-8, named after its video.")


class SubtitlesOutput(serializers.Serializer[Any]):
    """How many subtitles a video has got, and how many it had before; those are replaced."""

    video = serializers.UUIDField(source="video.uuid")
    added = serializers.IntegerField()
    replaced = serializers.IntegerField()


class Corpora(ApiView):
    @extend_schema(operation_id="corpora", responses={200: CorpusOutput(many=True), 403: Problem})
    def get(self, request: Request) -> Response:
        """The corpora of your projects and imports, with what they hold."""
        grant_staff(person_of(request))
        return Response(CorpusOutput(corpora_of(person_of(request)), many=True).data)


class Export(ApiView):
    @extend_schema(
        operation_id="corpus_export",
        parameters=[
            OpenApiParameter("form", str, required=True, enum=list(EXPORTS), description="Which form the file has."),
            OpenApiParameter("split", str, description="Only videos of this source split; left out: all."),
        ],
        responses={
            (200, JSON_LINES): OpenApiTypes.BINARY,
            (200, JSON): OpenApiTypes.BINARY,
            **dict.fromkeys((403, 404, 409, 422), Problem),
        },
    )
    def get(self, request: Request, project_uuid: UUID) -> StreamingHttpResponse:
        """The project's corpus as TVR's or TVC's file, its table of video lengths, or its subtitles."""
        corpus = grant_by(request, project_uuid, STAFF).project.dataset.corpus
        query = cast(QueryDict, request.query_params).dict()
        if unknown := query.keys() - ExportForm.base_fields.keys():
            raise Invalid(f"There is no parameter {min(unknown)[:40]!r} here.")
        return corpus_file(corpus, **form_values(ExportForm(query)))


class Imports(FileView):
    limit, instead = "IMPORT_MAX_MB", "import it with manage.py import_corpus"
    pagination_class = Pages

    @extend_schema(operation_id="corpus_imports", responses={200: ImportOutput(many=True), 403: Problem})
    def get(self, request: Request) -> Response:
        """Your imports, newest first."""
        grant_staff(person_of(request))
        return paged(request, self, person_of(request).corpus_imports.all(), ImportOutput)

    @extend_schema(
        operation_id="corpus_import_upload",
        request={"multipart/form-data": ImportInput},
        responses={201: ImportOutput, **dict.fromkeys((400, 403, 409, 413, 415, 422), Problem)},
    )
    def post(self, request: Request) -> Response:
        """Send a file of annotations. A worker checks it: ask until its state says checked, then confirm it."""
        grant_staff(person_of(request))
        values = form_values(ImportForm(form_data_of(request, ImportForm), request.FILES))
        row = imports.corpus_import_create(actor=person_of(request), **values)
        return Response(ImportOutput(row, context={"request": request}).data, status=201)


CHANGED: dict[int, Any] = {200: ImportOutput, **dict.fromkeys((403, 404, 409, 422), Problem)}


def own_import(request: Request, import_uuid: UUID) -> CorpusImport:
    """Return an import of the asker's; 403 for whoever leads and administers nothing."""
    grant_staff(person_of(request))
    return get_object_or_404(CorpusImport, uuid=import_uuid, owner=person_of(request))


class OneImport(ApiView):
    @extend_schema(operation_id="corpus_import", responses={200: ImportOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, import_uuid: UUID) -> Response:
        """How far one file is, and what its check found."""
        return Response(ImportOutput(own_import(request, import_uuid), context={"request": request}).data)


class ConfirmImport(ApiView):
    @extend_schema(operation_id="corpus_import_confirm", request=Confirmation, responses=CHANGED)
    def post(self, request: Request, import_uuid: UUID) -> Response:
        """Say yes to a checked file: a worker imports all of it, or nothing."""
        row = own_import(request, import_uuid)
        skip_bad = body_of(request, Confirmation).get("skip_bad", False)
        imports.IMPORTS.confirm(row, actor=person_of(request), skip_bad=skip_bad)
        row.refresh_from_db()
        return Response(ImportOutput(row, context={"request": request}).data)


class DiscardImport(ApiView):
    @extend_schema(operation_id="corpus_import_discard", request=Nothing, responses=CHANGED)
    def post(self, request: Request, import_uuid: UUID) -> Response:
        """Discard a checked file; nothing is imported."""
        row = own_import(request, import_uuid)
        body_of(request, Nothing)
        imports.IMPORTS.discard(row, actor=person_of(request))
        row.refresh_from_db()
        return Response(ImportOutput(row, context={"request": request}).data)


class ImportReport(ApiView):
    @extend_schema(
        operation_id="corpus_import_report",
        responses={(200, "text/csv"): OpenApiTypes.BINARY, 403: Problem, 404: Problem},
    )
    def get(self, request: Request, import_uuid: UUID) -> FileResponse:
        """The whole report of an import, once it is checked."""
        return report_download(own_import(request, import_uuid))


NAME_EXAMPLE = {"schema": {"type": "string"}, "example": 'form-data; name="file"; filename="film.srt"'}
NAMED_FILE = {"file": {"headers": {"Content-Disposition": NAME_EXAMPLE}}}


class Subtitles(FileView):
    limit, instead = "IMPORT_MAX_MB", "split it: subtitles are texts"

    @extend_schema(
        operation_id="subtitles_set",
        request={"multipart/form-data": OpenApiRequest(SubtitlesInput, encoding=NAMED_FILE)},
        responses={200: SubtitlesOutput, **dict.fromkeys((400, 403, 404, 409, 413, 415, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Give the video that a file is named after the subtitles in it; those it has are replaced. With a wrong line
        nothing changes; 409 while the video is being uploaded."""
        project = grant_by(request, project_uuid, STAFF).project
        file = form_values(SubtitlesForm(form_data_of(request, SubtitlesForm), request.FILES))["file"]
        result = subtitles_set(project=project, file_name=file.name, content=file.read(), actor=person_of(request))
        return Response(SubtitlesOutput(result).data)


class TusView(ApiView):
    """An endpoint that speaks tus: what it takes and says stands in headers."""

    longest_body = None  # a piece has a limit of its own

    def finalize_response(self, *args: Any, **kwargs: Any) -> Any:
        response: Any = super().finalize_response(*args, **kwargs)
        for name, value in tus.headers().items():
            response[name] = value
        return response


header = partial(OpenApiParameter, location=OpenApiParameter.HEADER)
METADATA = (
    "``filename`` and ``modified``, in milliseconds since 1970, each with its value in base64; the latter as you like. "
    "``replaces``, the UUID of a video, gives that one the file, of the same length; for leads."
)


class VideoUploads(TusView):
    pagination_class = Pages

    @extend_schema(operation_id="video_uploads", responses={200: VideoUploadOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Videos on their way into the corpus, and those that arrived or failed within a day, newest first."""
        corpus = grant_by(request, project_uuid, STAFF).project.dataset.corpus
        return paged(request, self, corpus.video_uploads.select_related("video", "replaces"), VideoUploadOutput)

    @extend_schema(
        operation_id="video_upload_begin",
        request=None,
        parameters=[
            header("Upload-Length", int, required=True, description="Bytes of the whole file."),
            header("Upload-Metadata", str, required=True, description=METADATA),
        ],
        responses={201: VideoUploadOutput, **dict.fromkeys((400, 403, 409, 412, 413), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Begin the upload of one video by tus 1.0.0; the header Location says where its pieces go."""
        membership = grant_by(request, project_uuid, STAFF)
        row = tus.upload_begin(request._request, membership, person_of(request))
        location = reverse("api:video-upload", [row.uuid], request=request)
        return Response(VideoUploadOutput(row).data, status=201, headers={"Location": location, **tus.state_of(row)})


class OneVideoUpload(TusView):
    @extend_schema(operation_id="video_upload", responses={200: VideoUploadOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, upload_uuid: UUID) -> Response:
        """How far one upload is, and the video that it became; HEAD says in headers where it goes on."""
        return Response(VideoUploadOutput(self._granted(request, upload_uuid)).data)

    def head(self, request: Request, upload_uuid: UUID) -> Response:
        return Response(headers=tus.state_to_go_on(request._request, self._granted(request, upload_uuid)))

    @extend_schema(
        operation_id="video_piece",
        request={tus.PIECES: OpenApiTypes.BINARY},
        parameters=[header("Upload-Offset", int, required=True, description="First byte of the piece in the file.")],
        responses={204: None, **dict.fromkeys((400, 403, 404, 409, 410, 412, 413, 415, 423), Problem)},
    )
    def patch(self, request: Request, upload_uuid: UUID) -> Response:
        """Send the next piece of the file, of 8 MB at most; with the last one a worker reads the video."""
        row = tus.piece_add(request._request, self._granted(request, upload_uuid))
        return Response(status=204, headers=tus.state_of(row))

    @extend_schema(
        operation_id="video_upload_discard", responses={204: None, **dict.fromkeys((403, 404, 409), Problem)}
    )
    def delete(self, request: Request, upload_uuid: UUID) -> HttpResponseBase:
        """Discard what is here of a file; a video that it became stays."""
        video_uploads.video_upload_discard(upload=self._granted(request, upload_uuid))
        return Response(status=204)

    def _granted(self, request: Request, upload_uuid: UUID) -> VideoUpload:
        row = get_object_or_404(VideoUpload.objects.select_related("project", "video", "replaces"), uuid=upload_uuid)
        grant(request, row.project, STAFF)
        return row
