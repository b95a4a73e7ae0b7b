"""Pseudo training sets."""

from accounts.models import Project
from annotation.models import TrainSet
from tests.factories import NOW, MeasureFactory, ProjectFactory
from tests.judging.constraints.writes import More, Refused, again, change


def running(project: Project | None = None) -> TrainSet:
    return TrainSet.objects.create(project=project or ProjectFactory(), depth=40)


def finished_set() -> TrainSet:
    files = {"json": "a.json", "json_sha256": "0" * 64, "parquet": "a.parquet", "parquet_sha256": "1" * 64}
    return TrainSet.objects.create(
        project=ProjectFactory(), depth=40, measure=MeasureFactory(), state="done", finished_at=NOW, **files
    )


LACKING = {"json": "", "parquet": "", "json_sha256": "", "parquet_sha256": "", "finished_at": None}
REFUSED: Refused = {
    "train_set_runs_once_per_project_and_depth": again(running, project=ProjectFactory),
    "train_set_depth_from_1": change(running, depth=0),
    "train_set_state_is_known": change(running, state="lost"),
    "train_set_step_is_known": change(running, step="resting"),
    "train_set_done_within_total": change(running, done=1),
    "train_set_done_has_its_files": change(running, state="done"),
    "train_set_failed_says_why": change(running, state="failed"),
}
MORE: More = {
    f"a finished training set has its {field}": ("train_set_done_has_its_files", change(finished_set, **{field: value}))
    for field, value in LACKING.items()
}
TRIGGERS: set[str] = set()
