"""The search page: typed words, ranked moments of a trained checkpoint, and why each was found."""

import mimetypes
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from annotation.models import Video
from core.files import file_answer
from models_runner.models import Training
from models_runner.search.charts import why_chart
from models_runner.search.forms import SearchForm
from models_runner.search.selectors import Shown, searchable, shown_hits
from models_runner.search.services import SearchLate, SearchRefused, search_ask

PAGE = "models_runner/search/search.html"
RECENT, LAST = "searches", 6  # in the session; how many of a project
TRIES = 24  # of a page that waits for a training to be loaded


@project_page(STAFF)
def search(request: MemberRequest, project: Project) -> HttpResponse:
    """The form, and under it what was found for the query in the address."""
    newest, asked = searchable(project).first(), "q" in request.GET
    given = request.GET.copy()
    if newest and not given.get("training"):
        given["training"] = str(newest.uuid)
    form = SearchForm(given if asked else None, project=project, initial=given.dict())
    context: dict[str, Any] = {"form": form, "newest": newest, "recent": _recent(request, project)}
    if not asked or not newest:
        return render(request, PAGE, context)
    if not form.is_valid():
        return render(request, PAGE, context, status=422)
    return _answered(request, project, form, context)


def _answered(request: MemberRequest, project: Project, form: SearchForm, context: dict[str, Any]) -> HttpResponse:
    said = form.cleaned_data
    training: Training = said["training"]
    try:
        found = search_ask(training=training, text=said["q"], moments=said["limit"], every=said["every"])
    except SearchRefused as error:
        return render(request, PAGE, {**context, "refused": error}, status=error.status)
    except SearchLate as error:
        return _late(request, error, context)
    _remember(request, project, said)
    hits = shown_hits(project, found.answer)
    rows = [{"shown": shown, "chart": _chart(shown, found.answer)} for shown in hits]
    context |= {"rows": rows, "found": found, "training": training, "recent": _recent(request, project)}
    return render(request, PAGE, context)


def _late(request: MemberRequest, error: SearchLate, context: dict[str, Any]) -> HttpResponse:
    """A page that asks again by itself while a training is being loaded; else one that says so."""
    tried = request.GET.get("tried", "0")
    tries = 1 + (int(tried) if tried.isdecimal() and len(tried) < 4 else 0)
    if error.is_loading and tries <= TRIES:
        again = request.GET.copy()
        again["tried"] = str(tries)
        return render(request, PAGE, {**context, "loading": error, "again": again.urlencode()})
    return render(request, PAGE, {**context, "late": error}, status=200 if request.htmx else error.status)


def _chart(shown: Shown, answer: Any) -> str:
    how = {"clip_s": answer.clip_s, "end_offset_s": answer.end_offset_s, "duration_s": shown.duration_s}
    return why_chart(shown.why.start, shown.why.end, (shown.hit.start_s, shown.end_s), **how).inline()


def _remember(request: MemberRequest, project: Project, said: dict[str, Any]) -> None:
    """The last queries of a project, newest first, as addresses."""
    entry = [said["q"], urlencode({"q": said["q"], "training": said["training"].uuid})]
    held = request.session.get(RECENT, {})
    others = [one for one in held.get(str(project.uuid), []) if one != entry]
    if held.get(str(project.uuid), [None])[0] != entry:
        request.session[RECENT] = {**held, str(project.uuid): [entry, *others][:LAST]}


def _recent(request: MemberRequest, project: Project) -> list[tuple[str, str]]:
    return [(text, address) for text, address in request.session.get(RECENT, {}).get(str(project.uuid), [])]


@project_page(STAFF)
def video(request: MemberRequest, project: Project, video_uuid: UUID) -> HttpResponseBase:
    """A video of the project, or the part that a player asks for."""
    held = get_object_or_404(Video, uuid=video_uuid, corpus=project.dataset.corpus_id)
    if not held.file or not held.file.storage.exists(str(held.file.name)):
        raise Http404
    kind = mimetypes.guess_type(str(held.file.name))[0] or ""
    kind = kind if kind.startswith("video/") else "application/octet-stream"
    return file_answer(request, held.file, content_type=kind, cache="private, max-age=86400")
