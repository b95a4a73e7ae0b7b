"""Pages of a project's corpus, and of imports: the corpora within reach, uploading a file, its check, its report."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.access import STAFF, MemberRequest, post_only, project_page, staff_page
from accounts.models import Project, User
from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.selectors import corpora_of, corpora_within_reach, next_step, projects_run_by
from annotation.corpora.services import imports
from annotation.models import CorpusImport, Moment
from core.exceptions import NotPossible, StorageAway
from core.files import receive_on_disk
from core.uploads import NameField, UploadField, remarks_shown, report_download

MOST_DURATIONS_MB = 20
PER_PAGE = 50
IMPORTS_SHOWN = 20


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
        held: dict[str, Any] = self.cleaned_data
        if not held.get("format") and not {"format", "file"} & set(self.errors):
            held["format"] = form_of(held["file"], held["file"].name)
            if not held["format"]:
                self.add_error("format", "The file does not tell its form. Say which it is.")
        return held

    def clean_durations(self) -> "UploadedFile[Any] | None":
        table: UploadedFile[Any] | None = self.cleaned_data["durations"]
        if table and (table.size or 0) > MOST_DURATIONS_MB * 2**20:
            raise forms.ValidationError(f"The table of video lengths is larger than {MOST_DURATIONS_MB} MB.")
        return table

    def values(self) -> dict[str, Any]:
        """What ``corpus_import_create`` takes."""
        return dict(self.cleaned_data)


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


@staff_page
def corpora(request: HttpRequest) -> HttpResponse:
    """The corpora of the viewer's projects and imports, with what they hold, and the viewer's last imports."""
    user = cast(User, request.user)
    context = {"corpora": corpora_of(user), "imports": user.corpus_imports.order_by("-id")[:IMPORTS_SHOWN]}
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
        "remarks": remarks_shown(row),
        "corpus": corpora_within_reach(cast(User, request.user)).filter(name=row.corpus_name).first(),
        "projects": [(project, next_step(project)) for project in _projects(request, row)],
    }
    return render(request, "annotation/corpora/import.html", context)


@staff_page
@post_only("annotation:import")
def import_confirm(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    skip_bad = request.POST.get("skip_bad") == "yes"
    imports.IMPORTS.confirm(row=row, actor=cast(User, request.user), skip_bad=skip_bad)
    return redirect("annotation:import", row.uuid)


@staff_page
@post_only("annotation:import")
def import_discard(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    imports.IMPORTS.discard(row=row, actor=cast(User, request.user))
    messages.success(request, "The file was thrown away; nothing was imported.")
    return redirect("annotation:corpora")


@staff_page
def import_report(request: HttpRequest, import_uuid: UUID) -> FileResponse:
    """Every bad, clipped and flagged line as CSV."""
    return report_download(_own(request, import_uuid))


def _projects(request: HttpRequest, row: CorpusImport) -> QuerySet[Project]:
    return projects_run_by(cast(User, request.user)).filter(dataset__corpus__name=row.corpus_name)


def _own(request: HttpRequest, import_uuid: UUID) -> CorpusImport:
    """The viewer's import; 404 for everybody else's."""
    return get_object_or_404(CorpusImport, uuid=import_uuid, owner=request.user)
