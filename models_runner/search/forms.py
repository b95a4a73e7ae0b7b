"""The form of a search: for pages, and what a program sends is read by it too."""

from typing import Any

from django import forms

from accounts.models import Project
from models_runner.experiments.forms import TrainingField
from models_runner.leaderboard.forms import rows_offer
from models_runner.models import Training
from models_runner.search.selectors import searchable

LONGEST_QUERY = 500
DEFAULT_MOMENTS, MOST_MOMENTS = 12, 40


class ScoredField(TrainingField):
    """Trainings with how well they do."""

    def label_from_instance(self, obj: Training) -> str:
        best = "" if obj.best is None else f" – validation NDCG@20,IoU≥0.5 {obj.best:.3f}"
        return f"{obj.system} ({obj.experiment.get_baseline_display()}, N={obj.experiment.top_n}){best}"


class SearchForm(forms.Form):
    """Query and the training that searches for it."""

    q = forms.CharField(
        label="Query",
        max_length=LONGEST_QUERY,
        error_messages={
            "required": "Type what to look for.",
            "max_length": f"A query has at most {LONGEST_QUERY} characters.",
        },
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "A person opens a door", "autocomplete": "off"}),
    )
    training = ScoredField(
        Training.objects.none(),
        to_field_name="uuid",
        empty_label=None,
        label="Trained checkpoint",
        error_messages={
            "invalid_choice": "There is no such finished training in this project.",
            "required": "Choose a training.",
        },
    )
    every = forms.BooleanField(required=False, label="Show overlapping moments too")
    limit = forms.IntegerField(required=False, min_value=1, max_value=MOST_MOMENTS, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows_offer(self, "training", searchable(project))

    def clean_limit(self) -> int:
        limit: int | None = self.cleaned_data["limit"]
        return limit or DEFAULT_MOMENTS
