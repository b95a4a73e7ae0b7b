"""Pages of a project's corpus, and of imports: the corpora within reach, uploading a file, its check, its report.

And the uploads of videos, which scripts speak tus 1.0.0 with: https://tus.io/protocols/resumable-upload.
"""

import binascii
import mimetypes
from base64 import b64decode
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import http_date

from accounts.access import STAFF, MemberRequest, project_page, row_page, staff_page
from accounts.models import Project, User
from accounts.uploads import IMPORTS_SHOWN, receives_file, save_form, upload_urls
from annotation.captions.services.captions import LONGEST
from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.selectors import (
    corpora_of,
    corpora_within_reach,
    moments_shown,
    next_step,
    projects_run_by,
    uploads_of,
    videos_shown,
)
from annotation.corpora.services import imports, video_uploads
from annotation.corpora.services.videos import VIDEO_SUFFIXES
from annotation.models import CorpusImport, Moment, Video, VideoUpload
from annotation.previews.services import poster_of
from core.exceptions import MomentJudgeError
from core.files import file_answer
from core.lists import page_of
from core.uploads import NameField, UploadField, first_warnings

MOST_DURATIONS_MB = 20
PER_PAGE, FAILURES_SHOWN = 24, 50
CACHED = "private, max-age=86400"
NO_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 180"><g fill="none" stroke="#8a94a6" stroke-width="3">'
    '<rect x="120" y="62" width="80" height="56" rx="6"/><path d="m150 78 24 12-24 12z"/></g></svg>'
)


