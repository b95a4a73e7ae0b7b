"""Forms of the guideline: its text, and its examples."""

from typing import Any

from django import forms

from core.forms import SubmitForm
from judging.work.forms import grade_field
from judging.work.rules import GRADES


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

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for grade in GRADES:
            self.fields[f"level_{grade}"] = forms.CharField(
                label=f"Grade {grade}",
                max_length=200,
                error_messages={"required": f"Say in one line what grade {grade} means."},
            )

    @property
    def level_fields(self) -> list[forms.BoundField]:
        """Best first, as annotators read them."""
        return [self[f"level_{grade}"] for grade in reversed(GRADES)]

    def draft_values(self) -> dict[str, Any]:
        given = self.cleaned_data
        levels = [given[f"level_{grade}"] for grade in GRADES]
        return {"body": given["body"].replace("\r\n", "\n"), "levels": levels, "changes": given["changes"]}

    @staticmethod
    def initial_of(body: str, levels: list[str], changes: str) -> dict[str, str]:
        return {"body": body, "changes": changes} | {f"level_{grade}": line for grade, line in enumerate(levels)}


class ExampleForm(SubmitForm):
    grade = grade_field()
    query_text = forms.CharField(max_length=1000, error_messages={"required": "Say for which query it is an example."})
    moment = forms.UUIDField(error_messages={"required": "Choose a clip.", "invalid": "Choose one of the clips."})


class GradeChoiceForm(SubmitForm):
    grade = grade_field()
