"""The form of a new webhook."""

from django import forms

from core.forms import SubmitForm
from judging.webhooks.models import Event
from judging.webhooks.rules import LONGEST_URL, UrlRefused, url_checked


class WebhookForm(SubmitForm):
    url = forms.CharField(
        label="Address",
        max_length=LONGEST_URL,
        widget=forms.URLInput({"placeholder": "https://"}),
        error_messages={"required": "Give the address that messages go to."},
    )
    events = forms.MultipleChoiceField(
        label="Events",
        choices=Event.choices,
        initial=Event.values,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )

    def clean_url(self) -> str:
        try:
            return url_checked(self.cleaned_data["url"])
        except UrlRefused as error:
            raise forms.ValidationError(str(error)) from error


class DeliveryForm(forms.Form):
    """The query of the page: the delivery whose result it says."""

    delivery = forms.UUIDField(required=False)
