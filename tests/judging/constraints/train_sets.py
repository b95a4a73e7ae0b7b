"""Pseudo training sets."""

from annotation.models import TrainSet
from tests.factories import NOW, MeasureFactory, ProjectFactory
from tests.judging.constraints.writes import More, Refused, again, change, maker

FILES = {"json": "a.json", "json_sha256": "0" * 64, "parquet": "a.parquet", "parquet_sha256": "1" * 64}
running = maker(TrainSet, project=ProjectFactory, depth=40)
finished_set = maker(
    TrainSet, project=ProjectFactory, depth=40, measure=MeasureFactory, state="done", finished_at=NOW, **FILES
)
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
    "train_set_done_has_its_files": {
        f"a finished training set has its {field}": change(finished_set, **{field: value})
        for field, value in {**dict.fromkeys(FILES, ""), "finished_at": None}.items()
    }
}
