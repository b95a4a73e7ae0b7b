"""Reads what a checker sends about a query."""

from typing import Any

from django import forms

from judging.checking.services import Verdict
from judging.models import QueryCheck
from judging.work.forms import TimedForm

SECONDS = "Give seconds as a number, as 12.5."
Decision = QueryCheck.Decision
ACCEPTED = (Decision.ACCEPT, Decision.CORRECT)
NUMBER = {"required": SECONDS, "invalid": SECONDS}


class CheckForm(TimedForm):
    """Reads a decision; which of it is wrong, the service says."""

    decision = forms.ChoiceField(
        choices=QueryCheck.Decision.choices,
        error_messages={
            "required": "Accept the query or reject it.",
            "invalid_choice": "Accept the query or reject it.",
        },
    )
    start_s = forms.FloatField(error_messages=NUMBER)
    end_s = forms.FloatField(error_messages=NUMBER)
    reason = forms.ChoiceField(
        required=False,
        choices=QueryCheck.Reason.choices,
        error_messages={"invalid_choice": "Choose one of the reasons."},
    )
    note = forms.CharField(
        required=False, max_length=500, error_messages={"max_length": "Say why in at most 500 characters."}
    )

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        if form_data.get("decision") in ACCEPTED and form_data.get("reason"):
            raise forms.ValidationError("A reason to reject the query is chosen: press Reject, or load the page again.")
        return form_data

    def verdict(self, *, start_s: float, end_s: float) -> Verdict:
        """Return the decision about a moment with these bounds; to accept it with others is to correct it."""
        values: dict[str, Any] = {name: self.cleaned_data[name] for name in Verdict._fields}
        if values["decision"] == Decision.ACCEPT and (values["start_s"], values["end_s"]) != (start_s, end_s):
            values["decision"] = Decision.CORRECT  # Enter presses the first button
        return Verdict(**values | {"note": " ".join(values["note"].split())})
