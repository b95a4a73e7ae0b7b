"""Forms of a project: a new one, its similarity, and its query sets."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator

from accounts.models import Project, User
from annotation.corpora.selectors import projects_run_by
from annotation.models import Corpus, NamedQuerySet
from annotation.pools.rules import check_strata, strata_of, strata_read, strata_words
from annotation.similarity.registry import lacking, offered
from core.forms import SubmitForm
from core.texts import LONGEST_NAME
from core.uploads import NameField
from judging.work.rules import PRESETS, RULE_FIELDS


class SelectAvailable(forms.Select):
    """A choice some of whose options cannot be chosen, because of what they lack."""

    def __init__(self, *args: Any, lacking: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lacking = lacking

    def create_option(self, name: str, value: Any, label: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        reason = self.lacking.get(str(value))
        option = super().create_option(name, value, f"{label} (not installed)" if reason else label, *args, **kwargs)
        if reason:
            option["attrs"]["disabled"] = True
        return option


class SimilarityForm(SubmitForm):
    """Similarity that ranks candidates; empty for the sentence model of the settings."""

    similarity = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of the similarities that are offered."}
    )

    def __init__(self, *args: Any, similarity: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        (_, default), *others = offered(settings.SENTENCE_MODEL)
        names = {name for name, _ in others}
        mine = [(similarity, similarity)] if similarity and similarity not in names else []
        field = self.fields["similarity"]
        assert isinstance(field, forms.ChoiceField)
        field.initial = similarity
        field.choices = [("", default), *others, *mine]
        self.lacking = {name: reason for name, _ in others if (reason := lacking(name))}
        field.widget = SelectAvailable(choices=field.choices, lacking=self.lacking)

    def to_install(self) -> list[str]:
        """List what would have to be installed for those that cannot be chosen, each once."""
        return list(dict.fromkeys(self.lacking.values()))


class QuerySetForm(SubmitForm):
    """Which queries make a new set."""

    name = forms.CharField(max_length=100, error_messages={"required": "Give the query set a name."})
    split = forms.ChoiceField(choices=[("", "any split"), ("val", "val"), ("test", "test")], required=False)
    words = forms.CharField(max_length=200, required=False)


class QuerySetChangeForm(SubmitForm):
    """Changes to a query set; what is left out stays."""

    priority = forms.TypedChoiceField(
        choices=NamedQuerySet.Priority.choices, coerce=int, required=False, empty_value=None
    )
    pause = forms.ChoiceField(choices=[("pause", "pause"), ("resume", "resume")], required=False)
    pilot = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")], required=False)


def preset_field(
    help_text: str = "Their numbers can be changed on the page Rules until somebody begins to judge.",
    unset: str = "",
) -> forms.ChoiceField:
    """Return a choice of rules; ``unset`` names the choice of none, which comes first."""
    choices = [("", unset)] if unset else []
    choices += [(name, words) for name, (words, _) in PRESETS.items()]
    return forms.ChoiceField(
        label="Rules of judging",
        choices=choices,
        required=False,
        help_text=help_text,
        error_messages={"invalid_choice": "Choose one of the rules that are offered."},
    )


RULE_BOUNDS = {"top_grade": (1, 9), "judges": (2, 3), "max_spread": (0, 8), "max_rounds": (1, 2), "batch_size": (5, 50)}


class StrataField(forms.CharField):
    """Strata in one line, such as ``1-20: 20, 21-60: 10``; those of a program are rows already."""

    def prepare_value(self, value: Any) -> Any:
        return strata_words(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        try:
            return value if isinstance(value, list) else strata_read(super().to_python(value) or "")
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class RulesForm(forms.ModelForm):  # type: ignore[type-arg]
    """The rules of a project; ``has_second_batch`` may be left out. Each field carries the value that was seen."""

    strata = StrataField(
        label="Draw the pairs of a batch from strata of ranks",
        required=False,
        max_length=500,
        help_text="Empty: the best by rank. Else ranks and how many of them a batch draws, together as many as it has "
        "pairs: 1-10: 10, 11-40: 6, 41-100: 4.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.show_hidden_initial = True
        for name, (least, most) in RULE_BOUNDS.items():
            field, words = self.fields[name], f"From {least} to {most}."
            field.validators = [MinValueValidator(least, words), MaxValueValidator(most, words)]
            field.widget.attrs |= {"min": least, "max": most}

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if "top_grade" in values and values.get("max_spread", 0) >= values["top_grade"]:
            words = f"Less than the highest grade: from 0 to {values['top_grade'] - 1}."
            self.add_error("max_spread", words)
        if "strata" in values and "batch_size" in values:
            try:
                check_strata(strata_of(values["strata"]), batch_size=values["batch_size"])
            except ValueError as error:
                self.add_error("strata", str(error))
        return values

    @property
    def changes(self) -> dict[str, Any]:
        """The values that differ from those that were seen; all whose form carries none."""
        return {
            name: value
            for name, value in self.cleaned_data.items()
            if name in self.changed_data or self[name].html_initial_name not in self.data
        }

    class Meta:
        model = Project
        fields = RULE_FIELDS
        labels: ClassVar = {
            "top_grade": "Highest grade",
            "judges": "Judges a round",
            "max_spread": "Spread of grades that agree",
            "max_rounds": "Rounds",
            "batch_size": "Pairs of a batch",
            "has_second_batch": "A lead may open a second batch for a query",
        }
        help_texts: ClassVar = {
            "top_grade": "Grades go from 0 to this one: 1 is yes or no.",
            "judges": "Two or three people grade a pair before it is decided.",
            "max_spread": "How far apart they may be; 0: they must be equal.",
            "max_rounds": "With two, pairs whose grades lie too far apart go to as many others once more.",
            "batch_size": "5 to 50, judged in one go.",
            "has_second_batch": "Without, a query is closed with its first batch.",
        }


class CollectionForm(forms.Form):
    """The name of a project and of its new corpus, and by what rules is judged."""

    name = NameField(max_length=LONGEST_NAME, error_messages={"required": "Name the collection."})
    rules = preset_field()

    def clean_rules(self) -> dict[str, Any]:
        return PRESETS[self.cleaned_data["rules"] or next(iter(PRESETS))][1]


class ProjectForm(forms.Form):
    """Whose settings it begins with is one of the viewer's projects, those over the same corpus first."""

    name = forms.CharField(max_length=LONGEST_NAME, error_messages={"required": "Name the project."})
    settings_of = forms.ChoiceField(
        required=False, error_messages={"invalid_choice": "Choose one of your projects, or none."}
    )
    with_queries = forms.BooleanField(required=False)
    rules = preset_field(unset="As in the project whose settings it takes; else TVR-Ranking")

    def __init__(self, *args: Any, corpus: Corpus, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = projects_run_by(user).select_related("dataset")
        mine = sorted(rows, key=lambda project: project.dataset.corpus_id != corpus.pk)
        self.corpus, self.projects = corpus, {str(project.uuid): project for project in mine}
        field = self.fields["settings_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", ""), *((uuid, project.name) for uuid, project in self.projects.items())]

    @property
    def offered(self) -> list[tuple[str, str, bool]]:
        """UUID and name of a project, and whether it is over the same corpus."""
        return [(uuid, row.name, row.dataset.corpus_id == self.corpus.pk) for uuid, row in self.projects.items()]

    def clean_rules(self) -> dict[str, Any]:
        name = self.cleaned_data["rules"]
        return PRESETS[name][1] if name else {}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        source = cleaned["settings_of"] = self.projects.get(cleaned.get("settings_of", ""))
        rules = cleaned.get("rules", {})
        if source and any(getattr(source, name) != value for name, value in rules.items()):
            words = f"Settings of {source.name} are for its own rules."
            self.add_error("rules", f"{words} Choose “As in the project whose settings it takes”, or no settings.")
        if cleaned.get("with_queries") and (source is None or source.dataset.corpus_id != self.corpus.pk):
            self.add_error("with_queries", "Queries come only from a project over the same corpus; choose one above.")
        return cleaned
