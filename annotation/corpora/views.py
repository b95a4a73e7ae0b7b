"""Pages of the corpus.

Pages of imports: the corpora within reach, bringing a file, its check, its report.
"""

from typing import cast
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.access import STAFF, MemberRequest, post_only, project_page, staff_page
from accounts.models import Project, User
from annotation.corpora.forms import ImportForm
from annotation.corpora.importers import FORMATS
from annotation.corpora.rules import next_step
from annotation.corpora.selectors import corpora_of, corpora_within_reach, import_remarks, projects_run_by
from annotation.corpora.services import imports
from annotation.models import CorpusImport, Moment
from core.exceptions import NotPossible, StorageAway
from core.files import receive_on_disk

PER_PAGE = 50


@project_page(STAFF)
def corpus(request: MemberRequest, project: Project) -> HttpResponse:
    """Videos of the corpus with the state of their moments' previews, and what could not be cut."""
    state = Moment.Preview
    videos = project.dataset.corpus.videos.annotate(
        total=Count("moments"),
        ready=Count("moments", filter=Q(moments__preview_state=state.READY)),
        failed=Count("moments", filter=Q(moments__preview_state=state.FAILED)),
    ).order_by("name")
    failures = Moment.objects.filter(
        video__corpus=project.dataset.corpus_id, preview_state=state.FAILED
    ).select_related("video")
    counts = dict(
        Moment.objects.filter(video__corpus=project.dataset.corpus_id)
        .values_list("preview_state")
        .annotate(n=Count("pk"))
        .order_by()
    )
    page = Paginator(videos, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "failures": failures.order_by("video__name", "start_s")[:PER_PAGE],
        "counts": counts,
        "step": next_step(project),
    }
    return render(request, "annotation/corpora/corpus.html", context)


IMPORTS_SHOWN = 20


@staff_page
def corpora(request: HttpRequest) -> HttpResponse:
    """The corpora of the viewer's projects and imports, with what they hold, and the viewer's last imports."""
    user = cast(User, request.user)
    context = {
        "corpora": corpora_of(user),
        "imports": user.corpus_imports.order_by("-id")[:IMPORTS_SHOWN],
    }
    return render(request, "annotation/corpora/corpora.html", context)


@csrf_exempt  # its token stands in the body, which is read only after the file's way is laid; see below
@staff_page
def import_new(request: HttpRequest) -> HttpResponse:
    """The form for a file; only this page takes one, into a temporary file of limited size."""
    receive_on_disk(request, most_mb=settings.IMPORT_MAX_MB, instead="import it with manage.py import_corpus")
    return _import_form(request)


@csrf_protect
def _import_form(request: HttpRequest) -> HttpResponse:
    page = "annotation/corpora/import_new.html"
    context = {"formats": FORMATS.values(), "most_mb": settings.IMPORT_MAX_MB}
    if request.method != "POST":
        asked = {"corpus_name": request.GET.get("to", ""), "format": request.GET.get("form", "")}
        return render(request, page, {**context, "form": ImportForm(initial=asked)})
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, page, {**context, "form": form}, status=422)
    try:
        row = imports.corpus_import_create(actor=cast(User, request.user), **form.values())
    except (NotPossible, StorageAway) as error:
        form.add_error(None, str(error))
        return render(request, page, {**context, "form": form}, status=error.status)
    return redirect("annotation:import", row.uuid)


@staff_page
def import_page(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    """One file: how far it is, what was found in it, and the question whether to import it."""
    row = _own(request, import_uuid)
    context = {
        "row": row,
        "form": FORMATS.get(row.format),
        "remarks": import_remarks(row),
        "corpus": corpora_within_reach(cast(User, request.user)).filter(name=row.corpus_name).first(),
        "projects": [(project, next_step(project)) for project in _projects(request, row)],
    }
    return render(request, "annotation/corpora/import.html", context)


@staff_page
@post_only("annotation:import")
def import_confirm(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    skip_bad = request.POST.get("skip_bad") == "yes"
    imports.corpus_import_confirm(row=row, actor=cast(User, request.user), skip_bad=skip_bad)
    return redirect("annotation:import", row.uuid)


@staff_page
@post_only("annotation:import")
def import_discard(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    imports.corpus_import_discard(row=row, actor=cast(User, request.user))
    messages.success(request, "The file was thrown away; nothing was imported.")
    return redirect("annotation:corpora")


@staff_page
def import_report(request: HttpRequest, import_uuid: UUID) -> HttpResponse | FileResponse:
    """Every bad, clipped and flagged line as CSV."""
    row = _own(request, import_uuid)
    if not row.report:
        raise Http404
    name = f"report-{row.created_at:%Y%m%d-%H%M}.csv"
    return FileResponse(
        row.report.open("rb"), content_type="text/csv; charset=utf-8", as_attachment=True, filename=name
    )


def _projects(request: HttpRequest, row: CorpusImport) -> QuerySet[Project]:
    return projects_run_by(cast(User, request.user)).filter(dataset__corpus__name=row.corpus_name)


def _own(request: HttpRequest, import_uuid: UUID) -> CorpusImport:
    """The viewer's import; 404 for everybody else's."""
    return get_object_or_404(CorpusImport, uuid=import_uuid, owner=request.user)
