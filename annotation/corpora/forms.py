"""The forms of a file of annotations that comes in, and of one that goes out; for pages and for programs."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from annotation.corpora.exporters import EXPORTS
from annotation.corpora.importers import FORMATS, form_of
from core.uploads import NameField, UploadField

MOST_DURATIONS_MB = 20


class SubtitlesForm(forms.Form):
    """One file of subtitles, named after its video."""

    file = UploadField(max_length=200)


class FolderForm(forms.Form):
    """A folder of the server: the number of one that the site's owner names, and the path below it."""

    root = forms.IntegerField(min_value=0, max_value=999)
    folder = forms.CharField(required=False, max_length=900, strip=False)


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


class ExportForm(forms.Form):
    """Which file of a corpus, and of which source split; of all videos where that is empty."""

    form = forms.ChoiceField(
        choices=[(form.name, form.label) for form in EXPORTS.values()],
        error_messages={
            "required": f"Choose one of {', '.join(EXPORTS)}.",
            "invalid_choice": f"There is no such form. Choose one of {', '.join(EXPORTS)}.",
        },
    )
    split = forms.CharField(required=False, max_length=40, strip=False)
