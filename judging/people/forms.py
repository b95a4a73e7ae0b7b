"""Forms of people: joining, inviting, and the status of an annotator."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator

from accounts.models import Membership, User
from accounts.services.identities import NewAccount
from core.forms import SubmitForm
from judging.people.services import ACTIONS, REASON_IS_KEPT

NEW_PASSWORD = forms.PasswordInput({"autocomplete": "new-password"})


class JoinForm(SubmitForm):
    """What somebody new says about themselves."""

    username = forms.CharField(
        max_length=150,
        label="User name",
        validators=[UnicodeUsernameValidator()],
        widget=forms.TextInput({"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    name = forms.CharField(max_length=200, widget=forms.TextInput({"autocomplete": "name"}))
    email = forms.EmailField(
        max_length=254,
        required=False,
        label="E-mail",
        help_text="Optional. With it you can choose a new password yourself when you have forgotten yours.",
        widget=forms.EmailInput({"autocomplete": "email"}),
    )
    password = forms.CharField(label="Password", strip=False, max_length=1000, widget=NEW_PASSWORD)
    again = forms.CharField(
        label="Password again",
        strip=False,
        max_length=1000,
        widget=NEW_PASSWORD,
    )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        password = given.get("password")
        if password and "again" in given and password != given["again"]:
            self.add_error("again", "The two passwords differ.")
        elif password:
            try:
                validate_password(password, User(username=given.get("username", "")))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return given

    def account(self) -> NewAccount:
        return NewAccount(**{field: self.cleaned_data[field] for field in NewAccount._fields})


class InviteForm(SubmitForm):
    """Whom to invite; an e-mail address sends the link there."""

    role = forms.ChoiceField(choices=Membership.Role.choices, initial=Membership.Role.ANNOTATOR)
    email = forms.EmailField(max_length=254, required=False, label="E-mail")
    name = forms.CharField(max_length=200, required=False)
    days = forms.IntegerField(min_value=1, max_value=365, initial=14, label="Valid for days")


class StandingForm(SubmitForm):
    """A lead's word on an annotator."""

    action = forms.ChoiceField(
        choices=[(name, name) for name in ACTIONS], error_messages={"invalid_choice": "Choose what to do."}
    )
    reason = forms.CharField(max_length=1000, error_messages={"required": REASON_IS_KEPT})
