"""Pages of a project's corpus, and of imports: the corpora within reach, uploading a file, its check, its report."""

from functools import partial
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, project_page, staff_page
from accounts.models import Project, User
from accounts.uploads import IMPORTS_SHOWN, receives_file, save_form, upload_urls
from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.selectors import corpora_of, corpora_within_reach, next_step, projects_run_by
from annotation.corpora.services import imports
from annotation.models import CorpusImport, Moment
from core.lists import page_of
from core.uploads import NameField, UploadField, first_warnings

MOST_DURATIONS_MB = 20
PER_PAGE = 50


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


@project_page(STAFF)
def corpus(request: MemberRequest, project: Project) -> HttpResponse:
    """Videos of the corpus with the state of their moments' previews, and what could not be cut."""
    state = Moment.Preview
    videos = project.dataset.corpus.videos.annotate(
        total=Count("moments"),
        ready=Count("moments", filter=Q(moments__preview_state=state.READY)),
        failed=Count("moments", filter=Q(moments__preview_state=state.FAILED)),
    ).order_by("name")
    moments = Moment.objects.filter(video__corpus=project.dataset.corpus_id)
    failures = moments.filter(preview_state=state.FAILED).select_related("video").order_by("video__name", "start_s")
    context = {
        "page": page_of(request, videos, PER_PAGE),
        "failures": failures[:PER_PAGE],
        "counts": dict(moments.values_list("preview_state").annotate(n=Count("pk")).order_by()),
        "step": next_step(project),
    }
    return render(request, "annotation/corpora/corpus.html", context)


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
