"""The form of a new experiment: for pages, and what a program sends is read by it too."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django import forms

from accounts.models import Project
from core.forms import UNREADABLE_KEY
from models_runner.experiments.models import MOST_SEEDS
from models_runner.experiments.selectors import queries_by_source_split, trainings_with_weights
from models_runner.experiments.settings import ABLATIONS, NAME_CANDIDATES, PRESETS, changes_of, heads_of, options_of
from models_runner.features.selectors import KINDS, feature_choices
from models_runner.leaderboard.forms import ReleaseField, ready_releases, releases_offer, rows_offer
from models_runner.models import Experiment, SettingsSearch, Training
from moment_retrieval.settings import (
    EPOCHS,
    EVALUATIONS_PER_EPOCH,
    LEARNING_RATE,
    PATIENCE,
    RELEASED,
    WARM_UP,
    Boundaries,
    Encoder,
    Objective,
    Ranking,
    Settings,
    Streams,
)

ABOUT = ("release", "baseline", "top_n", "seeds", "name", "preset", "labels")
CONQUERS = ("sampled_videos", "sampled_pool", "score_videos", "ranking", "own_video_weight")
RELOCLNETS = ("frame_weight", "video_weight")
WHOLE_CORPUS = ("alpha", "margin")  # of those that search all videos
CHANGES = (
    *("epochs", "evaluations_per_epoch", "patience", "batch", "lr", "hidden", "padding", "precision"),
    *("warmup", "end_offset_s", "endpoints", "mask_positives", "sum_positives", "hard_from_epoch", "hard_pool"),
    *("weigh_by_similarity", "same_split", "shuffle_links"),
    *(*WHOLE_CORPUS, "span_weight", *RELOCLNETS),
    *CONQUERS,
    *ABLATIONS,
)
YES_NO = [("", "as the preset"), ("yes", "yes"), ("no", "no")]
BOOLEAN_WORDS = {True: "yes", False: "no"}  # by programs
OBJECTIVE = Objective()


def _for_each_n(values: Mapping[int, float]) -> str:
    return f"{', '.join(f'{value:,g}' for value in values.values())} for N = {', '.join(map(str, values))}"


def _for_each_baseline(value: Callable[[Settings], object]) -> str:
    return ", ".join(f"{name.label} {value(RELEASED[name])}" for name in Experiment.Baseline)


class TrainingField(forms.ModelChoiceField):  # type: ignore[type-arg]  # which is generic for the type checker alone
    def label_from_instance(self, obj: Training) -> str:
        return obj.system


def _whole(least: int, help_text: str, most: int = 100_000, **kwargs: Any) -> forms.IntegerField:
    """Return the field of a whole number that stays as the preset says where it is empty."""
    return forms.IntegerField(min_value=least, max_value=most, required=False, help_text=help_text, **kwargs)


def _number(least: float, most: float, help_text: str, **kwargs: Any) -> forms.FloatField:
    """Return the field of a number that stays as the preset says where it is empty."""
    return forms.FloatField(min_value=least, max_value=most, required=False, help_text=help_text, **kwargs)


def _as_preset(choices: Sequence[str], help_text: str) -> forms.ChoiceField:
    """Return the field of a word that stays as the preset says where it is empty."""
    pairs = [("", "as the preset"), *((word, word) for word in choices)]
    return forms.ChoiceField(choices=pairs, required=False, help_text=help_text)


def _yes_no(**kwargs: Any) -> forms.TypedChoiceField:
    """Return the field of a yes or no that stays as the preset says where it is empty."""
    coerce = {"yes": True, "no": False}.get
    return forms.TypedChoiceField(choices=YES_NO, coerce=coerce, empty_value=None, required=False, **kwargs)


class Ends(forms.TypedChoiceField):
    """Of two numbers, however they are written."""

    def to_python(self, value: Any) -> str:
        try:
            return f"{float(value):g}"
        except (TypeError, ValueError):
            return str(super().to_python(value))


class ExperimentForm(forms.Form):
    """Model, data and settings to train; options that stay empty are those of the preset."""

    key = forms.UUIDField(required=False, error_messages={"invalid": UNREADABLE_KEY})
    release = ReleaseField(help_text="Gives the training set, and what is scored on.")
    baseline = forms.ChoiceField(choices=Experiment.Baseline.choices, initial="reloclnet")
    top_n = forms.IntegerField(
        label="Moments per training query (N)",
        min_value=Experiment.TOP_N[0],
        max_value=Experiment.TOP_N[-1],
        initial=40,
        help_text="The most similar moments, which stand in for judged ones. The paper has 1, 20 and 40; a release"
        " lists 40 of a query, so more are not to be had.",
    )
    seeds = forms.IntegerField(
        min_value=1, max_value=MOST_SEEDS, initial=1, help_text="Trained one after the other, from seed 1."
    )
    name = forms.CharField(
        max_length=80, required=False, help_text="On the leaderboard, with the seed; empty: baseline and N."
    )
    preset = forms.ChoiceField(
        choices=list(PRESETS.items()),
        initial="released",
        label="Settings",
        help_text="Small: for a computer without a GPU, and for the demo.",
    )
    labels = forms.ChoiceField(
        choices=[(Experiment.Labels.JUDGED, "judged"), (Experiment.Labels.SIMILARITY, "by similarity")],
        initial=Experiment.Labels.JUDGED,
        required=False,
        help_text="Of validation and test. By similarity: an upper bound, never on the leaderboard.",
    )
    video = forms.ChoiceField(label="Video features", error_messages={"required": "Choose features of the videos."})
    subtitle = forms.ChoiceField(
        label="Subtitle features", required=False, help_text="None: as if nothing were said in any video."
    )
    query = forms.ChoiceField(label="Query features", error_messages={"required": "Choose features of the queries."})
    candidates = TrainingField(
        Training.objects.none(),
        to_field_name="uuid",
        required=False,
        empty_label="none",
        label="Candidates for CONQUER",
        help_text="A finished XML or ReLoCLNet: CONQUER looks for moments in its best videos only.",
        error_messages={"invalid_choice": "Choose a finished XML or ReLoCLNet of this project."},
    )
    epochs = _whole(1, f"Released: {_for_each_n(EPOCHS)}.")
    evaluations_per_epoch = _number(0.001, 1000, f"Released: {_for_each_n(EVALUATIONS_PER_EPOCH)}.")
    patience = _whole(0, f"Evaluations without improvement that end a training; 0: never. Released: {PATIENCE}.")
    batch = _whole(1, f"Released: {_for_each_baseline(lambda settings: settings.batch)}.")
    lr = _number(1e-9, 1, f"Released: {LEARNING_RATE:g}.", label="Learning rate")
    hidden = _whole(
        4,
        f"A multiple of the attention heads. Released: {_for_each_baseline(lambda settings: settings.config.hidden)}.",
        most=8192,
        label="Hidden size",
    )
    warmup = _number(
        0,
        0.99,
        f"Share of the steps until the learning rate is reached; CONQUER has none. Released: {WARM_UP:g}.",
        label="Warm-up",
    )
    padding = _as_preset(
        ("official", "compact"), "Compact computes no padding: faster; only a video's last two clips differ."
    )
    precision = _as_preset(("float32", "bfloat16", "float16"), "16 bits are faster on a GPU. Released: float32.")
    end_offset_s = Ends(
        label="Ends",
        choices=[("", "as the preset"), ("0", "corrected"), ("1.5", "1.5 s late")],
        coerce=float,
        empty_value=None,
        required=False,
        help_text="XML and CONQUER were released with ends 1.5 s late, ReLoCLNet was not. Small: corrected.",
    )
    endpoints = _yes_no(
        label="Where a clip lies (TEF)",
        help_text="Two more features: where in its video a clip begins and ends. Released: XML yes, the others no.",
    )
    mask_positives = _yes_no(
        label="Mask other positives",
        help_text="Other moments of the query are no negatives. The paper says so; released: no.",
    )
    sum_positives = _yes_no(
        label="Sum all positives",
        help_text="In ReLoCLNet's video contrast, as the papers word the mask. Released: no.",
    )
    hard_from_epoch = _whole(
        0,
        f"XML and ReLoCLNet; beyond the last epoch: never. Released: {OBJECTIVE.hard_from_epoch}, counted from 0.",
        label="Hard negatives from epoch",
    )
    hard_pool = _whole(
        1,
        f"So many of the hardest videos of a batch. Released: {OBJECTIVE.hard_pool}.",
        label="Hard negatives among",
    )
    weigh_by_similarity = _yes_no(help_text="A sample counts by its similarity to the query. Released: yes.")
    same_split = _yes_no(
        label="Candidates of one split",
        help_text="CONQUER looks into the split that the query's own video came from, as the published lists do.",
    )
    shuffle_links = _yes_no(
        label="Shuffle queries and moments", help_text="A control that has nothing to learn; its scores are chance."
    )
    sampled_videos = _whole(
        0,
        f"CONQUER learns the moment among the clips of so many other candidates, too. Its authors: 3; released: "
        f"{OBJECTIVE.sampled_videos}.",
        most=100,
    )
    sampled_pool = _whole(
        0,
        f"They are drawn from the candidates before the query's own video and so many more. Its authors: "
        f"{OBJECTIVE.sampled_pool:,}.",
    )
    score_videos = _yes_no(help_text="CONQUER learns which of the sampled videos is the query's own. Released: no.")
    ranking = _as_preset(
        list(Ranking),
        "CONQUER's moments of several videos: by their logits (disjoint, as released), weighed by the candidates' "
        "scores (general) or by its own (exclusive).",
    )
    alpha = _number(
        0,
        1000,
        "How steeply a video's score counts where moments are ranked; of XML and ReLoCLNet. Released: "
        f"{RELEASED['xml'].decoding.alpha:g} and {RELEASED['reloclnet'].decoding.alpha:g}.",
    )
    margin = _number(
        0, 10, f"By how much the own video must lead; of XML and ReLoCLNet. Released: {OBJECTIVE.margin:g}."
    )
    span_weight = _number(0, 1000, f"Of the loss of start and end. Released: {OBJECTIVE.span_weight:g}.")
    frame_weight = _number(0, 1000, f"Of ReLoCLNet's frame contrast. Released: {OBJECTIVE.frame_weight:g}.")
    video_weight = _number(0, 1000, f"Of ReLoCLNet's video contrast. Released: {OBJECTIVE.video_weight:g}.")
    own_video_weight = _number(
        0,
        1000,
        "Of the own video among the sampled ones, where CONQUER scores videos. Its authors: "
        f"{OBJECTIVE.own_video_weight:g}.",
    )
    encoder = _as_preset(list(Encoder), "XML's. Released: transformer.")
    modular = _yes_no(help_text="XML's query has a vector for what is seen and one for what is heard. Released: yes.")
    streams = _as_preset(list(Streams), "What XML reads of a video. Released: both.")
    boundaries = _as_preset(
        list(Boundaries),
        "XML finds moments by a convolution over their clips' scores, as sliding windows, or as groups of clips.",
    )

    def __init__(
        self, *args: Any, project: Project, files: Mapping[str, Path] = MappingProxyType({}), **kwargs: Any
    ) -> None:
        """``files`` may be chosen by kind though they are no sets of the project."""
        super().__init__(*args, **kwargs)
        self.project = project
        self.choices = {kind: feature_choices(project, kind) for kind in KINDS}
        for kind, path in files.items():
            self.choices[kind][str(path)] = {"name": path.stem, "path": str(path)}
        for kind, choices in self.choices.items():
            field = self.fields[kind]
            assert isinstance(field, forms.ChoiceField)
            none = [] if field.required else [("", "none")]
            field.choices = [*none, *((key, facts["name"]) for key, facts in choices.items())]
        releases_offer(self, project)
        givers = trainings_with_weights(project).filter(experiment__baseline__in=NAME_CANDIDATES)
        rows_offer(self, "candidates", givers.order_by("-pk"))
        if self.choices["subtitle"]:
            self.initial.setdefault("subtitle", next(iter(self.choices["subtitle"])))

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        baseline, candidates = form_data.get("baseline"), form_data.get("candidates")
        needs_candidates = baseline is not None and RELEASED[baseline].needs_candidates
        if needs_candidates and not candidates and "candidates" not in self.errors:
            self.add_error("candidates", "CONQUER needs candidates: train XML or ReLoCLNet first, and choose it here.")
        elif candidates and not needs_candidates:
            self.add_error("candidates", "Only CONQUER takes candidates.")
        if form_data.get("same_split") and not needs_candidates:
            self.add_error("same_split", "Only CONQUER takes candidates.")
        elif form_data.get("same_split") and not queries_by_source_split(self.project).exists():
            self.add_error("same_split", "It is not known which split the videos of this project's queries came from.")
        if form_data.get("sum_positives") and baseline not in (None, Experiment.Baseline.RELOCLNET):
            self.add_error("sum_positives", "Only ReLoCLNet has a video contrast.")
        self._refuse_options_of_others(form_data)
        if not self.errors:
            self._check_together(form_data)
        if {"baseline", "preset", "hidden"} <= form_data.keys() and form_data["hidden"]:
            heads = heads_of(form_data["baseline"], form_data["preset"])
            if form_data["hidden"] % heads:
                self.add_error("hidden", f"The attention has {heads} heads: give a multiple of {heads}.")
        return form_data

    def _refuse_options_of_others(self, form_data: Mapping[str, Any]) -> None:
        baseline = form_data.get("baseline")
        options = {
            Experiment.Baseline.CONQUER: CONQUERS,
            Experiment.Baseline.XML: ABLATIONS,
            Experiment.Baseline.RELOCLNET: RELOCLNETS,
        }
        for owner, names in options.items():
            for name in names if baseline not in (None, owner) else ():
                if form_data.get(name) not in (None, ""):
                    self.add_error(name, f"Only {owner.label} has this setting.")
        for name in WHOLE_CORPUS if baseline == Experiment.Baseline.CONQUER else ():
            if form_data.get(name) is not None:
                self.add_error(name, "CONQUER does not have this setting; XML and ReLoCLNet do.")

    def _check_together(self, form_data: Mapping[str, Any]) -> None:
        """Refuse settings that a training would refuse for another one."""
        if form_data["score_videos"] and not form_data["sampled_videos"]:
            self.add_error("score_videos", "CONQUER learns it among sampled videos: sample 1 or more.")
        elif form_data["ranking"] == Ranking.EXCLUSIVE and not form_data["score_videos"]:
            self.add_error("ranking", "Exclusive ranks by CONQUER's own scores of videos: let it score them.")
        if form_data["boundaries"] not in ("", Boundaries.CONVOLUTION) and form_data["end_offset_s"] == 0:
            self.add_error("end_offset_s", "Windows and groups end with their last clip: leave it empty.")

    def values(self) -> dict[str, Any]:
        """The arguments of ``experiment_create``."""
        form_data = self.cleaned_data
        return {
            **{
                name: form_data[name] for name in ("release", "baseline", "top_n", "seeds", "name", "candidates", "key")
            },
            "features": self.feature_values(),
            "options": self.option_values(),
            "labels": form_data["labels"] or Experiment.Labels.JUDGED,
        }

    def feature_values(self) -> dict[str, Any]:
        """Facts of the files that were chosen, by kind."""
        keys = {kind: self.cleaned_data[kind] for kind in self.choices}
        return {kind: self.choices[kind][key] for kind, key in keys.items() if key}

    def option_values(self) -> dict[str, Any]:
        """Options of a plan: the preset, and the changes to it."""
        form_data = self.cleaned_data
        changes = {name: None if form_data[name] == "" else form_data[name] for name in CHANGES}
        return options_of(form_data["baseline"], form_data["top_n"], form_data["preset"], changes)

    @property
    def refusal(self) -> str:
        """The first field that is wrong, and why."""
        field, reasons = next(iter(self.errors.items()))
        return f"{field}: {reasons[0]}"

    @property
    def about(self) -> list[forms.BoundField]:
        return [self[name] for name in ABOUT]

    @property
    def features(self) -> list[forms.BoundField]:
        return [self[name] for name in (*KINDS, "candidates")]

    @property
    def changes(self) -> list[forms.BoundField]:
        return [self[name] for name in CHANGES]


def form_of(
    project: Project, request_data: Mapping[str, Any], files: Mapping[str, Path] | None = None
) -> ExperimentForm:
    """Return the form, filled with what a program or a command said and with what it left to be chosen for it."""
    return ExperimentForm({"seeds": 1, **words_for(project, request_data)}, project=project, files=files or {})


def words_for(project: Project, request_data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a program's request as form data, completed by the newest release and the only features."""
    words = {name: BOOLEAN_WORDS[value] if isinstance(value, bool) else value for name, value in request_data.items()}
    newest = ready_releases(project).first()
    sets = {kind: list(feature_choices(project, kind)) for kind in ("video", "query")}
    only = {kind: keys[0] for kind, keys in sets.items() if len(keys) == 1}
    left_out = {"release": newest.version if newest else "", "top_n": 40, "preset": "released", **only}
    return {**left_out, **words}


