"""Forms of exams: what annotators give, and what leads ask and say."""

from django import forms

from judging.forms import GivenForm, SubmitForm
from judging.models import Exam, Sitting
from judging.qualification.services.exams import DEPTH, MOST, QUERIES
from judging.work.rules import GRADES


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


class CloseForm(SubmitForm):
    """How a first cohort's truth follows from its grades."""

    truth_rule = forms.ChoiceField(
        choices=Exam.TruthRule.choices,
        required=False,
        error_messages={"invalid_choice": "Choose how the truth follows from the grades."},
    )
    call_off = forms.BooleanField(required=False)

    def clean_truth_rule(self) -> str:
        return self.cleaned_data["truth_rule"] or Exam.TruthRule.MEDIAN


class MissedForm(SubmitForm):
    """Whether a missed exam counts as an attempt, and why."""

    counts = forms.TypedChoiceField(
        choices=[("yes", "yes"), ("no", "no")],
        coerce=lambda said: said == "yes",
        error_messages={"required": "Say whether it counts.", "invalid_choice": "Say whether it counts."},
    )
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept in the audit."})


class AnchorForm(SubmitForm):
    """A lead's own grade of a pair; empty takes it back."""

    grade = forms.TypedChoiceField(
        choices=[(str(grade), str(grade)) for grade in GRADES],
        coerce=int,
        empty_value=None,
        required=False,
        error_messages={"invalid_choice": "A grade is a whole number from 0 to 4."},
    )


class RetireForm(SubmitForm):
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept with the pair."})


class ExplanationForm(SubmitForm):
    explanation = forms.CharField(
        max_length=4000, required=False, error_messages={"max_length": "An explanation has 4,000 characters at most."}
    )
