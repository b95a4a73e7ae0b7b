"""Forms of qualification: screening test, training pairs and exams."""

import re
from typing import Any

from django import forms
from django.http import QueryDict

from core.forms import SubmitForm
from judging.models import Exam
from judging.qualification.services.exams import DEPTH, MOST, QUERIES
from judging.qualification.services.training import MOST_QUERIES
from judging.work.forms import grade_field

LEAST_OPTIONS, MOST_OPTIONS = 2, 6


class ExamForm(SubmitForm):
    """Settings of a new exam."""

    kind = forms.ChoiceField(
        choices=Exam.Kind.choices,
        error_messages={"required": "Choose who makes the truth.", "invalid_choice": "Choose who makes the truth."},
    )
    queries = forms.IntegerField(min_value=1, max_value=MOST, initial=QUERIES)
    depth = forms.IntegerField(min_value=1, max_value=MOST, initial=DEPTH)
    seed = forms.IntegerField(min_value=0, max_value=2**31 - 1, required=False)


class CloseForm(SubmitForm):
    """How a first cohort's truth follows from its grades."""

    truth_rule = forms.TypedChoiceField(
        choices=Exam.TruthRule.choices,
        required=False,
        empty_value=Exam.TruthRule.MEDIAN,
        error_messages={"invalid_choice": "Choose how the truth follows from the grades."},
    )
    call_off = forms.BooleanField(required=False)


class MissedForm(SubmitForm):
    """Whether a missed exam counts as an attempt, and why."""

    counts = forms.TypedChoiceField(
        choices=[("yes", "yes"), ("no", "no")],
        coerce=lambda value: value == "yes",
        error_messages={"required": "Say whether it counts.", "invalid_choice": "Say whether it counts."},
    )
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept in the audit."})


class AnchorForm(SubmitForm):
    """A lead's own grade of a pair; empty takes it back."""

    grade = grade_field(required=False, empty_value=None)


class ExplanationForm(SubmitForm):
    explanation = forms.CharField(
        max_length=4000, required=False, error_messages={"max_length": "An explanation has 4,000 characters at most."}
    )


class DrawForm(SubmitForm):
    queries = forms.IntegerField(
        min_value=1,
        max_value=MOST_QUERIES,
        initial=5,
        error_messages={
            "required": "Say of how many queries.",
            "invalid": f"Draw 1 to {MOST_QUERIES} queries.",
            "min_value": "Draw at least one query.",
            "max_value": f"Draw at most {MOST_QUERIES} queries at once.",
        },
    )
    seed = forms.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, error_messages={"invalid": "A seed is a whole number."}
    )


class TrainingPairForm(SubmitForm):
    """The grade of a drawn pair and why; ``then`` is what follows."""

    grade = grade_field()
    explanation = forms.CharField(max_length=2000, required=False)
    then = forms.ChoiceField(choices=[("tutorial", "tutorial"), ("example", "example")], required=False)


class MoveForm(SubmitForm):
    by = forms.TypedChoiceField(
        choices=[(-1, "up"), (1, "down")], coerce=int, error_messages={"required": "Say which way."}
    )


class ScreeningQuestionForm(SubmitForm):
    """A clip, what is asked of it, and two to six options of which one is right."""

    moment = forms.UUIDField(error_messages={"required": "Choose a clip.", "invalid": "Choose one of the clips."})
    description = forms.CharField(
        label="Description or question",
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Write what is asked."},
    )
    correct = forms.TypedChoiceField(
        choices=[(position, position) for position in range(MOST_OPTIONS)],
        coerce=int,
        error_messages={"required": "Mark the right option.", "invalid_choice": "Mark one of the options."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for position in range(MOST_OPTIONS):
            self.fields[f"option_{position}"] = forms.CharField(
                label=f"Option {position + 1}", max_length=500, required=False
            )

    @property
    def option_fields(self) -> list[forms.BoundField]:
        return [self[f"option_{position}"] for position in range(MOST_OPTIONS)]

    @property
    def marked(self) -> str:
        """The place of the option marked as right, as the browser sends it."""
        return str(self["correct"].value())

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        texts = [values.get(f"option_{position}", "") for position in range(MOST_OPTIONS)]
        options = [text for text in texts if text]
        if len(options) < LEAST_OPTIONS:
            raise forms.ValidationError("Write at least two options.")
        if len(set(options)) < len(options):
            raise forms.ValidationError("Two options are the same.")
        if "correct" in values:
            if not texts[values["correct"]]:
                raise forms.ValidationError("The option marked as right is empty.")
            values["correct"] = options.index(texts[values["correct"]])
        values["options"] = options
        return values


def chosen_answers(data: QueryDict, count: int) -> list[int | None]:
    """The chosen place for each of ``count`` questions; None where there is none, -1 for what is no place."""
    values = [data.get(f"answer-{number}") for number in range(count)]
    return [(int(value) if re.fullmatch("[0-9]{1,3}", value) else -1) if value else None for value in values]
