"""Forms of the lead's settings: guideline, training, gate, policy."""

from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from django import forms
from django.http import QueryDict

from judging.forms import SubmitForm
from judging.guidelines.models import POLICY_VALUES
from judging.models import Policy
from judging.pay.rules import CURRENCIES
from judging.qualification.services.training import MOST_QUERIES
from judging.work.rules import GRADES

if TYPE_CHECKING:
    PolicyModelForm = forms.ModelForm[Policy]
else:
    PolicyModelForm = forms.ModelForm  # generic in the stubs alone

MOST_OPTIONS = 6
LEAST_OPTIONS = 2
GRADE_ERRORS = {"required": "Choose a grade from 0 to 4.", "invalid_choice": "A grade is a whole number from 0 to 4."}


def grade_field(**more: Any) -> forms.TypedChoiceField:
    return forms.TypedChoiceField(
        choices=[(grade, grade) for grade in GRADES], coerce=int, error_messages=GRADE_ERRORS, **more
    )


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


class GateQuestionForm(SubmitForm):
    """A clip, what is asked of it, and two to six options of which one is right."""

    moment = forms.UUIDField(error_messages={"required": "Choose a clip.", "invalid": "Choose one of the clips."})
    description = forms.CharField(
        label="Description or question",
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Write what is asked."},
    )
    correct = forms.TypedChoiceField(
        choices=[(place, place) for place in range(MOST_OPTIONS)],
        coerce=int,
        error_messages={"required": "Mark the right option.", "invalid_choice": "Mark one of the options."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for place in range(MOST_OPTIONS):
            self.fields[f"option_{place}"] = forms.CharField(
                label=f"Option {place + 1}", max_length=500, required=False
            )

    @property
    def option_fields(self) -> list[forms.BoundField]:
        return [self[f"option_{place}"] for place in range(MOST_OPTIONS)]

    @property
    def marked(self) -> str:
        """The place of the option marked as right, as the browser sends it."""
        return str(self["correct"].value())

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        texts = [given.get(f"option_{place}", "") for place in range(MOST_OPTIONS)]
        options = [text for text in texts if text]
        if len(options) < LEAST_OPTIONS:
            raise forms.ValidationError("Write at least two options.")
        if len(set(options)) < len(options):
            raise forms.ValidationError("Two options are the same.")
        if "correct" in given:
            if not texts[given["correct"]]:
                raise forms.ValidationError("The option marked as right is empty.")
            given["correct"] = options.index(texts[given["correct"]])
        given["options"] = options
        return given

    def question_values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("description", "options", "correct")}


def gate_answers(data: QueryDict, count: int) -> list[int | None]:
    """The chosen place for each of ``count`` questions; None where there is none, -1 for what is no place."""

    def chosen(value: str | None) -> int | None:
        if not value:
            return None
        return int(value) if value.isascii() and value.isdecimal() and len(value) < 4 else -1

    return [chosen(data.get(f"answer-{number}")) for number in range(count)]


LABELS = {
    "lease_minutes": ("Lease", "minutes", "How long a batch stays with somebody who does nothing."),
    "break_minutes": ("Suggest a break after", "minutes", "0: never."),
    "extend_from_mean": (
        "Suggest a second batch from a mean of",
        "0 to 4",
        "Mean relevance of the last five settled pairs of a first batch.",
    ),
    "extend_automatically": ("Open it without asking", "", "Otherwise a lead decides under Review."),
    "gate_is_open": ("The gate is open", "", "Candidates pass a multiple-choice test before training."),
    "gate_questions": ("Questions asked", "", "Drawn at random from those written."),
    "gate_passing": ("Right answers needed", "", ""),
    "gate_attempts": ("Attempts", "", "After these a lead decides."),
    "exam_weights": ("Kappa of the pass rule", "", "How much a near miss counts."),
    "exam_kappa": ("Least kappa", "-1 to 1", "Of first grades against the truth."),
    "exam_kappa_low": (
        "Least lower bound of kappa",
        "-1 to 1",
        "Of its 95 % interval; -1 asks for nothing. Needs ten pairs.",
    ),
    "exam_bias": (
        "Most bias",
        "grades",
        "How far first grades may be above or below the truth on average; 4 asks for nothing.",
    ),
    "exam_levels": (
        "Levels told apart",
        "1 to 5",
        "Between how many levels of the truth grades must rise beyond chance; 1 asks for nothing.",
    ),
    "exam_attempts": ("Attempts", "", "The exam and its retakes."),
    "warm_up": ("Warm-up before a session", "", "Five pairs of known truth over all levels."),
    "warm_up_hours": ("A session ends after", "hours", "Without a grade."),
    "gold_percent": ("Gold", "% of pairs shown", "Pairs of known truth, mixed in unseen. 0: none; at most 50."),
    "pay_rate": ("Rate", "per hour", "For who has no rate of their own."),
    "pay_currency": ("Currency", "ISO 4217", ""),
    "pay_cap_s": ("Most time paid for one judgment", "seconds", ""),
    "pays_training": ("Training is paid", "", "Tutorial, exam and warm-up count as hours."),
    "time_zone": ("Time zone", "IANA", "Days and weeks begin by it, such as Asia/Singapore."),
    "alert_from": ("Judgments before anything is raised", "", ""),
    "alert_kappa": ("Kappa below", "-1 to 1", "Quadratic, against settled relevance or with partners."),
    "alert_bias": ("Mean bias above", "grades", "Up or down."),
    "alert_gold": ("Misaligned gold above", "share, 0 to 1", ""),
    "alert_fast_s": ("Too fast below", "seconds", "For one judgment."),
    "alert_fast_streak": ("Too fast so often in a row", "", ""),
    "alert_run": ("The same grade so often in a row", "", ""),
}
GROUPS = {
    "Leases and breaks": ("lease_minutes", "break_minutes"),
    "Second batches": ("extend_from_mean", "extend_automatically"),
    "Gate": ("gate_is_open", "gate_questions", "gate_passing", "gate_attempts"),
    "Exam": ("exam_weights", "exam_kappa", "exam_kappa_low", "exam_bias", "exam_levels", "exam_attempts"),
    "Warm-up and gold": ("warm_up", "warm_up_hours", "gold_percent"),
    "Pay": ("pay_rate", "pay_currency", "pay_cap_s", "pays_training", "time_zone"),
    "Alerts": (
        "alert_from",
        "alert_kappa",
        "alert_bias",
        "alert_gold",
        "alert_fast_s",
        "alert_fast_streak",
        "alert_run",
    ),
}


class PolicyForm(PolicyModelForm):
    """Every value of a policy; the database's own conditions speak as errors of the form."""

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

    def policy_values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in POLICY_VALUES}
