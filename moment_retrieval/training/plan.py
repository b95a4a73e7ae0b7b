"""Plan of a training: ``plan.json`` in the folder of an experiment, and the settings it comes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Self, TypeVar

from moment_retrieval.errors import ScoringError, at
from moment_retrieval.jsonfiles import as_object, decode, is_finite, parse_json, read_bytes, shown, write_atomically
from moment_retrieval.preprocessing import CLIP_S, Boundary
from moment_retrieval.settings import (
    EPOCHS,
    EVALUATIONS_PER_EPOCH,
    LEARNING_RATE,
    PATIENCE,
    RELEASED,
    RUN_MOMENTS,
    SELECTED_BY,
    WARM_UP,
    Boundaries,
    Encoder,
    FeatureOptions,
    Padding,
    Ranking,
    Settings,
    member_of,
)

PLAN = "plan.json"
PRECISIONS, DEVICES = ("float32", "bfloat16", "float16"), ("auto", "cpu", "cuda")
SOURCES = ("checkpoint", "listed")
FILES = ("train", "val", "test", "corpus", "video", "subtitle", "query")
OPTIONAL_FILES = ("test", "subtitle")
LATER: Mapping[str, Any] = {"reading": {}, "selected_by": SELECTED_BY}  # what the first plans did not name
FREE = frozenset({"device", "threads", "checkpoint_every_s", "keep_predictions", "patience"})  # may change on the way


class BadPlan(ScoringError):
    """A plan cannot be carried out as it stands."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One training; a relative path is relative to the folder of the plan."""

    baseline: str  # xml, reloclnet or conquer
    train: str  # pseudo-positives, ``train_topN.json`` of this N or a larger one; or TVR's own training file
    # val, test, corpus: judged moments of both splits (``test`` may be absent), and the videos that are searched
    val: str
    corpus: str
    # video, subtitle, query: features; without ``subtitle``, nothing is said in any video
    video: str
    query: str
    top_n: int = 20  # moments of each query to learn from, the most similar first; published: 1, 20, 40
    test: str | None = None
    subtitle: str | None = None
    # sizes, objective, decoding, reading: changes to the released settings, by name
    sizes: Mapping[str, Any] = field(default_factory=dict)
    objective: Mapping[str, Any] = field(default_factory=dict)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    padding: str = Padding.OFFICIAL.value  # official, or compact
    # CONQUER's: ``{"source": "checkpoint", "path": folder of a trained XML or ReLoCLNet}``, or ``{"source": "listed",
    # "path": JSON of query id to names of videos}``; with ``groups``, the path of ``{"videos": {name: group},
    # "queries": {query id: group}}``, only videos of the query's group
    candidates: Mapping[str, str] | None = None
    epochs: int = EPOCHS[40]  # as planned; the learning rate falls to 0 by their end
    evaluations_per_epoch: float = EVALUATIONS_PER_EPOCH[20]  # may be less than 1
    patience: int = PATIENCE  # evaluations without improvement after which training stops; 0: never
    selected_by: str = SELECTED_BY  # the metric of an evaluation that the best weights are chosen by
    batch: int | None = None  # samples of a step, on all devices together; None: as released
    lr: float = LEARNING_RATE  # learning rate at its highest
    warmup: float = WARM_UP  # share of the steps until then
    seed: int = 2024  # of weights, order, dropout and negatives
    precision: str = "float32"  # float32; bfloat16 and float16 are mixed with it
    device: str = "auto"  # auto takes a GPU where there is one
    threads: int | None = None  # of the CPU; None: torch's choice
    checkpoint_every_s: float = 300.0  # seconds between checkpoints to go on from
    shuffle_links: bool = False  # every query learns from the moments of another one: the control of an experiment
    keep_predictions: bool = True  # write what the best weights retrieve

    def __post_init__(self) -> None:
        for name, (good, rule) in RULES.items():
            value = getattr(self, name)
            if not good(value):
                raise BadPlan(f"{name} must be {rule}, got {shown(value)}")
        if RELEASED[self.baseline].needs_candidates != (self.candidates is not None):
            raise BadPlan("candidates are named for conquer, which needs them, and for no other baseline")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The plan in a folder.

        Raises:
            BadPlan: a value cannot be used, one is missing, or a name is not known.
            ScoringError: the file cannot be read or is not JSON.
        """
        path = Path(folder) / PLAN
        data = read_bytes(path)
        with at(str(path)):
            return cls.of(as_object(parse_json(decode(data)), "a plan"))

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """The plan of JSON values. Raises BadPlan."""
        fields_by_name = {one.name: one for one in fields(cls)}
        if unknown := sorted(set(values) - set(fields_by_name)):
            raise BadPlan(f"nothing is known of {', '.join(unknown)}")
        if lacking := [name for name in ("baseline", *FILES) if name in REQUIRED and name not in values]:
            raise BadPlan(f"{', '.join(lacking)} must be given")
        return cls(**values)

    def write(self, folder: Path) -> None:
        """Put the plan into a folder, all or nothing. Raises UnreadableFile."""
        write_atomically(Path(folder) / PLAN, json.dumps(asdict(self), indent=1, allow_nan=False) + "\n")

    def located(self, folder: Path) -> Self:
        """The same with paths that do not depend on the folder."""
        paths = {name: str(Path(folder) / path) for name in FILES if (path := getattr(self, name)) is not None}
        entries = (self.candidates or {}).items()
        candidates = {name: value if name == "source" else str(Path(folder) / value) for name, value in entries} or None
        changes: dict[str, Any] = {**paths, "candidates": candidates}
        return replace(self, **changes)

    def differences(self, other: Mapping[str, Any]) -> list[str]:
        """List changes from an earlier plan that would make another training, in words."""
        now, before = json.loads(json.dumps(asdict(self))), {**LATER, **other}
        names = [name for name in now if name not in FREE | set(FILES) and now[name] != before.get(name)]
        return [f"{name}: {shown(before.get(name))}, now {shown(now[name])}" for name in names]


REQUIRED = {"baseline", *FILES} - set(OPTIONAL_FILES)


def _one_of(*values: object) -> tuple[Callable[[Any], bool], str]:
    return lambda value: not isinstance(value, bool) and value in values, "one of " + ", ".join(map(str, values))


def _whole(least: int, *, none: bool = False) -> tuple[Callable[[Any], bool], str]:
    def good(value: Any) -> bool:
        return (none and value is None) or (isinstance(value, int) and not isinstance(value, bool) and value >= least)

    return good, f"a whole number, {least} or more"


def _real(good: Callable[[float], bool], rule: str) -> tuple[Callable[[Any], bool], str]:
    def finite(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
        return number and good(value)

    return finite, rule


def _path(*, none: bool) -> tuple[Callable[[Any], bool], str]:
    return lambda value: (none and value is None) or (isinstance(value, str) and value != ""), "a path"


def _candidates(value: Any) -> bool:
    if value is None:
        return True
    is_complete = (
        isinstance(value, Mapping) and set(value) - {"groups"} == {"source", "path"} and value["source"] in SOURCES
    )
    return is_complete and all(isinstance(text, str) and text != "" for text in value.values())


NAMED = (lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value), "values by name")
YES_OR_NO = (lambda value: isinstance(value, bool), "true or false")
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "baseline": _one_of(*RELEASED),
    "top_n": _whole(1),
    **{name: _path(none=name in OPTIONAL_FILES) for name in FILES},
    **dict.fromkeys(("sizes", "objective", "decoding", "reading"), NAMED),
    "padding": _one_of(*Padding),
    "candidates": (_candidates, "{source: checkpoint or listed, path}, and groups"),
    "epochs": _whole(1),
    "evaluations_per_epoch": _real(lambda value: value > 0, "more than 0"),
    "patience": _whole(0),
    "selected_by": (lambda value: isinstance(value, str) and value != "", "the name of a metric"),
    "batch": _whole(1, none=True),
    "lr": _real(lambda value: value > 0, "more than 0"),
    "warmup": _real(lambda value: 0 <= value < 1, "from 0 to less than 1"),
    "seed": _whole(0),
    "precision": _one_of(*PRECISIONS),
    "device": _one_of(*DEVICES),
    "threads": _whole(1, none=True),
    "checkpoint_every_s": _real(lambda value: value >= 0, "0 or more"),
    **dict.fromkeys(("shuffle_links", "keep_predictions"), YES_OR_NO),
}

NEEDED = (
    *("video_size", "subtitle_size", "query_size", "hidden", "heads", "clips", "words", "kernel_size"),
    *("inner", "centres", "narrow"),  # of CONQUER alone
)
MAY_BE_NONE = ("hard_from_epoch",)
FIXED = {"padding", "boundary"}  # which are not of any part of a plan: the first stands beside them
SettingsT = TypeVar("SettingsT")


class OtherSizes(ScoringError):
    """Features have other sizes than the plan says."""


def settings_of(plan: Plan, sizes: Mapping[str, int] | None = None) -> Settings:
    """Return the released settings with the changes of a plan and the sizes that were ``sizes`` in its features.

    Raises:
        BadPlan: a name is not known, or a value is of another kind.
        OtherSizes: the plan names other sizes than the features have.
    """
    released = RELEASED[plan.baseline]
    for name, size in (sizes or {}).items():
        if plan.sizes.get(name, size) != size:
            raise OtherSizes(f"{name} is {plan.sizes[name]} in the plan, and the features have {size}")
    if plan.objective.get("sum_positives") and plan.baseline != "reloclnet":
        raise BadPlan(f"objective: sum_positives is of ReLoCLNet's video contrast, {plan.baseline} has none")
    config = config_of(plan, sizes)
    _check_sizes(config)
    settings = replace(
        released,
        config=config.changed({"padding": plan.padding}),
        objective=changed(released.objective, "objective", plan.objective),
        decoding=changed(replace(released.decoding, moments=RUN_MOMENTS), "decoding", plan.decoding),
        reading=feature_options_of(plan),
        batch=plan.batch or released.batch,
    )
    _check_videos(plan, settings)
    _check_ends(settings)
    return settings


def config_of(plan: Plan, sizes: Mapping[str, int] | None = None) -> Any:
    """Return the sizes that a plan names, or that were ``sizes``. Raises BadPlan."""
    return changed(RELEASED[plan.baseline].config, "sizes", {**plan.sizes, **(sizes or {})})


def feature_options_of(plan: Plan) -> FeatureOptions:
    """How a plan reads features. Raises BadPlan."""
    reading = changed(RELEASED[plan.baseline].reading, "reading", plan.reading)
    return replace(reading, boundary=Boundary.LAST) if _scores_clips(config_of(plan)) else reading


def _scores_clips(config: Any) -> bool:
    """Whether a model finds moments by the scores of clips, which are trained by the clips inside a moment."""
    return getattr(config, "boundaries", Boundaries.CONVOLUTION) is not Boundaries.CONVOLUTION


def _check_videos(plan: Plan, settings: Settings) -> None:
    """Raise BadPlan where CONQUER's sampled videos, its score of videos and its ranking do not go together."""
    count, scores_videos = settings.objective.sampled_videos, getattr(settings.config, "score_videos", False)
    ranking = settings.decoding.ranking
    if not settings.needs_candidates and (count or ranking is not Ranking.DISJOINT):
        option = "objective: sampled_videos" if count else "decoding: ranking"
        raise BadPlan(f"{option} is CONQUER's, {plan.baseline} has no candidates of a first stage")
    if scores_videos and not count:
        raise BadPlan(
            "sizes: score_videos is learnt among sampled videos: set sampled_videos of objective to 1 or more"
        )
    if ranking is Ranking.EXCLUSIVE and not scores_videos:
        raise BadPlan("decoding: ranking exclusive needs a model that scores videos: set score_videos of sizes to true")
    if ranking is Ranking.GENERAL and (plan.candidates or {}).get("source") == "listed":
        raise BadPlan("decoding: ranking general needs scores of the first stage, a list has none: name a checkpoint")


