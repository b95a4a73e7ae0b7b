"""Pages of judgments from Label Studio: uploading an export, its check, its report."""

from typing import Any, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from accounts.access import post_only, staff_page
from accounts.models import User
from annotation.corpora.views import IMPORTS_SHOWN
from core.exceptions import NotPossible, StorageAway
from core.files import receive_on_disk
from core.uploads import NameField, UploadField, remarks_shown, report_download
from judging.imports import services
from judging.imports.label_studio import BadMapping, mapped
from judging.models import JudgmentImport

NEW = "judging/imports/new.html"
FIRST = {"pair": "pair_id"}
MOST_GRADES = 2000  # characters


class JudgmentImportForm(forms.Form):
    file = UploadField(max_length=200)
    project_name = NameField(max_length=200, error_messages={"required": "Name the project."})
    pair = forms.CharField(required=False, max_length=200)
    query = forms.CharField(required=False, max_length=200)
    moment = forms.CharField(required=False, max_length=200)
    control = forms.CharField(required=False, max_length=200)
    grades = forms.CharField(required=False, max_length=MOST_GRADES)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        fields = {name: values.get(name, "") for name in ("pair", "query", "moment", "control")}
        try:
            values["mapped"] = mapped(**fields, grades=values.get("grades", "").splitlines())
        except BadMapping as error:
            self.add_error("grades" if "=" in str(error) else "pair", str(error))
        return values


@staff_page
def imports(request: HttpRequest) -> HttpResponse:
    """The viewer's last imports of judgments."""
    rows = cast(User, request.user).judgment_imports.select_related("project").order_by("-id")[:IMPORTS_SHOWN]
    return render(request, "judging/imports/imports.html", {"imports": rows})


@csrf_exempt  # its token stands in the body, which is read only after the file's way is laid; see below
@staff_page
def import_new(request: HttpRequest) -> HttpResponse:
    """The form for an export, which goes into a temporary file of limited size."""
    receive_on_disk(request, most_mb=settings.IMPORT_MAX_MB, instead="import it with manage.py import_label_studio")
    return _import_form(request)


@csrf_protect
def _import_form(request: HttpRequest) -> HttpResponse:
    context = {"most_mb": settings.IMPORT_MAX_MB}
    if request.method != "POST":
        return render(request, NEW, {**context, "form": JudgmentImportForm(initial=FIRST)})
    form = JudgmentImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return render(request, NEW, {**context, "form": form}, status=422)
    try:
        values = {name: form.cleaned_data[name] for name in ("file", "project_name", "mapped")}
        row = services.judgment_import_create(actor=cast(User, request.user), **values)
    except (NotPossible, StorageAway) as error:
        form.add_error(None, str(error))
        return render(request, NEW, {**context, "form": form}, status=error.status)
    return redirect("judging:judgment-import", row.uuid)


@staff_page
def import_page(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    """One file: how far it is, what was found in it, and the question whether to import it."""
    row = _own(request, import_uuid)
    grades = [(f"Relevance {grade}", n) for grade, n in row.counts.get("relevance", {}).items()]
    return render(request, "judging/imports/import.html", {"row": row, "remarks": remarks_shown(row), "told": grades})


@staff_page
@post_only("judging:judgment-import")
def import_confirm(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    skip_bad = request.POST.get("skip_bad") == "yes"
    services.IMPORTS.confirm(row=row, actor=cast(User, request.user), skip_bad=skip_bad)
    return redirect("judging:judgment-import", row.uuid)


@staff_page
@post_only("judging:judgment-import")
def import_discard(request: HttpRequest, import_uuid: UUID) -> HttpResponse:
    row = _own(request, import_uuid)
    services.IMPORTS.discard(row=row, actor=cast(User, request.user))
    messages.success(request, "The file was thrown away; nothing was imported.")
    return redirect("judging:judgment-imports")


@staff_page
def import_report(request: HttpRequest, import_uuid: UUID) -> FileResponse:
    """Every annotation that gave no judgment, as CSV."""
    return report_download(_own(request, import_uuid))


def _own(request: HttpRequest, import_uuid: UUID) -> JudgmentImport:
    """The viewer's import; 404 for everybody else's."""
    return get_object_or_404(JudgmentImport.objects.select_related("project"), uuid=import_uuid, owner=request.user)
