"""Forms of features that are to be made, and of official files; for the page and for programs."""

from typing import Any, cast

from django import forms

from accounts.models import Project
from annotation.models import Subtitle
from models_runner.models import FeatureSet
from moment_retrieval.features.extractors import EXTRACTORS
from moment_retrieval.hub import FOLDER_HOLDS, WEIGHT_ENDINGS

WITH_MODEL = [extractor for extractor, about in EXTRACTORS.items() if about.asks_for_model]
NAME_HELP = "Experiments show it; one is made where it stays empty."
MODEL_HELP = (
    "Of transformers: a name on the Hugging Face hub, or the absolute path of a folder below those that the setting"
    f" MOMENTJUDGE_MODELS names. {FOLDER_HOLDS}"
)
MAKING_HELP = (
    f"{MODEL_HELP} Of I3D, SlowFast, C3D and VGG-16: a folder or a hub name that holds one file of weights alone"
    f" ({', '.join(WEIGHT_ENDINGS)})."
)
MADE_HELP = f"Of queries, if you know what made them: it reads what is typed on the page Search. {MODEL_HELP}"
EXTRACTIONS = [
    (f"{kind} {extractor}", f"{kind.label}: {FeatureSet.Extractor(extractor).label}")
    for kind in FeatureSet.Kind
    for extractor, about in EXTRACTORS.items()
    if kind.value in about.kinds
]


class ExtractionForm(forms.Form):
    """Features that are to be made."""

    what = forms.ChoiceField(
        label="Features of, by",
        choices=EXTRACTIONS,
        error_messages=dict.fromkeys(("required", "invalid_choice"), "Choose what to make features of."),
    )
    model = forms.CharField(max_length=200, required=False, label="Model", help_text=MAKING_HELP)
    name = forms.CharField(max_length=80, required=False, label="Name", help_text=NAME_HELP)

    def __init__(self, *args: Any, project: Project, **options: Any) -> None:
        super().__init__(*args, **options)
        if not Subtitle.objects.filter(video__corpus=project.dataset.corpus_id).exists():
            what = cast(forms.ChoiceField, self.fields["what"])
            what.choices = [choice for choice in EXTRACTIONS if not choice[0].startswith(FeatureSet.Kind.SUBTITLE)]
            what.help_text = "Of subtitles, once the corpus has some."

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        kind, _, extractor = form_data.pop("what", "").partition(" ")
        if extractor in WITH_MODEL and not form_data.get("model"):
            self.add_error("model", "Name a model, or the folder of one.")
        if extractor and extractor not in WITH_MODEL and form_data.get("model"):
            self.add_error("model", "What is built in takes no model; leave this empty.")
        return {**form_data, "kind": kind, "extractor": extractor}


class FileForm(forms.Form):
    """An official file that lies on the server."""

    kind = forms.ChoiceField(label="Features of", choices=FeatureSet.Kind.choices)
    path = forms.CharField(
        max_length=500, label="Path", error_messages={"required": "Give the path of the file, or of the LMDB folder."}
    )
    model = forms.CharField(max_length=200, required=False, label="Text model", help_text=MADE_HELP)
    name = forms.CharField(max_length=80, required=False, label="Name", help_text=NAME_HELP)


class ModelForm(forms.Form):
    """Which text model made an official file of queries."""

    model = forms.CharField(max_length=200, required=False)
