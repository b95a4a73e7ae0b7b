"""Forms of features: what to make, and which official file to add."""

from typing import Any

from django import forms

from models_runner.models import FeatureSet

Extractor = FeatureSet.Extractor
WAYS = {
    FeatureSet.Kind.VIDEO: (Extractor.PIXELS, Extractor.IMAGES),
    FeatureSet.Kind.SUBTITLE: (Extractor.WORDS, Extractor.TEXTS),
    FeatureSet.Kind.QUERY: (Extractor.WORDS, Extractor.TEXTS),
}
WITH_MODEL = (Extractor.IMAGES, Extractor.TEXTS)
NAME_HELP = "Experiments show it; one is made where it stays empty."
MODEL_HELP = (
    "Of transformers: a name on the Hugging Face hub, or the absolute path of a folder below those that the setting"
    " MOMENTJUDGE_MODELS names."
)
MADE_HELP = f"Of queries, if you know what made them: it reads what is typed on the page Search. {MODEL_HELP}"


class ExtractionForm(forms.Form):
    """Features that are to be made."""

    what = forms.ChoiceField(
        label="Features of, by",
        choices=[
            (f"{kind} {way}", f"{FeatureSet.Kind(kind).label}: {Extractor(way).label}")
            for kind, ways in WAYS.items()
            for way in ways
        ],
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose what to make features of."),
    )
    model = forms.CharField(max_length=200, required=False, label="Model", help_text=MODEL_HELP)
    name = forms.CharField(max_length=80, required=False, label="Name", help_text=NAME_HELP)

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        kind, _, extractor = said.get("what", "").partition(" ")
        if extractor in WITH_MODEL and not said.get("model"):
            self.add_error("model", "Name a model, or the folder of one.")
        if extractor and extractor not in WITH_MODEL and said.get("model"):
            self.add_error("model", "What is built in takes no model; leave this empty.")
        return {**said, "kind": kind, "extractor": extractor}

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("kind", "extractor", "model", "name")}


class FileForm(forms.Form):
    """An official file that lies on the server."""

    kind = forms.ChoiceField(label="Features of", choices=FeatureSet.Kind.choices)
    path = forms.CharField(
        max_length=500, label="Path", error_messages={"required": "Give the path of the file, or of the LMDB folder."}
    )
    model = forms.CharField(max_length=200, required=False, label="Text model", help_text=MADE_HELP)
    name = forms.CharField(max_length=80, required=False, label="Name", help_text=NAME_HELP)

    def values(self) -> dict[str, Any]:
        return dict(self.cleaned_data)


class ModelForm(forms.Form):
    """Which text model made an official file of queries."""

    model = forms.CharField(max_length=200, required=False)
