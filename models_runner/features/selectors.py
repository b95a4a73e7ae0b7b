"""Features that a baseline can be trained on."""

from pathlib import Path
from typing import Any, NamedTuple

from accounts.models import Project
from models_runner.models import FeatureSet, Training

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


class Choice(NamedTuple):
    """A file of features."""

    key: str
    name: str
    path: str
    made_by: str = ""
    checksum: str = ""
    width: int = 0

    @classmethod
    def of(cls, one: FeatureSet) -> "Choice":
        return cls(str(one.uuid), one.name, one.path, one.made_by, one.checksum, one.width)

    @classmethod
    def of_file(cls, path: Path) -> "Choice":
        """A file that is no set of the site."""
        return cls(str(path), path.stem, str(path))

    def told(self) -> dict[str, Any]:
        """As an experiment keeps it, whatever becomes of the set: its check measured the file."""
        if self.key == self.path:
            return {"name": self.name, "path": self.path}
        told = {"name": self.name, "path": self.path, "set": self.key, "made_by": self.made_by}
        return {**told, "checksum": self.checksum, "width": self.width}


class Use(NamedTuple):
    """A training that needs a file of features."""

    system: str
    need: str


def feature_choices(project: Project, kind: str) -> list[Choice]:
    """Those of a project that are made and that nothing is wrong with, the newest first."""
    sets = FeatureSet.objects.filter(project=project, kind=kind, state=FeatureSet.State.DONE)
    return [Choice.of(one) for one in sets if one.is_fit]


def uses_of(feature_set: FeatureSet) -> list[Use]:
    """Trainings that need the file, whoever named it: all, since one that has ended is resumed or searched with."""
    places = {feature_set.path, str(Path(feature_set.path).resolve())}
    trainings = Training.objects.filter(**{f"experiment__features__{feature_set.kind}__path__in": list(places)})
    return [Use(one.system, NEEDS[Training.State(one.state)]) for one in trainings.select_related("experiment")]
