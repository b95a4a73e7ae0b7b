"""The form that orders proposals, for the page and for programs."""

from typing import Any

from django import forms

from annotation.proposals.services import options_checked
from core.exceptions import NotPossible


class ProposalForm(forms.Form):
    """A method with its option; ``cleaned_data["options"]`` holds both."""

    method = forms.CharField(max_length=20)
    threshold = forms.FloatField(required=False, error_messages={"invalid": "The threshold is a number."})
    segment_s = forms.FloatField(required=False, error_messages={"invalid": "The length is a number of seconds."})
    most = forms.IntegerField(required=False, error_messages={"invalid": "The number of windows is a whole number."})

    def clean(self) -> dict[str, Any]:
        """Check the option against its method, where each by itself can be read."""
        values: dict[str, Any] = self.cleaned_data
        if not self.errors:
            try:
                values["options"] = options_checked(**values)
            except NotPossible as error:
                raise forms.ValidationError(str(error)) from error
        return values
