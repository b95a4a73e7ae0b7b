"""Forms of verification studies, and what people answer."""

import secrets
from typing import Any

from django import forms

from accounts.models import Project
from core.forms import SubmitForm
from judging.models import VerificationAnswer, VerificationStudy, WritingRound
from judging.verification.rules import (
    LARGEST_SEED,
    LONGEST_STATEMENT,
    MOST_PAIRS,
    MOST_PEOPLE,
    MOST_STATEMENTS,
    STATEMENTS,
)
from judging.verification.services import CHANGES

UNCLEAR = "Close the study, or open it again."


class StudyForm(SubmitForm):
    """A new study: its sample, its statements, and how many people answer."""

    name = forms.CharField(max_length=100, error_messages={"required": "Give the study a name."})
    n_pairs = forms.IntegerField(
        label="Pairs", min_value=1, max_value=MOST_PAIRS, initial=100, help_text="Descriptions with their moments."
    )
    answers_per_pair = forms.IntegerField(label="People for each pair", min_value=1, max_value=MOST_PEOPLE, initial=1)
    round = forms.ChoiceField(
        label="Drawn from", required=False, error_messages={"invalid_choice": "Choose a round of this project."}
    )
    seed = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=LARGEST_SEED,
        help_text="The same seed draws the same. Empty: one is drawn.",
    )
    statements = forms.CharField(
        max_length=MOST_STATEMENTS * (LONGEST_STATEMENT + 2),
        initial="\n".join(STATEMENTS),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=f"One a line, {MOST_STATEMENTS} at most. People say of each how far they agree.",
        error_messages={"required": "Write one statement at least."},
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rounds: dict[str, WritingRound] = {str(row.uuid): row for row in project.writing_rounds.all()}
        round_ = self.fields["round"]
        assert isinstance(round_, forms.ChoiceField)
        round_.choices = [
            ("", "the whole corpus"),
            *((uuid, f"round {row.name}") for uuid, row in self.rounds.items()),
        ]

    def clean_seed(self) -> int:
        seed = self.cleaned_data["seed"]
        return secrets.randbelow(LARGEST_SEED) if seed is None else int(seed)

    def clean_statements(self) -> list[str]:
        lines = [" ".join(line.split()) for line in self.cleaned_data["statements"].splitlines()]
        statements = [line for line in lines if line]
        if not statements:
            raise forms.ValidationError("Write one statement at least.")
        if len(statements) > MOST_STATEMENTS:
            raise forms.ValidationError(f"Write {MOST_STATEMENTS} statements at most.")
        if len(set(statements)) < len(statements):
            raise forms.ValidationError("Each statement stands there once.")
        if any(len(line) > LONGEST_STATEMENT for line in statements):
            raise forms.ValidationError(f"A statement has {LONGEST_STATEMENT} characters at most.")
        return statements

    def options(self) -> dict[str, Any]:
        """Return what ``study_create`` takes."""
        return {**self.cleaned_data, "round": self.rounds.get(self.cleaned_data["round"])}


class StudyChangeForm(SubmitForm):
    """Reads what becomes of a study."""

    change = forms.ChoiceField(
        choices=[(change, change) for change in CHANGES],
        error_messages={"required": UNCLEAR, "invalid_choice": UNCLEAR},
    )


class AnswersForm(SubmitForm):
    """Reads an answer to each statement of a study; which is missing, the service says."""

    def __init__(self, *args: Any, study: VerificationStudy, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.positions = {f"statement_{row.position}": row.position for row in study.statements.all()}
        for name in self.positions:
            self.fields[name] = forms.TypedChoiceField(
                required=False,
                coerce=int,
                empty_value=None,
                choices=VerificationAnswer.Value.choices,
                error_messages={"invalid_choice": "Choose one of the five answers for each statement."},
            )

    @property
    def values(self) -> dict[int, int]:
        """The answers by position of their statement; those that were left out are missing."""
        values = {position: self.cleaned_data.get(name) for name, position in self.positions.items()}
        return {position: value for position, value in values.items() if value is not None}
