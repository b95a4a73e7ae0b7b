"""Forms of joining a project, of inviting, and of an annotator's status."""

from typing import Any

from django import forms
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator

from accounts.models import Membership, User
from core.forms import SubmitForm
from judging.people import services

NEW_PASSWORD = forms.PasswordInput({"autocomplete": "new-password"})


class JoinForm(SubmitForm):
    """Details that a newcomer enters."""

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
    again = forms.CharField(label="Password again", strip=False, max_length=1000, widget=NEW_PASSWORD)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        password = values.get("password")
        if password and "again" in values and password != values["again"]:
            self.add_error("again", "The two passwords differ.")
        elif password:
            try:
                validate_password(password, User(username=values.get("username", "")))
            except forms.ValidationError as error:
                self.add_error("password", error)
        return values


class InviteForm(SubmitForm):
    """Whom to invite; an e-mail address sends the link there."""

    QUALIFIED = "qualified"

    role = forms.ChoiceField(
        choices=[
            (Membership.Role.ANNOTATOR, "Annotator"),
            (QUALIFIED, "Annotator, qualified at once"),
            *(choice for choice in Membership.Role.choices if choice[0] != Membership.Role.ANNOTATOR),
        ],
        initial=Membership.Role.ANNOTATOR,
    )
    email = forms.EmailField(max_length=254, required=False, label="E-mail")
    name = forms.CharField(max_length=200, required=False)
    days = forms.IntegerField(min_value=1, max_value=365, initial=14, label="Valid for days")

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if values.get("role") == self.QUALIFIED:
            values |= {"role": Membership.Role.ANNOTATOR, "qualifies": True}
        return values


class StaffRoleForm(SubmitForm):
    """A role that a lead gives to somebody beside theirs, or takes from them."""

    person = forms.UUIDField(error_messages={"required": "Choose whose roles change.", "invalid": "Choose a person."})
    role = forms.ChoiceField(
        choices=[(role, role.label) for role in map(Membership.Role, Membership.COMBINABLE)],
        error_messages={
            "invalid_choice": "Lead, admin, writer and checker alone are roles beside others: choose one of these."
        },
    )
    change = forms.ChoiceField(
        choices=[("add", "Add"), ("remove", "Remove")], error_messages={"invalid_choice": "Add the role, or remove it."}
    )


class StatusForm(SubmitForm):
    """A lead's change of an annotator's status."""

    action = forms.ChoiceField(
        choices=[(name, name) for name in services.ACTIONS], error_messages={"invalid_choice": "Choose what to do."}
    )
    reason = forms.CharField(max_length=1000, error_messages={"required": services.REASON_REQUIRED})
