"""The form of what a team says of its releases."""

from django import forms

from judging.models import WORDS, ReleaseWords

LONGEST = 10_000
LABELS = {
    "title": ("Title", "Without one, the project's name."),
    "description": ("What is it?", "One or two sentences; search engines for data show them."),
    "motivation": ("Why was it made?", ""),
    "creators": ("Who made it?", "A team or an institution."),
    "funding": ("Who paid for it?", ""),
    "collection": ("Collection", "How annotators were found, whether they agreed to the release, who reviewed that."),
    "uses": ("What can it be used for?", ""),
    "limits": ("What should it not be used for?", ""),
    "distribution": ("How is it distributed?", "Also how to get the videos, which no release holds."),
    "maintenance": ("Who maintains it, and how?", ""),
    "licence": ("Licence", "Such as CC BY 4.0."),
    "licence_url": ("Address of the licence", ""),
    "url": ("Address of the data", ""),
    "contact": ("Who can be asked?", "It is published as it stands here."),
    "citation": ("How is it cited?", "BibTeX, or as text."),
}
SHORT = 3  # lines


class WordsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = ReleaseWords
        fields = WORDS

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        for name, (label, help_text) in LABELS.items():
            field = self.fields[name]
            field.label, field.help_text = label, help_text
            if isinstance(field.widget, forms.Textarea):
                field.widget.attrs |= {"rows": SHORT, "maxlength": LONGEST}
                field.max_length = LONGEST  # type: ignore[attr-defined]
