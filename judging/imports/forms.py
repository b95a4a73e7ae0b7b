"""What people fill in to import judgments from Label Studio."""

from typing import Any

from django import forms

from core.uploads import NameField, UploadField
from judging.imports.label_studio.mapping import BadMapping, mapped

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
        given = super().clean() or {}
        fields = {name: given.get(name, "") for name in ("pair", "query", "moment", "control")}
        try:
            given["mapped"] = mapped(**fields, grades=given.get("grades", "").splitlines())
        except BadMapping as error:
            self.add_error("grades" if "=" in str(error) else "pair", str(error))
        return given

    def values(self) -> dict[str, Any]:
        """What ``judgment_import_create`` takes."""
        return {name: self.cleaned_data[name] for name in ("file", "project_name", "mapped")}
