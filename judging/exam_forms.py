"""Forms of exams: what annotators give, and what leads ask and say."""

from django import forms

from judging.forms import GivenForm, SubmitForm
from judging.models import Exam, Sitting
from judging.services.exams.opening import DEPTH, MOST, QUERIES


class KnownGradeForm(GivenForm):
    """A grade for a pair of known truth."""


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