def initial_of(project: Project, order: Experiment | SettingsSearch, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form's fields as they were for an order, with ``options`` of a plan: what differs from a preset."""
    preset, changes = changes_of(options, order.baseline, order.top_n)
    words = {name: BOOLEAN_WORDS[value] if isinstance(value, bool) else value for name, value in changes.items()}
    if "end_offset_s" in words:
        words["end_offset_s"] = f"{words['end_offset_s']:g}"
    about = {"release": order.release.version, "baseline": order.baseline, "top_n": order.top_n, "preset": preset}
    keys = {"subtitle": ""} | {kind: _key_of(project, kind, source) for kind, source in order.features.items()}
    candidates = order.candidates and order.candidates.uuid
    return {**about, **keys, "candidates": candidates, **{name: words[name] for name in CHANGES if name in words}}


def _key_of(project: Project, kind: str, source: Mapping[str, Any]) -> str:
    """Return by what the form names the features of an order; empty where they cannot be chosen any more."""
    choices = feature_choices(project, kind)
    return next((key for key, facts in choices.items() if facts["path"] == source["path"]), "")


def moments_per_query(text: str) -> list[int]:
    """Return the numbers of moments that a line names, each once; none where one of them cannot be trained with."""
    words = text.replace(",", " ").split()
    numbers = list(dict.fromkeys(int(word) for word in words if word.isascii() and word.isdigit()))
    return numbers if len(numbers) == len(set(words)) and set(numbers) <= set(Experiment.TOP_N) else []


class GridForm(forms.Form):
    """Models and numbers of moments whose combinations are trained, all with the same features and settings."""

    baselines = forms.MultipleChoiceField(
        label="Models",
        choices=Experiment.Baseline.choices,
        initial=[Experiment.Baseline.XML, Experiment.Baseline.RELOCLNET],
        widget=forms.CheckboxSelectMultiple,
        help_text="CONQUER needs candidates: those of a finished XML or ReLoCLNet.",
    )
    ns = forms.CharField(
        label="Moments per training query (N)",
        initial=", ".join(map(str, EPOCHS)),
        max_length=200,
        help_text="Numbers from 1 to 40, with commas. The paper has 1, 20 and 40.",
    )

    SHARED = ("release", "seeds", "preset", "video", "subtitle", "query", "candidates")

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        single = ExperimentForm(project=project)
        self.fields |= {name: single.fields[name] for name in self.SHARED}
        self.initial = {"subtitle": single.initial.get("subtitle"), **self.initial}

    def clean_ns(self) -> list[int]:
        numbers = moments_per_query(self.cleaned_data["ns"])
        if not numbers:
            raise forms.ValidationError(f"Give numbers from {Experiment.TOP_N[0]} to {Experiment.TOP_N[-1]}.")
        return numbers

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        if self.errors:
            return form_data
        self.orders = [self._order(name, n) for name in form_data["baselines"] for n in form_data["ns"]]
        for order in self.orders:
            if not order.is_valid():
                self.add_error(None, f"{order.data['baseline']}, N = {order.data['top_n']}: {order.refusal}")
                break
        return form_data

    def _order(self, baseline: str, top_n: int) -> ExperimentForm:
        order_data = {name: self.data.get(name, "") for name in self.SHARED} | {"baseline": baseline, "top_n": top_n}
        if not RELEASED[baseline].needs_candidates:
            order_data["candidates"] = ""
        return ExperimentForm(order_data, project=self.project)

    def values(self) -> list[dict[str, Any]]:
        """The arguments of ``experiment_create`` for each combination."""
        return [order.values() for order in self.orders]
