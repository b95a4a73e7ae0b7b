"""Forms of ground truth of other forms, and of the runs that are scored on it; for the pages and for programs."""

import argparse
from collections.abc import Callable
from typing import IO, Any

from django import forms

from core.files import text_or_packed
from models_runner.ground_truths.rules import (
    DEFAULTS,
    DIRECTIONS,
    FORM_LABELS,
    OPTION_NAMES,
    OPTIONS_BY_FORM,
    Form,
    Options,
    about_families,
)
from models_runner.models import GroundTruth
from moment_retrieval.cli.score import cutoffs, overlap, thresholds
from moment_retrieval.errors import InvalidCutoff
from moment_retrieval.formats.matrices import NPY_MAGIC
from moment_retrieval.metrics.ndcg_iou import Convention, Gain
from moment_retrieval.metrics.recall import check_cutoffs

MOST_NUMBERS = 10  # cutoffs, or thresholds
SUPPRESSION = "Moments whose IoU with a better one is more are left out. Empty: none is; of Rank n@m those of 0.5."
LONGEST_OVERLAP = 8  # as 0.123456: it becomes part of the name of a column
CONVENTION_LABELS = {
    Convention.PAPER: "as they stand in the run",
    Convention.RELEASED: "released: by the first appearance of their videos, as the published scorer of TVR has them",
}
TIES = "Which of two moments of equal score is first after a suppression; without one it changes nothing."
DIRECTION_LABELS = {"v2t": "from videos to captions", "t2v": "from captions to videos"}
GAIN_LABELS = {Gain.EXPONENTIAL: "exponential: 2^relevance − 1, as in the paper", Gain.LINEAR: "linear: the relevance"}


def text_or_matrix(upload: IO[bytes]) -> None:
    """Pass what may be a text, plain or packed, or a file of numpy. Raises ValidationError."""
    head = upload.read(len(NPY_MAGIC))
    upload.seek(0)
    if head != NPY_MAGIC:
        text_or_packed(upload)


class FileField(forms.FileField):
    """Ground truth or a run."""

    def __init__(self, **options: Any) -> None:
        errors = {"required": "Choose a file.", "empty": "The file is empty."}
        super().__init__(validators=[text_or_matrix], error_messages=errors, **options)


class NumbersField(forms.CharField):
    """Numbers with commas between, read as the command ``score`` reads them."""

    def __init__(self, read: Callable[[str], Any], *, max_length: int = 100, **options: Any) -> None:
        super().__init__(max_length=max_length, required=False, **options)
        self.read = read

    def clean(self, value: Any) -> Any:
        if not (text := super().clean(value)):
            return None
        try:
            return self.read(text)
        except argparse.ArgumentTypeError as error:
            raise forms.ValidationError(f"{str(error).capitalize()}.") from error


class GroundTruthForm(forms.Form):
    file = FileField()
    name = forms.CharField(max_length=100, error_messages={"required": "Name the ground truth."})
    split = forms.CharField(
        max_length=40, initial="test", help_text="A label for people: test, val, val_1.", label="Split"
    )
    form = forms.ChoiceField(
        required=False,
        choices=[("", "seen from the content"), *((form.value, label) for form, label in FORM_LABELS.items())],
        error_messages={"invalid_choice": f"Choose one of {', '.join(Form)}, or leave it empty."},
    )
    is_public = forms.BooleanField(
        required=False,
        label="The labels are public",
        help_text="Participants then see the leaderboard, download the file and upload runs. It cannot be changed "
        "later. Otherwise all of it is for leads and admins.",
    )


class TruthRunForm(forms.Form):
    """A run for one ground truth: of the options it has those of the form of that one."""

    file = FileField()
    system = forms.CharField(
        max_length=100, error_messages={"required": "Name the system."}, help_text="What the leaderboard calls it."
    )
    team = forms.CharField(max_length=100, required=False, help_text="Shown beside the system; may stay empty.")
    measures = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Choose at least one kind of measure."}
    )
    cutoffs = NumbersField(cutoffs, help_text="K of R@K, n of Rank n@m: whole numbers from 1, with commas.")
    thresholds = NumbersField(thresholds, help_text="Least IoU, above 0 and up to 1, with commas.")
    nms = NumbersField(overlap, max_length=LONGEST_OVERLAP, label="Suppression", help_text=SUPPRESSION)
    convention = forms.ChoiceField(
        required=False,
        choices=[(convention.value, label) for convention, label in CONVENTION_LABELS.items()],
        label="Equal scores",
        help_text=TIES,
    )
    gain = forms.ChoiceField(required=False, choices=[(gain.value, label) for gain, label in GAIN_LABELS.items()])
    directions = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        choices=list(DIRECTION_LABELS.items()),
        initial=DIRECTIONS,
        error_messages={"required": "Choose at least one direction."},
    )

    def __init__(self, *args: Any, truth: GroundTruth, **options: Any) -> None:
        super().__init__(*args, **options)
        self.truth_form = Form(truth.form)
        self.option_names = OPTIONS_BY_FORM[self.truth_form]
        measures = self.fields["measures"]
        assert isinstance(measures, forms.MultipleChoiceField)
        measures.choices = list(about_families(truth.measures))
        measures.initial = truth.measures
        for name in OPTION_NAMES:
            if name not in self.option_names:
                del self.fields[name]
        if defaults := DEFAULTS.get(self.truth_form):
            self.fields["cutoffs"].initial = ", ".join(map(str, defaults.cutoffs))
            self.fields["thresholds"].initial = ", ".join(map(str, defaults.thresholds))
            self.fields["nms"].initial = defaults.nms

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        options = {name: value for name in self.option_names if (value := form_data.pop(name, None))}
        for name in ("cutoffs", "thresholds"):
            if len(options.get(name, ())) > MOST_NUMBERS:
                self.add_error(name, f"Give at most {MOST_NUMBERS} numbers.")
        if self.truth_form in DEFAULTS and not self.errors:
            chosen_options = Options.of(self.truth_form, options)
            try:
                check_cutoffs(chosen_options.cutoffs, chosen_options.thresholds)
            except InvalidCutoff as error:
                self.add_error("cutoffs", f"{str(error).capitalize()}.")
        return {**form_data, "options": options}