class ImportForm(forms.Form):
    format = forms.ChoiceField(
        choices=[(form.name, form.label) for form in FORMATS.values()],
        required=False,
        error_messages={"invalid_choice": "This is none of the forms."},
    )
    file = UploadField(max_length=200)
    durations = UploadField(required=False, max_length=200)
    corpus_name = NameField(max_length=200, error_messages={"required": "Name the corpus."})
    source_split = forms.CharField(required=False, max_length=40)
    clip = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Where nobody said which form it is, the file says so."""
        values: dict[str, Any] = self.cleaned_data
        if not values.get("format") and not {"format", "file"} & set(self.errors):
            values["format"] = form_of(values["file"], values["file"].name)
            if not values["format"]:
                self.add_error("format", "The file does not tell its form. Say which it is.")
        return values

    def clean_durations(self) -> "UploadedFile[Any] | None":
        table: UploadedFile[Any] | None = self.cleaned_data["durations"]
        if table and (table.size or 0) > MOST_DURATIONS_MB * 2**20:
            raise forms.ValidationError(f"The table of video lengths is larger than {MOST_DURATIONS_MB} MB.")
        return table


class SpanForm(forms.Form):
    """A part of a video, in seconds."""

    at = forms.RegexField(r"^\d{1,6}(\.\d{1,3})?,\d{1,6}(\.\d{1,3})?$", strip=False)

    @property
    def span(self) -> tuple[float, float]:
        start, end = map(float, self.cleaned_data["at"].split(","))
        return start, end


@project_page(STAFF)
def corpus(request: MemberRequest, project: Project) -> HttpResponse:
    """Videos of the corpus with their moments, and what could not be cut."""
    words = request.GET.get("q", "").replace("\0", "").strip()
    moments = Moment.objects.filter(video__corpus=project.dataset.corpus_id)
    failures = moments.filter(preview_state=Moment.Preview.FAILED).select_related("video")
    uploads = uploads_of(project.dataset.corpus)
    context = {
        "page": page_of(request, videos_shown(project.dataset.corpus, words), PER_PAGE),
        "words": words,
        "failures": failures.order_by("video__name", "start_s")[:FAILURES_SHOWN],
        "counts": dict(moments.values_list("preview_state").annotate(n=Count("pk")).order_by()),
        "step": next_step(project),
        "unfinished": [row for row in uploads if row.state != VideoUpload.State.DONE],
        "added": [row for row in uploads if row.state == VideoUpload.State.DONE],
        "is_reading": any(row.state == VideoUpload.State.READING for row in uploads),
        "suffixes": ",".join(VIDEO_SUFFIXES),
        "most_mb": settings.VIDEO_MAX_MB,
        "piece_bytes": settings.VIDEO_PIECE_BYTES,
    }
    return render(request, "annotation/corpora/corpus.html", context)


@project_page(STAFF)
def video(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponse:
    """One video: player, moments, captions to correct, subtitles."""
    row = _video(project, video_uuid)
    context = {
        "video": row,
        "rows": moments_shown(project, row),
        "subtitles": row.subtitles.order_by("start_s", "pk"),
        "longest": LONGEST,
    }
    return render(request, "annotation/corpora/video.html", context)


@project_page(STAFF)
def video_file(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponseBase:
    """A video of the project, or the part that a player needs."""
    row = _video(project, video_uuid)
    if not row.file or not row.file.storage.exists(str(row.file.name)):
        raise Http404
    kind = mimetypes.guess_type(str(row.file.name))[0] or ""
    kind = kind if kind.startswith("video/") else "application/octet-stream"
    return file_answer(request, row.file, content_type=kind, cache=CACHED)


@project_page(STAFF)
def video_poster(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponse:
    """A picture that stands for a video, or for the part ``at=start,end`` of it; an empty frame where there is none."""
    span = SpanForm(request.GET)
    poster = poster_of(_video(project, video_uuid), span.span if span.is_valid() else None)
    if poster is None:
        return HttpResponse(NO_PICTURE, content_type="image/svg+xml", headers={"Cache-Control": "no-store"})
    return HttpResponse(poster, content_type="image/jpeg", headers={"Cache-Control": CACHED})


def _video(project: Project, uuid: UUID) -> Video:
    return get_object_or_404(Video, uuid=uuid, corpus=project.dataset.corpus_id)


TUS_VERSION = "1.0.0"
TUS = {
    "Tus-Resumable": TUS_VERSION,
    "Tus-Version": TUS_VERSION,
    "Tus-Extension": "creation,expiration,termination",
}
PIECES = "application/offset+octet-stream"
LONGEST_NUMBER = 18  # digits of a size or offset, which the database holds


class BadRequest(MomentJudgeError):
    """A header of the protocol is missing, or says nothing that can be understood."""

    status, code = 400, "bad_request"


def speaks_tus(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view answer scripts, with refusals as JSON. A GET, as after a log-in, goes to the page."""

    @wraps(view)
    def page(request: HttpRequest, row: Any) -> HttpResponse:
        if request.method == "GET":
            return redirect("annotation:corpus", getattr(row, "project", row).uuid)
        response: HttpResponse
        if request.method == "OPTIONS":
            response = HttpResponse(status=204)
        elif request.headers.get("Tus-Resumable", TUS_VERSION) != TUS_VERSION:
            response = _refusal(412, "version", f"This site speaks tus {TUS_VERSION}.")
        else:
            try:
                response = view(request, row)
            except MomentJudgeError as error:
                response = _refusal(error.status, error.code, str(error))
        for name, value in {**TUS, "Tus-Max-Size": str(settings.VIDEO_MAX_MB * 2**20)}.items():
            response[name] = value
        return response

    return page


def _refusal(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"code": code, "message": message}, status=status)