def _check_ends(settings: Settings) -> None:
    """Raise BadPlan where moments that end with their last clip are moved."""
    if _scores_clips(settings.config) and settings.decoding.end_offset_s != CLIP_S:
        method = settings.config.boundaries
        raise BadPlan(f"decoding: end_offset_s moves no end of {method}, which end with their last clip: leave it out")


def _check_sizes(config: Any) -> None:
    """Raise BadPlan for sizes that no model can have."""
    for name in NEEDED:
        if getattr(config, name, 1) < 1:
            raise BadPlan(f"sizes: {name} must be 1 or more, got {getattr(config, name)}")
    if config.hidden % config.heads:
        raise BadPlan(f"sizes: hidden ({config.hidden}) must be a multiple of heads ({config.heads})")
    if not 0 <= config.dropout < 1:
        raise BadPlan(f"sizes: dropout must be from 0 to less than 1, got {config.dropout}")
    if config.kernel_size % 2 == 0:
        raise BadPlan(f"sizes: kernel_size must be odd, got {config.kernel_size}")
    if getattr(config, "encoder", None) is Encoder.LSTM and config.hidden % 2:
        raise BadPlan(f"sizes: hidden must be even for the two directions of an lstm, got {config.hidden}")


def changed(settings: SettingsT, name: str, changes: Mapping[str, Any]) -> SettingsT:
    """Settings with some values changed. Raises BadPlan for what they do not have or cannot be."""
    field_names = {one.name for one in fields(settings)} - FIXED  # type: ignore[arg-type]
    if unknown := sorted(set(changes) - field_names):
        raise BadPlan(f"{name}: nothing is known of {', '.join(unknown)}")
    for key, value in changes.items():
        released = getattr(settings, key)
        none = value is None and key in MAY_BE_NONE
        if isinstance(released, StrEnum) and value not in list(type(released)):
            raise BadPlan(f"{name}: {key} must be one of {', '.join(type(released))}, got {shown(value)}")
        if not (none or isinstance(released, StrEnum) or _alike(value, released)):
            raise BadPlan(f"{name}: {key} must be like {released!r}, got {shown(value)}")
    values = {key: member_of(getattr(settings, key), value) for key, value in changes.items()}
    return replace(settings, **values)  # type: ignore[type-var]


def _alike(value: Any, released: Any) -> bool:
    """Whether a value may stand for a released one: yes or no, a whole number from 0, a number."""
    if isinstance(released, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(released, bool)
    if isinstance(released, int):
        return isinstance(value, int) and value >= 0
    return isinstance(released, float) and isinstance(value, int | float) and is_finite(value)
