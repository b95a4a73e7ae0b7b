"""Forms of judging: a grade, a flag, and what leads decide about pairs."""

import re
from collections.abc import Sequence
from typing import Any

from django import forms

from core.forms import UNREADABLE_KEY, SharedFields, SubmitForm
from judging.models import Flag

MEASURED = re.compile(r"[0-9]{1,9}")
GRADE_ERRORS = {"required": "Choose a grade.", "invalid_choice": "A grade is a whole number of the scale."}
DIGITS = range(10)


def grade_field(**more: Any) -> forms.TypedChoiceField:
    """Return a field for a key's digit; whether the project has the grade, its service says."""
    return forms.TypedChoiceField(
        choices=[(digit, digit) for digit in DIGITS], coerce=int, error_messages=GRADE_ERRORS, **more
    )


class TimedForm(SubmitForm):
    """Reads how long the page was at work, in milliseconds."""

    active_ms = forms.CharField(required=False)

    def clean_active_ms(self) -> int | None:
        """Return None for an unreadable time: nothing is lost, the server then measures it itself."""
        text = self.cleaned_data["active_ms"]
        return int(text) if MEASURED.fullmatch(text) else None


class GivenForm(TimedForm):
    """A grade, the key of its form, and how long it took."""

    key = forms.UUIDField(
        error_messages={"required": "This form carries no key. Load the page again.", "invalid": UNREADABLE_KEY}
    )
    grade = grade_field()


class GradeForm(GivenForm):
    comment = forms.CharField(required=False, max_length=2000)

    def clean_comment(self) -> str | None:
        """An empty comment takes back the one there is; a form without one leaves it."""
        return str(self.cleaned_data["comment"]) if "comment" in self.data else None


GradeForm.base_fields = SharedFields(GradeForm.base_fields)


class FlagForm(SubmitForm):
    reason = forms.ChoiceField(
        choices=Flag.Reason.choices,
        error_messages={"required": "Say why you cannot judge it.", "invalid_choice": "Choose one of the reasons."},
    )
    comment = forms.CharField(required=False, max_length=2000)
    key = forms.UUIDField(required=False, error_messages={"invalid": UNREADABLE_KEY})


class ReasonForm(SubmitForm):
    """Why a pair is taken out."""

    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept with the pair."})


class RetirementForm(SubmitForm):
    """Why a video is retired, and its name, as the second yes."""

    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason stays with the video."})
    name = forms.CharField(max_length=200, error_messages={"required": "Type the name of the video."})

    def __init__(self, *values: Any, video_name: str) -> None:
        super().__init__(*values)
        self.video_name = video_name

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        if name != self.video_name:
            raise forms.ValidationError(f"That is not the name of this video, {self.video_name}. Nothing was removed.")
        return name


class WordForm(SubmitForm):
    """A lead's answer to a flag."""

    words = forms.CharField(
        max_length=1000,
        error_messages={
            "required": "Say why: your word is kept with the flag.",
            "max_length": "At most 1000 characters are kept with a flag.",
        },
    )


class BoundsForm(SubmitForm):
    """Where a moment starts and ends, in seconds of its video."""

    start_s = forms.FloatField(
        error_messages={"required": "Say where the moment starts.", "invalid": "Its start is a number of seconds."}
    )
    end_s = forms.FloatField(
        error_messages={"required": "Say where the moment ends.", "invalid": "Its end is a number of seconds."}
    )


class PairFilterForm(forms.Form):
    """Which pairs of a list to show."""

    q = forms.CharField(required=False, max_length=200)
    split = forms.ChoiceField(choices=[("", "any split"), ("val", "val"), ("test", "test")], required=False)
    status = forms.ChoiceField(
        choices=[("waiting", "waiting"), ("answered", "answered"), ("all", "all")], required=False
    )
    annotator = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def __init__(self, *args: Any, reasons: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"] = forms.ChoiceField(choices=[("", "any reason"), *reasons], required=False)