def _number(request: HttpRequest, header: str) -> int:
    digits = request.headers.get(header, "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER):
        raise BadRequest(f"The header {header} is not a number of bytes.")
    return int(digits)


def _metadata(request: HttpRequest) -> dict[str, str]:
    """Names and values of the header Upload-Metadata; a name may stand alone."""
    pairs = [part.split() for part in request.headers.get("Upload-Metadata", "").split(",")]
    try:
        return {name: b64decode("".join(value), validate=True).decode() for name, *value in pairs}
    except (binascii.Error, ValueError) as error:
        raise BadRequest("The header Upload-Metadata does not hold pairs of a name and a value in base64.") from error


@project_page(STAFF)
@speaks_tus
def uploads_begin(request: MemberRequest, project: Project) -> HttpResponse:
    """Begin the upload of one video; the answer says where its bytes go."""
    if request.method != "POST":
        return _refusal(405, "method", "An upload begins with a POST.")
    about = _metadata(request)
    modified = about.get("modified", "")
    row = video_uploads.video_upload_create(
        project=project,
        actor=request.user,
        file_name=about.get("filename", ""),
        size=_number(request, "Upload-Length"),
        modified_ms=int(modified) if modified.isdecimal() and len(modified) <= LONGEST_NUMBER else 0,
    )
    return HttpResponse(status=201, headers={"Location": reverse("annotation:upload", args=[row.uuid]), **_state(row)})


@row_page(VideoUpload.objects.select_related("project"), STAFF)
@speaks_tus
def upload(request: MemberRequest, row: VideoUpload) -> HttpResponse:
    """Say how much of an upload is here (HEAD), take its next piece (PATCH), or discard it (DELETE)."""
    if request.method == "HEAD":
        if row.state == VideoUpload.State.FAILED:
            return _refusal(410, "upload_failed", row.error)
        about = {"Upload-Length": str(row.size), "Cache-Control": "no-store"}
        return HttpResponse(status=200, headers={**about, **_state(row)})
    if request.method == "PATCH":
        if request.content_type != PIECES:
            return _refusal(415, "type", f"A piece has the type {PIECES}.")
        row = video_uploads.video_part_add(upload=row, offset=_number(request, "Upload-Offset"), read=request.read)
        return HttpResponse(status=204, headers=_state(row))
    if request.method == "DELETE":
        video_uploads.video_upload_discard(upload=row)
        return HttpResponse(status=204)
    return _refusal(405, "method", "An upload takes HEAD, PATCH and DELETE.")


def _state(row: VideoUpload) -> dict[str, str]:
    return {"Upload-Offset": str(row.offset), "Upload-Expires": http_date(row.expires_at.timestamp())}


@staff_page
def corpora(request: HttpRequest) -> HttpResponse:
    """The corpora of the viewer's projects and imports, with what they hold, and the viewer's last imports."""
    user = cast(User, request.user)
    context = {"corpora": corpora_of(user), "imports": user.corpus_imports.order_by("-id")[:IMPORTS_SHOWN]}
    return render(request, "annotation/corpora/corpora.html", context)


@staff_page
@receives_file(limit="IMPORT_MAX_MB", instead="import it with manage.py import_corpus")
def import_new(request: HttpRequest) -> HttpResponse:
    """The form for a file; only this page takes one, into a temporary file of limited size."""

    def shown(form: forms.Form, status: int = 200) -> HttpResponse:
        context = {"formats": FORMATS.values(), "most_mb": settings.IMPORT_MAX_MB, "form": form}
        return render(request, "annotation/corpora/import_new.html", context, status=status)

    if request.method != "POST":
        initial = {"corpus_name": request.GET.get("to", ""), "format": request.GET.get("form", "")}
        return shown(ImportForm(initial=initial))
    create = partial(imports.corpus_import_create, actor=cast(User, request.user))
    return save_form(ImportForm(request.POST, request.FILES), create, shown, "annotation:import")


def import_page(request: HttpRequest, row: CorpusImport) -> HttpResponse:
    """Show one file: how far it is, what was found in it, and the question whether to import it."""
    user = cast(User, request.user)
    projects = projects_run_by(user).filter(dataset__corpus__name=row.corpus_name)
    context = {
        "row": row,
        "form": FORMATS.get(row.format),
        "warnings": first_warnings(row),
        "corpus": corpora_within_reach(user).filter(name=row.corpus_name).first(),
        "projects": [(project, next_step(project)) for project in projects],
    }
    return render(request, "annotation/corpora/import.html", context)


import_urls = upload_urls(
    imports.IMPORTS, "imports/", page="annotation:import", back="annotation:corpora", show=import_page
)
