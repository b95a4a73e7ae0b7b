"""Forms of a draw of queries: its sizes, and the confirmation of what it comes to."""

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from annotation.queries.rules import LARGEST_SEED, NoSplit, Size, size_of

WRONG_SEED = f"A seed is a whole number from 0 to {LARGEST_SEED}."


class SizeField(forms.CharField):
    """How many queries, ``500``, or a share of the texts, ``5%``."""

    def clean(self, value: Any) -> Size:
        try:
            return size_of(super().clean(value))
        except NoSplit as error:
            raise forms.ValidationError(str(error)) from error


class DrawForm(forms.Form):
    val = SizeField(label="Validation", max_length=20, help_text="How many queries, 500, or a share of the texts, 5%.")
    test = SizeField(label="Test", max_length=20, help_text="The same. All others train.")
    seed = forms.IntegerField(
        help_text="The same seed and captions give the same queries.",
        validators=[MinValueValidator(0, WRONG_SEED), MaxValueValidator(LARGEST_SEED, WRONG_SEED)],
    )

    def sizes(self) -> dict[str, Size]:
        return {split: self.cleaned_data[split] for split in ("val", "test")}


class ConfirmForm(DrawForm):
    """Confirmation of the counts shown."""

    again = forms.BooleanField(required=False)
    seen_val = forms.IntegerField()
    seen_test = forms.IntegerField()
    seen_train = forms.IntegerField()
    seen_removed = forms.IntegerField()
    seen_waiting = forms.IntegerField()

    def seen(self) -> dict[str, int]:
        return {name[5:]: n for name, n in self.cleaned_data.items() if name.startswith("seen_")}
