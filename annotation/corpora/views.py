"""Pages of a project's corpus, and of imports: the corpora within reach, uploading a file, its check, its report.

And the uploads of videos, which scripts speak tus with.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page, staff_page
from accounts.models import Project, User
from accounts.uploads import IMPORTS_SHOWN, receives_file, save_form, upload_urls
from annotation.captions.services.captions import LONGEST
from annotation.corpora import tus
from annotation.corpora.forms import ExportForm, FolderForm, ImportForm, SubtitlesForm
from annotation.corpora.importers import FORMATS
from annotation.corpora.selectors import (
    ShownUploads,
    corpora_of,
    corpora_within_reach,
    corpus_file,
    files_shown,
    moments_shown,
    next_step,
    preview_counts,
    projects_run_by,
    uploads_shown,
    videos_shown,
)
from annotation.corpora.services import imports, video_folders, video_uploads
from annotation.corpora.services.subtitles import subtitles_set
from annotation.corpora.services.videos import SUBTITLE_SUFFIXES, VIDEO_SUFFIXES, VideoRefused
from annotation.models import CorpusImport, Moment, Video, VideoFolder, VideoUpload
from annotation.previews.responses import no_poster, poster_answer, video_answer
from annotation.previews.services import moment_of_part
from annotation.proposals.selectors import shots_of
from core.exceptions import MomentJudgeError, NotPossible
from core.files import IMMUTABLE
from core.lists import page_of
from core.uploads import first_warnings

PER_PAGE, FAILURES_SHOWN = 24, 50
CORPUS, FOLDERS = "annotation:corpus", "annotation:video-folders"
FOLDERS_SHOWN = 20
CACHED = "private, max-age=86400"


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
    file_name, only = request.GET.get("upload", "").replace("\0", ""), request.GET.get("uploads", "")
    uploads = uploads_shown(project.dataset.corpus, only=only, file_name=file_name)
    context = {
        "page": page_of(request, videos_shown(project.dataset.corpus, words), PER_PAGE),
        "words": words,
        "failures": failures.order_by("video__name", "start_s")[:FAILURES_SHOWN],
        "counts": preview_counts(project.dataset.corpus_id),
        "step": next_step(project),
        "files": files_shown(project.dataset.corpus),
        "has_folders": bool(settings.VIDEO_FOLDERS) and request.membership.is_lead,
        **_upload_context(uploads, [*VIDEO_SUFFIXES, *SUBTITLE_SUFFIXES]),
    }
    return render(request, "annotation/corpora/corpus.html", context)


def _upload_context(uploads: dict[str, ShownUploads], suffixes: Sequence[str]) -> dict[str, Any]:
    return {
        "uploads": uploads,
        "is_reading": any(row.state == VideoUpload.State.READING for row in uploads["unfinished"].rows),
        "suffixes": ",".join(suffixes),
        "most_mb": settings.VIDEO_MAX_MB,
        "piece_bytes": settings.VIDEO_PIECE_BYTES,
    }


@project_action(STAFF, back=CORPUS)
@receives_file(limit="IMPORT_MAX_MB", instead="split it: subtitles are texts")
def subtitles(request: MemberRequest, project: Project) -> HttpResponse:
    """Give a video the subtitles of a file that is named after it; scripts, which accept JSON alone, get JSON."""
    form, by_script = SubtitlesForm(request.POST, request.FILES), not request.accepts("text/html")
    status = 200
    try:
        if not form.is_valid():
            raise VideoRefused(str(form.errors["file"][0]))
        file = form.cleaned_data["file"]
        result = subtitles_set(project=project, file_name=file.name, content=file.read(), actor=request.user)
        message, code = str(result), ""
    except MomentJudgeError as error:
        message, code, status = str(error), error.code, error.status
    if by_script:
        return JsonResponse({"code": code, "message": message}, status=status)
    (messages.error if code else messages.success)(request, message)
    return redirect(CORPUS, project.uuid)


@project_page(STAFF)
def corpus_download(request: MemberRequest, project: Project) -> HttpResponseBase:
    """Send the corpus in a form of TVR or TVC; back to its page with the reason where there is no such file."""
    form = ExportForm(request.GET)
    try:
        if form.is_valid():
            return corpus_file(project.dataset.corpus, **form.cleaned_data)
        messages.error(request, " ".join(str(reason) for reasons in form.errors.values() for reason in reasons))
    except MomentJudgeError as error:
        messages.error(request, str(error))
    return redirect("annotation:corpus", project.uuid)


@project_page(STAFF)
def video(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponse:
    """One video: player, shots, moments, captions to correct, subtitles."""
    row = _video(project, video_uuid)
    context = {
        "video": row,
        "rows": moments_shown(project, row),
        "shots": shots_of(row),
        "subtitles": row.subtitles.order_by("start_s", "pk"),
        "longest": LONGEST,
        "old_previews": row.moments.filter(preview_is_old=True).count(),
    }
    return render(request, "annotation/corpora/video.html", context)


@project_page(LEAD)
def video_replace(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponse:
    """Where a lead gives another file for a video, and how far that is."""
    row = _video(project, video_uuid)
    file_name, only = request.GET.get("upload", "").replace("\0", ""), request.GET.get("uploads", "")
    uploads = uploads_shown(row.corpus, only=only, file_name=file_name, replaced=row)
    context = {
        "video": row,
        "replaced": row,
        "old_previews": row.moments.filter(preview_is_old=True).count(),
        **_upload_context(uploads, VIDEO_SUFFIXES),
    }
    return render(request, "annotation/corpora/video_replace.html", context)


@project_page(STAFF)
def video_file(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponseBase:
    """A video of the project, or the part that a player needs."""
    return video_answer(request, _video(project, video_uuid))


@project_page(STAFF)
def video_poster(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponseBase:
    """A picture that stands for a video, or for the moment at ``at=start,end`` of it; an empty frame where there is
    none yet. ``v`` names the version of the picture that a page shows: a browser keeps that one."""
    row, span = _video(project, video_uuid), SpanForm(request.GET)
    moment = moment_of_part(row, *span.span) if span.is_valid() else None
    if moment and (answer := poster_answer(request, moment, cache=CACHED)):
        return answer
    cache = IMMUTABLE if request.GET.get("v") == row.poster_version else "private, no-cache"
    return poster_answer(request, row, cache=cache) or no_poster()


def _video(project: Project, uuid: UUID) -> Video:
    return get_object_or_404(Video, uuid=uuid, corpus=project.dataset.corpus_id)


@project_page(LEAD)
def folders(request: MemberRequest, project: Project) -> HttpResponse:
    """Folders of the server, what lies in the one that is chosen, and how far those are that were added."""
    form, every, status = FolderForm(request.GET), video_folders.roots(), 200
    rows = list(project.dataset.corpus.video_folders.order_by("-pk")[:FOLDERS_SHOWN])
    is_at_work = any(row.is_at_work for row in rows)
    context: dict[str, Any] = {"roots": list(enumerate(every)), "rows": rows, "is_at_work": is_at_work}
    if "root" in request.GET and form.is_valid():
        root, relative = form.cleaned_data["root"], form.cleaned_data["folder"].strip("/")
        parts = PurePosixPath(relative).parts
        try:
            contents = video_folders.contents_of(video_folders.folder_below(root, relative))
        except NotPossible as error:
            context["error"], status = str(error), 404
        else:
            context |= {
                "root": root,
                "root_path": every[root],
                "relative": relative,
                "contents": contents,
                "parents": [("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)],
                "subfolders": [("/".join([*parts, name]), name) for name in contents.folders],
                "room": video_folders.room(),
            }
    return render(request, "annotation/corpora/folders.html", context, status=status)


@project_action(LEAD, back=FOLDERS)
def folder_start(request: MemberRequest, project: Project) -> HttpResponse:
    """Have the videos of a folder added; a refusal is shown on the page of that folder."""
    form = FolderForm(request.POST)
    page = reverse(FOLDERS, args=[project.uuid])
    if not form.is_valid():
        messages.error(request, "Choose one of the folders that are listed.")
        return redirect(page)
    values = {"root": form.cleaned_data["root"], "relative": form.cleaned_data["folder"].strip("/")}
    try:
        video_folders.folder_start(project=project, actor=request.user, **values)
    except NotPossible as error:
        messages.error(request, str(error))
        return redirect(f"{page}?{urlencode({'root': values['root'], 'folder': values['relative']})}")
    messages.success(request, "The videos are being added, one after the other. You may leave this page.")
    return redirect(page)


def _folder_action(change: Callable[..., None]) -> Callable[..., HttpResponseBase]:
    """Make the view that changes the adding of a folder; a refusal is shown on the page that follows."""

    @row_page(VideoFolder.objects.select_related("project", "corpus"), LEAD)
    def page(request: MemberRequest, row: VideoFolder) -> HttpResponse:
        try:
            if request.method == "POST":
                change(folder=row, actor=request.user)
        except NotPossible as error:
            messages.error(request, str(error))
        return redirect(FOLDERS, row.project.uuid)

    return page


folder_cancel = _folder_action(video_folders.folder_cancel)
folder_resume = _folder_action(video_folders.folder_resume)


def speaks_tus(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a view answer scripts, with refusals as JSON. A GET, as after a log-in, goes to the page."""

    @wraps(view)
    def page(request: HttpRequest, row: Any) -> HttpResponse:
        if request.method == "GET":
            return redirect("annotation:corpus", getattr(row, "project", row).uuid)
        response: HttpResponse
        try:
            response = HttpResponse(status=204) if request.method == "OPTIONS" else view(request, row)
        except MomentJudgeError as error:
            response = _refusal(error.status, error.code, str(error))
        for name, value in tus.headers().items():
            response[name] = value
        return response

    return page


