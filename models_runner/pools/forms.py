"""The form of a new pool, for the page and for programs."""

from typing import Any, cast
from uuid import UUID

from django import forms

from accounts.models import Project
from annotation.models import Pooling, Query
from annotation.pools.rules import DEPTHS, IOU_MIN, JOIN_IOU, RUN_DEPTH, iou_by_default
from annotation.pools.services.poolings import Scope
from models_runner.models import Run
from models_runner.pools.similarity import FeaturePair, feature_pairs

ALL, SPLIT, SET = "all", "split:", "set:"


class PoolForm(forms.Form):
    runs = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        required=False,
        error_messages={"invalid_choice": "One of the runs is gone."},
    )
    features = forms.MultipleChoiceField(
        label="Similarity of texts and videos",
        widget=forms.CheckboxSelectMultiple,
        required=False,
        error_messages={"invalid_choice": "These features are not there, or no features of queries fit them."},
    )
    depth = forms.IntegerField(
        min_value=DEPTHS[0],
        max_value=DEPTHS[1],
        initial=RUN_DEPTH,
        help_text="The best so many of each are pooled.",
    )
    iou_min = forms.FloatField(
        label="IoU",
        min_value=0.05,
        max_value=1,
        required=False,
        widget=forms.NumberInput(attrs={"step": "0.05"}),
        help_text="A span stands for the moment it overlaps most, from this overlap on. "
        f"Empty: {IOU_MIN}, or {JOIN_IOU} where spans become moments.",
    )
    makes_moments = forms.BooleanField(
        label="Make moments of spans that fit none",
        required=False,
        help_text="When the pool is opened; their clips are cut first. Without it such spans are left out and counted.",
    )
    most = forms.IntegerField(
        label="New candidates of a query",
        min_value=DEPTHS[0],
        max_value=DEPTHS[1],
        required=False,
        help_text="At most. Empty: all that the runs return.",
    )
    mixing = forms.ChoiceField(
        label="Which go first",
        choices=Pooling.Mixing.choices,
        initial=Pooling.Mixing.RANK,
        required=False,
        help_text="In turn, each run brings as many as any other.",
    )
    which = forms.ChoiceField(label="Queries", error_messages={"invalid_choice": "Choose which queries."})

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scored = project.runs.filter(state=Run.State.SCORED).select_related("release")
        self.runs_by_uuid = {str(run.uuid): run for run in scored}
        self.sets = {str(row.uuid): row for row in project.query_sets.order_by("name")}
        self.pairs_by_uuid = feature_pairs(project)
        runs, features, which = (cast(forms.ChoiceField, self.fields[name]) for name in ("runs", "features", "which"))
        features.choices = [
            (uuid, f"{pair.videos.name}, queries by {pair.queries.name}") for uuid, pair in self.pairs_by_uuid.items()
        ]
        runs.choices = [
            (uuid, f"{run}, release {run.release.version} ({run.n_queries} queries)")
            for uuid, run in self.runs_by_uuid.items()
        ]
        splits = [(SPLIT + split, f"split {split}") for split in (Query.Split.VAL.value, Query.Split.TEST.value)]
        sets = [(SET + uuid, f"query set {row.name}") for uuid, row in self.sets.items()]
        which.choices = [(ALL, "all whose judging has begun"), *splits, *sets]

    def clean(self) -> dict[str, Any]:
        form_data = super().clean() or {}
        if not {"runs", "features"} & self.errors.keys() and not (form_data["runs"] or form_data["features"]):
            pairs = " or features" if self.pairs_by_uuid else ""
            self.add_error("runs", f"Choose at least one run{pairs}.")
        return form_data

    def pairs(self) -> list[FeaturePair]:
        return [self.pairs_by_uuid[uuid] for uuid in self.cleaned_data["features"]]

    def chosen(self) -> list[Run]:
        return [self.runs_by_uuid[uuid] for uuid in self.cleaned_data["runs"]]

    def scope(self) -> Scope:
        form_data = self.cleaned_data
        kind, _, name = form_data["which"].partition(":")
        makes_moments, iou_min = form_data["makes_moments"], form_data["iou_min"]
        return Scope(
            depth=form_data["depth"],
            iou_min=iou_by_default(makes_moments=makes_moments) if iou_min is None else iou_min,
            makes_moments=makes_moments,
            most=form_data["most"],
            mixing=form_data["mixing"] or Pooling.Mixing.RANK,
            split=name if kind == "split" else "",
            query_set=self.sets[str(UUID(name))] if kind == "set" else None,
        )
