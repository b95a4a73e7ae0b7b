"""Forms of exams: what annotators give, and what leads ask and say."""

from django import forms

from judging.forms import UNREADABLE_KEY, SubmitForm
from judging.models import Exam, Sitting
from judging.rules.consensus import GRADES
from judging.services.exams.opening import DEPTH, MOST, QUERIES

LONGEST_MS = 60 * 60 * 1000


class KnownGradeForm(SubmitForm):
    key = forms.UUIDField(
        error_messages={"required": "This form carries no key. Load the page again.", "invalid": UNREADABLE_KEY}
    )
    grade = forms.TypedChoiceField(
        choices=[(grade, grade) for grade in GRADES],
        coerce=int,
        error_messages={
            "required": "Choose a grade from 0 to 4.",
            "invalid_choice": "A grade is a whole number from 0 to 4.",
        },
    )
    active_ms = forms.CharField(required=False)

    def clean_active_ms(self) -> int | None:
        """What the page measured; nothing where it says nothing that can be read."""
        said = str(self.cleaned_data["active_ms"])
        readable = said.isascii() and said.isdecimal() and len(said) < 12
        return min(int(said), LONGEST_MS) if readable else None


class PurposeForm(SubmitForm):
    purpose = forms.ChoiceField(
        choices=Sitting.Purpose.choices, error_messages={"required": "Say what for.", "invalid_choice": "Say what for."}
    )


class ExamForm(SubmitForm):
    """What a new exam asks."""

    kind = forms.ChoiceField(
        choices=Exam.Kind.choices,
        error_messages={"required": "Choose who makes the truth.", "invalid_choice": "Choose who makes the truth."},
    )
    queries = forms.IntegerField(min_value=1, max_value=MOST, initial=QUERIES)
    depth = forms.IntegerField(min_value=1, max_value=MOST, initial=DEPTH)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)


class RetireForm(SubmitForm):
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept with the pair."})


class ExplanationForm(SubmitForm):
    explanation = forms.CharField(
        max_length=4000, required=False, error_messages={"max_length": "An explanation has 4,000 characters at most."}
    )