def _refusal(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"code": code, "message": message}, status=status)


@project_page(STAFF)
@speaks_tus
def uploads_begin(request: MemberRequest, project: Project) -> HttpResponse:
    """Begin the upload of one video; the answer says where its bytes go."""
    if request.method != "POST":
        return _refusal(405, "method", "An upload begins with a POST.")
    row = tus.upload_begin(request, request.membership, request.user)
    location = reverse("annotation:upload", args=[row.uuid])
    return HttpResponse(status=201, headers={"Location": location, **tus.state_of(row)})


@row_page(VideoUpload.objects.select_related("project"), STAFF)
@speaks_tus
def upload(request: MemberRequest, row: VideoUpload) -> HttpResponse:
    """Say how much of an upload is here (HEAD), take its next piece (PATCH), or discard it (DELETE)."""
    if request.method == "HEAD":
        return HttpResponse(status=200, headers=tus.state_to_go_on(request, row))
    if request.method == "PATCH":
        return HttpResponse(status=204, headers=tus.state_of(tus.piece_add(request, row)))
    if request.method == "DELETE":
        tus.version_check(request)
        video_uploads.video_upload_discard(upload=row)
        return HttpResponse(status=204)
    return _refusal(405, "method", "An upload takes HEAD, PATCH and DELETE.")


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
