"""Runs, what they are scored on, and their scores."""

from functools import partial

from django.db.models import F

from judging.models import Release
from models_runner.models import (
    EconomyStudy,
    FeatureSet,
    GroundTruth,
    Leaderboard,
    Run,
    Score,
    ScoreTest,
    Scoring,
    Truth,
    TruthRun,
    TruthScore,
)
from tests.factories import ProjectFactory, UserFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change, maker, twice

release = maker(Release, project=ProjectFactory, version=1)
VALUES = {"convention": "paper", "gain": "linear", "k": 10, "mu": 0.5, "value": 0.5, "low": 0.4, "high": 0.6}


def run(**values: object) -> Run:
    row = values.pop("release", None) or release()
    fields = {"project": row.project, "release": row, "system": "x", "split": "val"}  # type: ignore[attr-defined]
    return Run.objects.create(**{**fields, **values})


def upload(**values: object) -> Run:
    owner = values.pop("owner", None) or UserFactory()
    fields = {"source": "upload", "sha256": "0" * 64, "file": "f", "state": "scored"}
    return run(**{"owner": owner, **fields, **values})


def scoring(**values: object) -> Scoring:
    scored_run = values.get("run") or run()
    return Scoring.objects.create(run=scored_run, release=values.get("release") or scored_run.release)  # type: ignore[attr-defined]


score = maker(Score, scoring=scoring, metric="m", **VALUES)


def score_test(**values: object) -> ScoreTest:
    """Two runs on one release, unless the scores are named."""
    one = values.get("one") or score()
    other = values.get("other") or score(scoring=scoring(run=run(release=one.scoring.release, system="y")))  # type: ignore[attr-defined]
    return ScoreTest.objects.create(one=one, other=other)


def of_another(name: str) -> Prepare:
    """Test a score against one that has another ``name``, and nothing else."""

    def prepare() -> Write:
        row = score_test()
        scored = row.other.scoring
        if name == "release":
            later = release(project=scored.run.project, version=2)
            other = score(scoring=scoring(run=scored.run, release=later))
        elif name == "split":
            other = score(scoring=scoring(run=run(release=scored.release, system="z", split="test")))
        else:
            other = score(**{"scoring": scored, name: "x"})
        return lambda: ScoreTest.objects.create(one=row.one, other=other)

    return prepare


