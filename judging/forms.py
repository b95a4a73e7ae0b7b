import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator

from accounts.models import Membership, User
from accounts.services.identities import NewAccount
from annotation.models import NamedQuerySet
from annotation.similarity.registry import lacking, offered
from judging.models import Flag
from judging.people.services.standings import ACTIONS, REASON_IS_KEPT
from judging.work.rules import GRADES

MEASURED = re.compile(r"[0-9]{1,9}")
UNREADABLE_KEY = "The key of this form cannot be read. Load the page again."


class SubmitForm(forms.Form):
    """A form whose first fault is said in one line."""

    def first_error(self) -> str:
        return str(next(iter(self.errors.values()))[0])


class SelectAvailable(forms.Select):
    """A choice some of whose options cannot be chosen, because of what they lack."""

    def __init__(self, *args: Any, lacking: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lacking = lacking

    def create_option(self, name: str, value: Any, label: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        lacks = self.lacking.get(str(value))
        option = super().create_option(name, value, f"{label} (not installed)" if lacks else label, *args, **kwargs)
        if lacks:
            option["attrs"]["disabled"] = True
        return option


class SimilarityForm(SubmitForm):
    """What ranks candidates; empty for the sentence model of the settings."""

    similarity = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of the similarities that are offered."}
    )

    def __init__(self, *args: Any, chosen: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        (_, default), *others = offered(settings.SENTENCE_MODEL)
        named = {name for name, _ in others}
        mine = [(chosen, chosen)] if chosen and chosen not in named else []
        field = self.fields["similarity"]
        assert isinstance(field, forms.ChoiceField)
        field.initial = chosen
        field.choices = [("", default), *others, *mine]
        self.lacking = {name: lacks for name, _ in others if (lacks := lacking(name))}
        field.widget = SelectAvailable(choices=field.choices, lacking=self.lacking)

    def to_install(self) -> list[str]:
        """What would have to be installed for those that cannot be chosen, each said once."""
        return list(dict.fromkeys(self.lacking.values()))


class GivenForm(SubmitForm):
    """A grade, the key of its form, and how long it took."""

    key = forms.UUIDField(
        error_messages={
            "required": "This form carries no key. Load the page again.",
            "invalid": UNREADABLE_KEY,
        }
    )
    active_ms = forms.CharField(required=False)
    grade = forms.TypedChoiceField(
        choices=[(grade, grade) for grade in GRADES],
        coerce=int,
        error_messages={
            "required": "Choose a grade from 0 to 4.",
            "invalid_choice": "A grade is a whole number from 0 to 4.",
        },
    )

    def clean_active_ms(self) -> int | None:
        """What cannot be read is no reason to lose a grade: the server then says itself how long it took."""
        said = self.cleaned_data["active_ms"]
        return int(said) if MEASURED.fullmatch(said) else None


class GradeForm(GivenForm):
    comment = forms.CharField(required=False, max_length=2000)

    def clean_comment(self) -> str | None:
        """An empty comment takes back the one there is; a form without one leaves it."""
        return str(self.cleaned_data["comment"]) if "comment" in self.data else None


class FlagForm(SubmitForm):
    reason = forms.ChoiceField(
        choices=Flag.Reason.choices,
        error_messages={"required": "Say why you cannot judge it.", "invalid_choice": "Choose one of the reasons."},
    )
    comment = forms.CharField(required=False, max_length=2000)
    key = forms.UUIDField(required=False, error_messages={"invalid": UNREADABLE_KEY})


class KeyForm(SubmitForm):
    """What is sent again with the same key is answered as the first time."""

    key = forms.UUIDField(required=False, error_messages={"invalid": UNREADABLE_KEY})


class WithdrawForm(SubmitForm):
    reason = forms.CharField(max_length=1000, error_messages={"required": "Say why: the reason is kept with the pair."})


class WordForm(SubmitForm):
    """A lead's answer to a flag."""

    words = forms.CharField(
        max_length=1000,
        error_messages={
            "required": "Say why: your word is kept with the flag.",
            "max_length": "At most 1000 characters are kept with a flag.",
        },
    )


class BoundsForm(SubmitForm):
    """Where a moment starts and ends, in seconds of its video."""

    start_s = forms.FloatField(
        error_messages={"required": "Say where the moment starts.", "invalid": "Its start is a number of seconds."}
    )
    end_s = forms.FloatField(
        error_messages={"required": "Say where the moment ends.", "invalid": "Its end is a number of seconds."}
    )


class SieveForm(forms.Form):
    """Which pairs of a list to show."""

    q = forms.CharField(required=False, max_length=200)
    split = forms.ChoiceField(choices=[("", "any split"), ("val", "val"), ("test", "test")], required=False)
    status = forms.ChoiceField(
        choices=[("waiting", "waiting"), ("answered", "answered"), ("all", "all")], required=False
    )
    annotator = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def __init__(self, *args: Any, reasons: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"] = forms.ChoiceField(choices=[("", "any reason"), *reasons], required=False)


class QuerySetForm(SubmitForm):
    """Which queries make a new set."""

    name = forms.CharField(max_length=100, error_messages={"required": "Give the query set a name."})
    split = forms.ChoiceField(choices=[("", "any split"), ("val", "val"), ("test", "test")], required=False)
    words = forms.CharField(max_length=200, required=False)


class QuerySetChangeForm(SubmitForm):
    """What becomes of a set; what is left out stays."""

    priority = forms.TypedChoiceField(
        choices=NamedQuerySet.Priority.choices, coerce=int, required=False, empty_value=None
    )
    pause = forms.ChoiceField(choices=[("pause", "pause"), ("resume", "resume")], required=False)
    pilot = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")], required=False)


class BehindForm(forms.Form):
    """``after`` is the last case on a page, behind which the next one is looked for."""

    after = forms.UUIDField(required=False)


class ReviewForm(BehindForm):
    decision = forms.ChoiceField(choices=[("extend", "extend"), ("close", "close")])
    reason = forms.CharField(required=False, max_length=1000)


class AcceptForm(SubmitForm):
    """Which suggestions to accept together."""

    which = forms.ChoiceField(
        choices=[("all", "all suggestions"), ("extend", "those to extend"), ("close", "those to close")],
        required=False,
        error_messages={"invalid_choice": "Choose which suggestions."},
    )
    distance = forms.FloatField(
        min_value=0,
        max_value=4,
        required=False,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), "The distance is a number from 0 to 4."),
    )


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
