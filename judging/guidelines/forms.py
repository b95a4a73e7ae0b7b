"""Forms of the policy and of the guideline."""

import tomllib
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from django import forms

from core.forms import SubmitForm
from judging.guidelines.models import POLICY_VALUES
from judging.guidelines.selectors import DETAIL, QUERY, SUBJECTS, guideline_text
from judging.models import Policy
from judging.pay.rules import CURRENCIES
from judging.work.forms import grade_field

GROUPS: dict[str, dict[str, list[str]]] = tomllib.loads(
    Path(__file__).with_name("policy.toml").read_text(encoding="utf-8")
)
LABELS = {name: label for group in GROUPS.values() for name, label in group.items()}


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    """Every value of a policy; violated constraints become errors of the form."""

    version = forms.IntegerField(widget=forms.HiddenInput, error_messages={"required": "Load the page again."})

    class Meta:
        model = Policy
        fields = POLICY_VALUES

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (label, unit, help_text) in LABELS.items():
            field = self.fields[name]
            field.label, field.help_text = f"{label} ({unit})" if unit else label, help_text
            if isinstance(field, forms.FloatField):
                field.widget.attrs["step"] = "any"

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [(title, [self[name] for name in names]) for title, names in GROUPS.items()]

    def clean_extend_from_mean(self) -> float:
        mean, top_grade = float(self.cleaned_data["extend_from_mean"]), self.instance.project.top_grade
        if not 0 <= mean <= top_grade:
            raise forms.ValidationError(f"The mean to extend from is a relevance: 0 to {top_grade}.")
        return mean

    def clean_exam_bias(self) -> float:
        bias = float(self.cleaned_data["exam_bias"])
        if not 0 <= bias <= self._top_grade:
            raise forms.ValidationError(f"The bias lies between 0 and {self._top_grade}.")
        return bias

    def clean_exam_levels(self) -> int:
        levels = int(self.cleaned_data["exam_levels"])
        if not 1 <= levels <= self._top_grade + 1:
            raise forms.ValidationError(f"The distinguished levels are between 1 and {self._top_grade + 1}.")
        return levels

    @property
    def _top_grade(self) -> int:
        return self.instance.project.top_grade  # type: ignore[no-any-return]

    def clean_time_zone(self) -> str:
        name = str(self.cleaned_data["time_zone"])
        if name not in available_timezones():
            raise forms.ValidationError("There is no time zone of this name. One is called Asia/Singapore.")
        return name

    def clean_pay_currency(self) -> str:
        letters = str(self.cleaned_data["pay_currency"]).upper()
        if letters not in CURRENCIES:
            raise forms.ValidationError("ISO 4217 has no currency of these letters. One is SGD.")
        return letters


class ClipsForm(forms.Form):
    """Three questions about the clips of a project, whose answers fill the text that it begins with."""

    subjects = forms.ChoiceField(label="What do the clips show?", choices=[(name, name) for name in SUBJECTS])
    query = forms.CharField(label="A query of yours, as the example", max_length=200, initial=QUERY)
    detail = forms.CharField(label="Which details are easily wrong?", max_length=200, initial=DETAIL)

    def text(self, *, top_grade: int) -> str:
        answers = {name: " ".join(str(value).split()) for name, value in self.cleaned_data.items()}
        return guideline_text(**answers, top_grade=top_grade)


class GuidelineForm(SubmitForm):
    """The text of a version, the line of each grade, and what is new."""

    body = forms.CharField(
        label="Text, in Markdown",
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "true"}),
        error_messages={"required": "A guideline says something."},
    )
    changes = forms.CharField(
        label="What is new, for those who have read the version before",
        max_length=2000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def __init__(self, *args: Any, grades: range, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.grades = grades
        for grade in grades:
            self.fields[f"level_{grade}"] = forms.CharField(
                label=f"Grade {grade}",
                max_length=200,
                error_messages={"required": f"Say in one line what grade {grade} means."},
            )

    @property
    def level_fields(self) -> list[forms.BoundField]:
        """Best first, as annotators read them."""
        return [self[f"level_{grade}"] for grade in reversed(self.grades)]

    def draft_values(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        levels = [cleaned[f"level_{grade}"] for grade in self.grades]
        return {"body": cleaned["body"].replace("\r\n", "\n"), "levels": levels, "changes": cleaned["changes"]}


class GradeChoiceForm(SubmitForm):
    grade = grade_field()


class ExampleForm(GradeChoiceForm):
    query_text = forms.CharField(max_length=1000, error_messages={"required": "Say for which query it is an example."})
    moment = forms.UUIDField(error_messages={"required": "Choose a clip.", "invalid": "Choose one of the clips."})