truth = maker(Truth, release=release, split="val", table="t", n_queries=1, n_moments=0)
study = maker(EconomyStudy, release=release, split="val")
features = maker(
    FeatureSet, project=ProjectFactory, name="pixels", kind="video", extractor="builtin-pixels", path="/f.h5"
)
READY = {"form": "tvr", "state": "ready", "n_queries": 1, "measures": ["vcmr"]}
ground_truth = maker(GroundTruth, project=ProjectFactory, name="labels", split="test", sha256="0" * 64, **READY)
truth_run = maker(
    TruthRun, truth=ground_truth, owner=UserFactory, system="x", sha256="0" * 64, file="f", measures=["vcmr"]
)
truth_score = maker(TruthScore, run=truth_run, family="vcmr", metric="R@1", value=0.5)
board = maker(Leaderboard, project=ProjectFactory)
REFUSED: Refused = {
    "run_once_per_release_system_and_split": again(run, release=release),
    "run_split_is_judged": change(run, split="train"),
    "run_scored_has_its_file": change(run, state="scored"),
    "run_name_once_per_owner_and_split": again(upload, owner=UserFactory, release=release),
    "run_one_at_work_per_owner": twice(partial(upload, state="running"), "owner", "release", system="y"),
    "run_of_similarity_labels_is_a_baselines": change(upload, labels="similarity"),
    "run_source_is_known": change(run, source="guess"),
    "run_upload_has_owner_and_checksum": change(upload, sha256="none"),
    "run_failed_says_why": change(run, state="failed"),
    "run_withdrawn_says_why": change(upload, state="withdrawn"),
    "scoring_once_per_run_and_release": again(scoring, run=run),
    "scoring_scored_has_its_time": change(scoring, state="scored"),
    "scoring_failed_says_why": change(scoring, state="failed"),
    "scoring_answered_within_the_queries": change(scoring, n_answered=1),
    "score_once_per_measure": again(score, scoring=scoring),
    "score_within_0_and_1": change(score, value=1.5),
    "score_interval_is_in_order": change(score, low=0.7),
    "score_unjudged_within_0_and_1": change(score, unjudged=-0.1),
    "score_test_once_per_pair": twice(score_test, "one", "other"),
    "score_test_one_is_the_earlier_score": change(score_test, one=F("other")),
    "score_test_p_within_0_and_1": change(score_test, p=0.0),
    "score_test_interval_is_in_order": change(score_test, p=0.5, low=0.2, high=0.1),
    "truth_once_per_release_and_split": again(truth, release=release),
    "truth_split_is_judged": change(truth, split="train"),
    "truth_has_a_query": change(truth, n_queries=0),
    "ground_truth_name_once_per_project": again(ground_truth, project=ProjectFactory),
    "ground_truth_has_a_name": change(ground_truth, name=""),
    "ground_truth_form_is_known": change(ground_truth, form="other"),
    "ground_truth_state_is_known": change(ground_truth, state="other"),
    "ground_truth_has_a_checksum": change(ground_truth, sha256="none"),
    "ground_truth_ready_was_read": change(ground_truth, measures=[]),
    "ground_truth_of_a_matrix_alone_counts_videos": change(ground_truth, n_videos=1, n_queries=3),
    "ground_truth_failed_says_why": change(ground_truth, state="failed"),
    "truth_run_name_once_per_owner": twice(partial(truth_run, state="scored"), "truth", "owner"),
    "truth_run_one_waiting_per_owner": twice(truth_run, "truth", "owner", system="y"),
    "truth_run_state_is_known": change(truth_run, state="other"),
    "truth_run_has_a_checksum": change(truth_run, sha256="none"),
    "truth_run_chooses_a_measure": change(truth_run, measures=[]),
    "truth_run_has_its_file_unless_it_failed": change(truth_run, file=""),
    "truth_run_failed_says_why": change(truth_run, state="failed"),
    "truth_run_withdrawn_says_why": change(truth_run, state="withdrawn"),
    "truth_score_once_per_measure": again(truth_score, run=truth_run),
    "truth_score_is_a_number_from_0": change(truth_score, value=float("nan")),
    "leaderboard_takes_1_to_1000_uploads_a_day": change(board, uploads_per_day=0),
    "leaderboard_takes_1_to_10000_uploads_in_all": change(board, uploads_in_all=0),
    "leaderboard_least_queries_from_1_to_100000": change(board, least_queries=0),
    "leaderboard_ladder_is_known": change(board, ladder="some"),
    "leaderboard_alike_percent_from_0_to_100": change(board, alike_percent=101),
    "economy_study_one_at_work": again(study, release=release),
    "economy_study_split_is_judged": change(study, split="train"),
    "economy_study_done_within_total": change(study, done=1),
    "economy_study_failed_says_why": change(study, state="failed"),
    "feature_set_name_once_per_project": twice(features, "project", path="/other.h5"),
    "feature_set_file_once_per_project_and_kind": twice(features, "project", name="other"),
    "feature_set_has_a_name": change(features, name=""),
    "feature_set_extractor_suits_its_kind": change(features, kind="query"),
    "feature_set_names_a_model_where_one_is_asked": change(features, extractor="image-model"),
    "feature_set_path_is_absolute": change(features, path="f.h5"),
    "feature_set_state_is_known": change(features, state="lost"),
    "feature_set_step_is_known": change(features, step="resting"),
    "feature_set_done_within_total": change(features, done=1),
    "feature_set_failed_says_why": change(features, state="failed"),
    "feature_set_done_is_measured": change(features, state="done"),
}
MORE: More = {
    "are not tested against": {
        f"scores of another {name} are not tested against each other": of_another(name)
        for name in ("release", "split", "metric", "convention", "gain")
    }
}
TRIGGERS = {"score_test_is_of_one_measure"}
