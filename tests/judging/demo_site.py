"""The demo project in an empty database."""

from accounts.models import Project
from annotation.models import Candidate, Moment, Query, Video
from judging.demo.services import demo_seed
from judging.models import Assignment, Batch, BatchReview, Judgment, Pair, Release
from models_runner.models import Run

SEED = 20260101


def seeded(videos: int = 2) -> Project:
    project = demo_seed(videos=videos, seed=SEED)
    assert project is not None
    return project


def everything() -> list[object]:
    tables = (Project, Video, Moment, Query, Candidate, Batch, Pair, Assignment, Judgment, BatchReview, Release, Run)
    return [list(model.objects.order_by("pk").values_list()) for model in tables]  # type: ignore[attr-defined]
