"""Forms of rounds, and what a writer enters for a clip."""

from typing import Any

from django import forms

from accounts.models import Project, User
from core.forms import UNREADABLE_KEY, SubmitForm
from judging.collection.rules import KINDS, LEAST_TOKENS, MOST_OVERLAP, SHARES, Entry
from judging.collection.selectors import writers_of
from judging.collection.services import STATES
from judging.models import QueryType
from judging.work.forms import TimedForm

KIND_LABELS = {
    "visual": "Visual: about the video, or both",
    "textual": "Textual: about the subtitles, or both",
    "all": "All three",
}
UNCLEAR = {"required": "Choose what to do.", "invalid_choice": "Stop the writer, or let them go on."}
SECONDS = "Give seconds as a number, as 12.5."


class EntryForm(SubmitForm):
    """Reads what the marking page sends; which of it is wrong, the rules of the round say."""

    text = forms.CharField(required=False, max_length=20_000)
    type = forms.ChoiceField(
        required=False,
        choices=QueryType.choices,
        error_messages={"invalid_choice": "Choose what the query is about."},
    )
    start_s = forms.FloatField(required=False, error_messages={"invalid": SECONDS})
    end_s = forms.FloatField(required=False, error_messages={"invalid": SECONDS})

    @property
    def entry(self) -> Entry:
        return Entry(**{name: self.cleaned_data[name] for name in ("text", "type", "start_s", "end_s")})


class QueryForm(EntryForm, TimedForm):
    """An entry to be submitted, with the key that makes it one query however often it arrives."""

    file = forms.CharField(required=False, max_length=255)
    key = forms.UUIDField(error_messages={"required": UNREADABLE_KEY, "invalid": UNREADABLE_KEY})


class DraftForm(EntryForm):
    """An entry to be kept, with the version of the draft that it follows."""

    version = forms.IntegerField(min_value=0, max_value=2**31 - 1)


class MembersForm(SubmitForm):
    """Who takes part in a round; nobody ticked: all writers of the project."""

    members = forms.MultipleChoiceField(
        required=False, error_messages={"invalid_choice": "Choose among the writers of the project."}
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.writers: dict[str, User] = {str(member.user.uuid): member.user for member in writers_of(project)}
        members = self.fields["members"]
        assert isinstance(members, forms.MultipleChoiceField)
        members.choices = [(uuid, user.username) for uuid, user in self.writers.items()]

    @property
    def chosen(self) -> list[User]:
        return [self.writers[uuid] for uuid in self.cleaned_data["members"]]


class RoundForm(MembersForm):
    """A new round: the types of its queries, and how many a clip gets."""

    name = forms.CharField(max_length=100, error_messages={"required": "Give the round a name."})
    kind = forms.ChoiceField(label="Types of queries", choices=list(KIND_LABELS.items()), initial="visual")
    share_v = forms.IntegerField(label="Video, in percent", min_value=0, max_value=100, initial=SHARES["v"])
    share_t = forms.IntegerField(label="Subtitle, in percent", min_value=0, max_value=100, initial=SHARES["t"])
    share_vt = forms.IntegerField(label="Both, in percent", min_value=0, max_value=100, initial=SHARES["vt"])
    queries_per_clip = forms.IntegerField(label="Queries of a clip", min_value=1, max_value=50, initial=5)
    queries_per_visit = forms.IntegerField(label="Of these, by one writer", min_value=1, max_value=50, initial=1)
    least_tokens = forms.IntegerField(
        label="Words of a query, at least", min_value=1, max_value=50, initial=LEAST_TOKENS
    )
    most_overlap = forms.FloatField(
        label="Copied from a subtitle from this share of words", min_value=0.01, max_value=1, initial=MOST_OVERLAP
    )

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        types = KINDS[values["kind"]]
        if not all(values[f"share_{type_}"] for type_ in types):
            self.add_error("share_vt", "Give each type that the round asks for a share above 0.")
        if values["queries_per_visit"] > values["queries_per_clip"]:
            self.add_error("queries_per_visit", "One writer cannot write more queries than the clip gets.")
        return values

    def rules(self) -> dict[str, Any]:
        """Return the fields of the round; types that it does not ask for have no share."""
        values = self.cleaned_data
        fields = ("queries_per_clip", "queries_per_visit", "least_tokens", "most_overlap")
        types = KINDS[values["kind"]]
        shares = {f"share_{type_}": values[f"share_{type_}"] if type_ in types else 0 for type_ in SHARES}
        return {**{name: values[name] for name in fields}, **shares}


class RoundChangeForm(SubmitForm):
    """Reads what becomes of a round."""

    change = forms.ChoiceField(
        choices=[(change, change) for change in STATES],
        error_messages={"required": "Choose what to do.", "invalid_choice": "Pause the round, resume or close it."},
    )


class WriterChangeForm(SubmitForm):
    """Reads who gets no more clips, or clips again."""

    writer_uuid = forms.CharField(required=False)
    change = forms.ChoiceField(choices=[("stop", "stop"), ("go_on", "go_on")], error_messages=UNCLEAR)
    reason = forms.CharField(required=False, max_length=1000)
    round = forms.UUIDField(required=False)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.writers = {str(member.user.uuid): member.user for member in writers_of(project)}

    def clean_writer_uuid(self) -> str:
        uuid = str(self.cleaned_data["writer_uuid"])
        if uuid not in self.writers:
            raise forms.ValidationError("Choose among the writers of the project.")
        return uuid

    @property
    def writer(self) -> User:
        return self.writers[self.cleaned_data["writer_uuid"]]
