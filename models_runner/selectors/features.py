"""Features that a baseline can be trained on."""

from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from annotation.models import Project

KINDS = {"video": "Video", "subtitle": "Subtitles", "query": "Queries"}


class Choice(NamedTuple):
    """A file of features."""

    key: str
    name: str
    path: str

    def told(self) -> dict[str, str]:
        """As an experiment keeps it."""
        return {"name": self.name, "path": self.path}


def feature_choices(project: Project, kind: str) -> list[Choice]:
    """Those of a project that are complete, by kind."""
    files = sorted(path for path in (feature_folder(project) / kind).glob("*.h5") if path.is_file())
    return [Choice(path.name, path.stem, str(path)) for path in files]


def feature_folder(project: Project) -> Path:
    return Path(settings.FEATURES_ROOT) / str(project.uuid)
