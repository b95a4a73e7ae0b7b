"""Forms of runs and of the leaderboard's settings."""

from typing import Any

from django import forms
from django.db.models import QuerySet

from accounts.models import Project
from annotation.models import Query
from core.uploads import UploadField
from judging.models import Release
from models_runner.models import Leaderboard, Truth

SPLITS = [(Query.Split.TEST.value, "test"), (Query.Split.VAL.value, "validation")]


class ReleaseField(forms.ModelChoiceField):  # type: ignore[type-arg]  # which is generic for the type checker alone
    def __init__(self, **options: Any) -> None:
        errors = {"invalid_choice": "There is no such release that is ready.", "required": "Choose a release."}
        ready = Release.objects.none()  # each form offers those of its project
        super().__init__(ready, to_field_name="version", empty_label=None, error_messages=errors, **options)

    def label_from_instance(self, obj: Release) -> str:
        return str(obj.version)


class RunForm(forms.Form):
    file = UploadField()
    system = forms.CharField(
        max_length=100, error_messages={"required": "Name the system."}, help_text="What the leaderboard calls it."
    )
    team = forms.CharField(
        max_length=100, required=False, help_text="Shown to everybody beside the system; may stay empty."
    )
    split = forms.ChoiceField(choices=SPLITS, error_messages={"invalid_choice": "Choose test or validation."})
    release = ReleaseField()

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        releases_offer(self, project)

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        release, split = form_data.get("release"), form_data.get("split")
        if release and split and not Truth.objects.filter(release=release, split=split).exists():
            self.add_error("split", f"Release {release.version} has no judged query of this split.")
        return form_data


def rows_offer(form: forms.Form, name: str, rows: QuerySet[Any]) -> None:
    """Let the field of this name choose among the rows."""
    field = form.fields[name]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = rows


def releases_offer(form: forms.Form, project: Project) -> None:
    """Let the form choose among the releases of the project that are ready, the newest unless another is named."""
    rows_offer(form, "release", ready_releases(project))
    if newest := ready_releases(project).first():
        form.initial.setdefault("release", newest.version)


def ready_releases(project: Project) -> QuerySet[Release]:
    return project.releases.filter(state=Release.State.READY).order_by("-version")


class LeaderboardForm(forms.Form):
    """Label visibility and upload limits for participants; shown with those that hold now."""

    hides_test = forms.BooleanField(required=False, label="Hide the labels of the test split from participants")
    hides_val = forms.BooleanField(required=False, label="Hide the labels of the validation split, too")
    uploads_per_day = forms.IntegerField(
        label="Uploads of a participant within 24 hours",
        min_value=1,
        max_value=1000,
        help_text="Files that cannot be read do not count; they have a limit of their own, 20.",
    )
    uploads_in_all = forms.IntegerField(
        label="Uploads of a participant to a hidden split in all",
        min_value=1,
        max_value=10_000,
        help_text="Every score tells a little of the labels.",
    )
    least_queries = forms.IntegerField(
        label="Fewest judged queries of a hidden split whose scores are shown",
        min_value=1,
        max_value=100_000,
        help_text="Scores over fewer tell the labels of single queries; participants see none then.",
    )
    ladder = forms.ChoiceField(
        label="Show a run only when it is a step better than its owner's runs before (Ladder)",
        choices=Leaderboard.Ladder.choices,
    )
    alike_percent = forms.IntegerField(
        label="List runs that differ from an earlier one of the same person in fewer queries than this, in percent",
        min_value=0,
        max_value=100,
        help_text="For you alone; 0 lists none.",
    )
