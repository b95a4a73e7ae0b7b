"""Pages of judgments from Label Studio: uploading an export, its check, its report."""

from functools import partial
from typing import Any, cast

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import staff_page
from accounts.models import User
from accounts.uploads import IMPORTS_SHOWN, receives_file, save_form, upload_urls
from core.uploads import NameField, UploadField, first_warnings
from judging.imports import services
from judging.imports.label_studio import BadMapping, mapped
from judging.models import JudgmentImport
from judging.projects.forms import preset_field
from judging.work.rules import PRESETS, Rules, preset_rules

NEW = "judging/imports/new.html"
FIRST = {"pair": "pair_id"}
MOST_GRADES = 2000  # characters


def _number(least: int, most: int, label: str, help_text: str) -> forms.IntegerField:
    return forms.IntegerField(label=label, min_value=least, max_value=most, required=False, help_text=help_text)


class JudgmentImportForm(forms.Form):
    file = UploadField(max_length=200)
    project_name = NameField(max_length=200, error_messages={"required": "Name the project."})
    rules = preset_field(help_text="Those by which the file was judged; they stay those of the project.")
    top_grade = _number(1, 9, "Highest grade", "Grades go from 0 to this one. Empty: to that of the rules.")
    judges = _number(2, 3, "Judges a round", "Empty: those of the rules.")
    max_rounds = _number(1, 2, "Rounds", "Empty: those of the rules.")
    max_spread = _number(0, 8, "Spread of grades that agree", "How far apart they may be. Empty: as the rules say.")
    pair = forms.CharField(required=False, max_length=200)
    query = forms.CharField(required=False, max_length=200)
    moment = forms.CharField(required=False, max_length=200)
    control = forms.CharField(required=False, max_length=200)
    grades = forms.CharField(required=False, max_length=MOST_GRADES)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        preset = values.get("rules") or next(iter(PRESETS))
        try:
            rules = preset_rules(preset, **{name: values.get(name) for name in Rules._fields})
        except ValueError as error:
            self.add_error("max_spread", str(error))
            return values
        fields = {name: values.get(name, "") for name in ("pair", "query", "moment", "control")}
        try:
            values["mapped"] = mapped(**fields, grades=values.get("grades", "").splitlines(), rules=rules)
        except BadMapping as error:
            self.add_error("grades" if "=" in str(error) else "pair", str(error))
        return {name: values.get(name) for name in ("file", "project_name", "mapped")}


@staff_page
def imports(request: HttpRequest) -> HttpResponse:
    """The viewer's last imports of judgments."""
    rows = cast(User, request.user).judgment_imports.select_related("project").order_by("-id")[:IMPORTS_SHOWN]
    return render(request, "judging/imports/imports.html", {"imports": rows})


@staff_page
@receives_file(limit="IMPORT_MAX_MB", instead="import it with manage.py import_label_studio")
def import_new(request: HttpRequest) -> HttpResponse:
    """The form for an export, which goes into a temporary file of limited size."""

    def shown(form: forms.Form, status: int = 200) -> HttpResponse:
        return render(request, NEW, {"most_mb": settings.IMPORT_MAX_MB, "form": form}, status=status)

    if request.method != "POST":
        return shown(JudgmentImportForm(initial=FIRST))
    create = partial(services.judgment_import_create, actor=cast(User, request.user))
    return save_form(JudgmentImportForm(request.POST, request.FILES), create, shown, "judging:judgment-import")


def import_page(request: HttpRequest, row: JudgmentImport) -> HttpResponse:
    """Show one file: how far it is, what was found in it, and the question whether to import it."""
    grades = [(f"Relevance {grade}", n) for grade, n in row.counts.get("relevance", {}).items()]
    context = {"row": row, "warnings": first_warnings(row), "grades": grades, "rules": services.mapped_of(row).rules}
    return render(request, "judging/imports/import.html", context)


import_urls = upload_urls(
    services.IMPORTS,
    "judgments/imports/",
    page="judging:judgment-import",
    back="judging:judgment-imports",
    show=import_page,
)
