"""Benchmark runs: what is ordered, and its trainings; searches over settings."""

from functools import partial

from judging.models import Release
from models_runner.models import Experiment, SettingsSearch, Training
from tests.factories import NOW, ProjectFactory
from tests.judging.constraints.writes import Refused, again, change, maker

FEATURES = {"video": {"name": "v", "path": "/v"}, "query": {"name": "q", "path": "/q"}}


def experiment(**values: object) -> Experiment:
    project = values.pop("project", None) or ProjectFactory()
    release = Release.objects.create(project=project, version=1 + Release.objects.filter(project=project).count())
    fields = {"name": "x", "baseline": "xml", "top_n": 20, "features": FEATURES, **values}
    return Experiment.objects.create(project=project, release=release, **fields)


def search(**values: object) -> SettingsSearch:
    project = values.pop("project", None) or ProjectFactory()
    release = Release.objects.create(project=project, version=1 + Release.objects.filter(project=project).count())
    fields = {"name": "x", "baseline": "xml", "top_n": 20, "features": FEATURES, "space": {"lr": [1e-4]}, "n_runs": 2}
    return SettingsSearch.objects.create(project=project, release=release, **fields | values)


search_at_work = partial(search, state="running", heartbeat=NOW, started_at=NOW, device="here/0")
training = maker(Training, experiment=experiment, seed=1)
at_work = maker(
    Training, experiment=experiment, seed=1, state="running", heartbeat=NOW, started_at=NOW, device="here/0"
)
REFUSED: Refused = {
    "experiment_name_once_per_project": again(experiment, project=ProjectFactory),
    "experiment_baseline_is_known": change(experiment, baseline="other"),
    "experiment_top_n_from_1_to_40": change(experiment, top_n=41),
    "experiment_of_conquer_alone_has_candidates": change(experiment, baseline="conquer"),
    "experiment_names_its_features": change(experiment, features={"video": {}}),
    "experiment_labels_are_known": change(experiment, labels="other"),
    "settings_search_name_once_per_project": again(search, project=ProjectFactory),
    "settings_search_baseline_is_known": change(search, baseline="other"),
    "settings_search_top_n_from_1_to_40": change(search, top_n=41),
    "settings_search_of_conquer_alone_has_candidates": change(search, baseline="conquer"),
    "settings_search_names_its_features": change(search, features={"video": {}}),
    "settings_search_tries_a_setting": change(search, space={}),
    "settings_search_method_is_known": change(search, method="other"),
    "settings_search_runs_from_1_to_200": change(search, n_runs=201),
    "settings_search_done_within_its_runs": change(search, n_done=3),
    "settings_search_one_at_work_per_device": again(search_at_work),
    "settings_search_at_work_has_device_and_heartbeat": change(search_at_work, device=""),
    "settings_search_state_is_known": change(search, state="other"),
    "settings_search_failed_says_why": change(search, state="failed", ended_at=NOW),
    "settings_search_ended_has_its_time": change(search, state="cancelled"),
    "training_seed_once_per_experiment": again(training, experiment=experiment),
    "training_one_at_work_per_device": again(at_work),
    "training_at_work_has_device_and_heartbeat": change(at_work, device=""),
    "training_state_is_known": change(training, state="other"),
    "training_step_within_steps": change(training, step=1),
    "training_failed_says_why": change(training, state="failed", ended_at=NOW),
    "training_without_weights_is_done": change(training, has_weights=False),
    "training_done_has_a_run": change(training, state="done", ended_at=NOW),
    "training_ended_has_its_time": change(training, state="cancelled"),
}
