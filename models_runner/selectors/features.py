"""Features that a baseline can be trained on."""

from typing import NamedTuple

from annotation.models import Project
from models_runner.models import FeatureSet

KINDS = {"video": "Video", "subtitle": "Subtitles", "query": "Queries"}


class Choice(NamedTuple):
    """A file of features."""

    key: str
    name: str
    path: str
    made_by: str = ""
    checksum: str = ""

    def told(self) -> dict[str, str]:
        """As an experiment keeps it, whatever becomes of the set."""
        told = {"name": self.name, "path": self.path, "set": self.key, "made_by": self.made_by}
        return {**told, "checksum": self.checksum}


def feature_choices(project: Project, kind: str) -> list[Choice]:
    """Those of a project that are made and that nothing is wrong with, the newest first."""
    sets = FeatureSet.objects.filter(project=project, kind=kind, state=FeatureSet.State.DONE)
    return [Choice(str(one.uuid), one.name, one.path, one.made_by, one.checksum) for one in sets if one.is_fit]
