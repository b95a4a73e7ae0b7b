"""Features that a baseline can be trained on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accounts.models import Project
from models_runner.models import FeatureSet, SettingsSearch, Training

Facts = dict[str, Any]  # name and path of a file of features; of a set also its UUID, width and checksum
KINDS = {"video": "Video", "subtitle": "Subtitles", "query": "Queries"}
State = Training.State
NEEDS = {
    State.WAITING: "waits to be trained",
    State.RUNNING: "is being trained",
    State.CANCELLING: "is being cancelled",
    State.CANCELLED: "may be resumed",
    State.FAILED: "may be resumed",
    State.DONE: "is searched with",
}


def facts_of(feature_set: FeatureSet) -> Facts:
    """Return what an experiment keeps of a set, whatever becomes of it: its check has measured the file."""
    facts = {name: getattr(feature_set, name) for name in ("name", "path", "made_by", "checksum", "width")}
    return {**facts, "set": str(feature_set.uuid)}


def feature_choices(project: Project, kind: str) -> dict[str, Facts]:
    """Return, by UUID, the sets that are made and that nothing is wrong with, the newest first."""
    sets = FeatureSet.objects.filter(project=project, kind=kind, state=FeatureSet.State.DONE)
    return {str(feature_set.uuid): facts_of(feature_set) for feature_set in sets if feature_set.is_fit}


def uses_of(feature_set: FeatureSet) -> list[tuple[str, str]]:
    """Return the trainings that need the file, and what for: all, since one that has ended is resumed or searched
    with; and the searches over settings that are not done."""
    paths = [feature_set.path, str(Path(feature_set.path).resolve())]
    trainings = Training.objects.filter(**{f"experiment__features__{feature_set.kind}__path__in": paths})
    uses = [(one.system, NEEDS[Training.State(one.state)]) for one in trainings.select_related("experiment")]
    searches = SettingsSearch.objects.filter(**{f"features__{feature_set.kind}__path__in": paths})
    searches = searches.exclude(state=Training.State.DONE)
    return uses + [(f"the search {one.name}", NEEDS[Training.State(one.state)]) for one in searches]


def first_few(texts: Sequence[str], more: str = "more") -> str:
    """Join the first three texts, and say how many there are besides."""
    rest = [f"and {len(texts) - 3:,} {more}"] if len(texts) > 3 else []
    return "; ".join([*texts[:3], *rest])
