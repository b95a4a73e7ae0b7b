from django import forms

from judging.models import Flag
from judging.rules.consensus import GRADES


class SubmitForm(forms.Form):
    """What an annotator sends about a pair."""

    def first_error(self) -> str:
        return str(next(iter(self.errors.values()))[0])


class GradeForm(SubmitForm):
    key = forms.UUIDField(
        error_messages={
            "required": "This form carries no key. Load the page again.",
            "invalid": "The key of this form cannot be read. Load the page again.",
        }
    )
    comment = forms.CharField(required=False, max_length=2000)
    grade = forms.TypedChoiceField(
        choices=[(grade, grade) for grade in GRADES],
        coerce=int,
        error_messages={
            "required": "Choose a grade from 0 to 4.",
            "invalid_choice": "A grade is a whole number from 0 to 4.",
        },
    )

    def clean_comment(self) -> str | None:
        """An empty comment takes back the one there is; a form without one leaves it."""
        return str(self.cleaned_data["comment"]) if "comment" in self.data else None


class FlagForm(SubmitForm):
    reason = forms.ChoiceField(
        choices=Flag.Reason.choices,
        error_messages={"required": "Say why you cannot judge it.", "invalid_choice": "Choose one of the reasons."},
    )
    comment = forms.CharField(required=False, max_length=2000)


class ReviewForm(forms.Form):
    decision = forms.ChoiceField(choices=[("extend", "extend"), ("close", "close")])
    reason = forms.CharField(required=False, max_length=1000)
