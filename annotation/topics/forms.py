"""Forms of topics: a file of them, one written on the page, and its change."""

from typing import Any

from django import forms

from annotation.models import Query
from annotation.queries.rules import JUDGED
from annotation.queries.services import LONGEST_NAME
from annotation.topics.files import LABELS, LARGEST_NUMBER, LONGEST_TEXT, LONGEST_TITLE, form_of
from core.uploads import UploadField

SPLITS = [(split.value, split.value) for split in Query.Split if split in JUDGED]
SET_HELP = "The set that the queries go to, new or there already. Empty: the name of the split."


def split_field() -> forms.ChoiceField:
    return forms.ChoiceField(
        choices=SPLITS,
        initial=Query.Split.TEST,
        error_messages={"invalid_choice": "Topics are judged: choose val or test."},
        help_text="Runs are scored on test; models are chosen by val.",
    )


def set_field() -> forms.CharField:
    return forms.CharField(label="Query set", max_length=LONGEST_NAME, required=False, help_text=SET_HELP)


class TopicImportForm(forms.Form):
    file = UploadField(max_length=200)
    format = forms.ChoiceField(
        label="Form of the file",
        choices=[("", "Find out from the file's name"), *LABELS.items()],
        required=False,
        error_messages={"invalid_choice": "This is none of the forms."},
    )
    split = split_field()
    query_set = set_field()

    def clean(self) -> dict[str, Any]:
        """Choose the form by the name of the file where none is chosen."""
        values: dict[str, Any] = self.cleaned_data
        if not values.get("format") and not {"format", "file"} & set(self.errors):
            values["format"] = form_of(values["file"].name or "")
            if not values["format"]:
                self.add_error("format", "The name of the file does not tell its form. Say which it is.")
        values["query_set"] = values.get("query_set") or values.get("split", "")
        return values


class TopicTextForm(forms.Form):
    """Take what a topic says, in the lengths of files."""

    title = forms.CharField(
        max_length=LONGEST_TITLE,
        error_messages={"required": "A topic has a title: the query that annotators see."},
        help_text="The query: annotators see it, and moments are ranked by it.",
    )
    description = forms.CharField(
        max_length=LONGEST_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="What is searched for, in a sentence or two. Folds out under the title.",
    )
    narrative = forms.CharField(
        max_length=LONGEST_TEXT,
        required=False,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="What is relevant and what is not. A blank line begins a paragraph.",
    )


class TopicForm(TopicTextForm):
    number = forms.IntegerField(
        min_value=1,
        max_value=LARGEST_NUMBER,
        required=False,
        help_text="It names the query in files. Empty: the next free one.",
    )
    split = split_field()
    query_set = set_field()

    field_order = ("number", "title", "description", "narrative", "split", "query_set")


class TopicChangeForm(TopicTextForm):
    seen_version = forms.IntegerField(widget=forms.HiddenInput)
