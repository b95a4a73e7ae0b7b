"""The form of a new search over settings: for pages, and what a program sends is read by it too."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accounts.models import Project
from models_runner.experiments.forms import ExperimentForm, words_for
from models_runner.models import SettingsSearch
from models_runner.tuning.models import MOST_RUNS
from models_runner.tuning.rules import SETTINGS, released_value, values_of
from moment_retrieval.training.trials import GRID, RANDOM, Tuning

ABOUT = ("release", "baseline", "top_n", "preset", "name")
METHOD = ("method", "n_runs", "seed", "stops_early")
SPACE = tuple(f"try_{name}" for name in SETTINGS)
LARGEST_SEED = 2**31 - 1


class SettingsSearchForm(ExperimentForm):
    """Say what is trained, as a benchmark run's form does, and which settings are tried."""

    seeds = None  # type: ignore[assignment]  # so Django leaves a field out
    labels = None  # type: ignore[assignment]
    name = forms.CharField(max_length=80, required=False, help_text="Empty: baseline and N.")
    method = forms.ChoiceField(
        choices=SettingsSearch.Method.choices,
        initial=RANDOM,
        help_text="Random draws from choices and ranges; grid takes all combinations of choices.",
    )
    n_runs = forms.IntegerField(
        label="Number of trainings",
        min_value=1,
        max_value=MOST_RUNS,
        initial=20,
        help_text=f"At most {MOST_RUNS}; of a grid, its first combinations.",
    )
    seed = forms.IntegerField(
        min_value=0, max_value=LARGEST_SEED, initial=1, help_text="Of what is drawn, and of every training."
    )
    stops_early = forms.BooleanField(
        label="Stop bad ones early",
        required=False,
        initial=True,
        help_text="Once three have finished: what is worse than their median after as many evaluations.",
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, project=project, **kwargs)
        for field_name, (name, setting) in zip(SPACE, SETTINGS.items(), strict=True):
            values = {SettingsSearch.Baseline(one).label: f"{released_value(name, one):g}" for one in setting.baselines}
            same = len(set(values.values())) == 1
            words = next(iter(values.values())) if same else ", ".join(" ".join(pair) for pair in values.items())
            help_text = f"As {setting.example}. Released: {words}."
            self.fields[field_name] = forms.CharField(
                label=setting.label, required=False, max_length=300, help_text=help_text
            )

    def clean(self) -> dict[str, Any]:
        form_data = super().clean()
        self.space: dict[str, Any] = {}
        for field_name, (name, setting) in zip(SPACE, SETTINGS.items(), strict=True):
            text, baseline = form_data.get(field_name, ""), form_data.get("baseline")
            if not text:
                continue
            try:
                if baseline and baseline not in setting.baselines:
                    raise ValueError(f"{SettingsSearch.Baseline(baseline).label} does not have this setting.")
                values = values_of(text, setting, allows_range=form_data.get("method") != GRID)
            except ValueError as error:
                self.add_error(field_name, str(error))
                continue
            self.space[setting.plan_name] = values
            if form_data.get(name) is not None:
                self.add_error(name, "This setting is searched for: leave it empty here.")
        if form_data.get("try_own_video_weight") and not form_data.get("score_videos"):
            self.add_error("try_own_video_weight", "CONQUER has it where it scores videos: let it, below.")
        if not self.space and not self.errors:
            self.add_error(None, "Name values of at least one setting to try.")
        return form_data

    def values(self) -> dict[str, Any]:
        """The arguments of ``settings_search_create``."""
        form_data = self.cleaned_data
        names = ("release", "baseline", "top_n", "name", "candidates", "key", "method", "seed", "stops_early")
        return {
            **{name: form_data[name] for name in names},
            "features": self.feature_values(),
            "options": self.option_values(),
            "space": self.space,
            "n_runs": form_data["n_runs"],
        }

    @property
    def refusal(self) -> str:
        """The first field that is wrong, by the name that programs have for it, and why."""
        field, reasons = next(iter(self.errors.items()))
        name = field.replace("try_", "space.").replace("__all__", "space")
        return f"{name}: {reasons[0]}"

    @property
    def about(self) -> list[forms.BoundField]:
        return [self[name] for name in ABOUT]

    @property
    def space_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in SPACE]

    @property
    def method_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in METHOD]


def search_form_of(project: Project, request_data: Mapping[str, Any]) -> SettingsSearchForm:
    """Return the form, filled with what a program sent and with what it left to be chosen for it."""
    left_out = {"method": RANDOM, "n_runs": 20, "seed": 1, "stops_early": True}
    space = {f"try_{name}": str(text) for name, text in request_data.get("space", {}).items()}
    rest = {name: value for name, value in request_data.items() if name != "space"}
    stops_early = bool(rest.pop("stops_early", True))
    form_values = {**left_out, **words_for(project, rest), **space, "stops_early": stops_early}
    return SettingsSearchForm(form_values, project=project)


def trials_of_grid(values: Mapping[str, Any]) -> int | None:
    """Return the number of trainings of a form that is being filled; None where it is not known yet."""
    n_runs = str(values.get("n_runs", ""))
    if not (n_runs.isascii() and n_runs.isdigit() and 1 <= int(n_runs) <= MOST_RUNS):
        return None
    if values.get("method") != GRID:
        return int(n_runs)
    n_combinations = combinations_of_grid(values)
    return min(int(n_runs), n_combinations) if n_combinations else None


def combinations_of_grid(values: Mapping[str, Any]) -> int | None:
    """Return how many combinations the grid of a form that is being filled has; None where it is not known yet, and of
    a random search."""
    if values.get("method") != GRID:
        return None
    space = {}
    for field_name, setting in zip(SPACE, SETTINGS.values(), strict=True):
        if text := str(values.get(field_name) or ""):
            try:
                space[setting.plan_name] = values_of(text, setting, allows_range=False)
            except ValueError:
                return None
    return Tuning(plan={}, space=space, runs=1, how=GRID).n_combinations if space else None
