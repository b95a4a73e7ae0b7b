"""Runs, what they are scored on, and their scores."""

from django.db.models import F

from judging.models import Release
from models_runner.models import EconomyStudy, FeatureSet, Leaderboard, Run, Score, ScoreTest, Scoring, Truth
from tests.factories import ProjectFactory, UserFactory
from tests.judging.constraints.writes import More, Prepare, Refused, Write, again, change


def run() -> Run:
    release = Release.objects.create(project=ProjectFactory(), version=1)
    return Run.objects.create(project=release.project, release=release, system="x", split="val")


def upload(**values: object) -> Run:
    owner = values.get("owner") or UserFactory()
    release = values.get("release") or Release.objects.create(project=ProjectFactory(), version=1)
    fields = {"system": "x", "split": "val", "source": "upload", "sha256": "0" * 64, "file": "f", "state": "scored"}
    about = {"project": release.project, "release": release, "owner": owner}  # type: ignore[attr-defined]
    return Run.objects.create(**{**about, **fields, **values})


def two_at_work() -> Write:
    first = upload(state="running")
    return lambda: upload(owner=first.owner, release=first.release, system="y", state="running")


def scoring(**values: object) -> Scoring:
    scored_run = values.get("run") or run()
    return Scoring.objects.create(run=scored_run, release=scored_run.release)  # type: ignore[attr-defined]


def score(**values: object) -> Score:
    fields = {"scoring": values.get("scoring") or scoring(), "metric": "m", "convention": "paper", "gain": "linear"}
    return Score.objects.create(**{"k": 10, "mu": 0.5, "value": 0.5, "low": 0.4, "high": 0.6, **fields})


def score_test() -> ScoreTest:
    """Two runs on one release."""
    one = score()
    run = one.scoring.run
    other = Run.objects.create(project=run.project, release=run.release, system="y", split=run.split)
    return ScoreTest.objects.create(one=one, other=score(scoring=scoring(run=other)))


def score_test_twice() -> Write:
    row = score_test()
    return lambda: ScoreTest.objects.create(one=row.one, other=row.other)


def of_another(name: str) -> Prepare:
    """Test a score against one that has another ``name``, and nothing else."""

    def prepare() -> Write:
        row = score_test()
        run = row.other.scoring.run
        if name == "release":
            release = Release.objects.create(project=run.project, version=2)
            other = score(scoring=Scoring.objects.create(run=run, release=release))
        elif name == "split":
            elsewhere = Run.objects.create(project=run.project, release=run.release, system="z", split="test")
            other = score(scoring=scoring(run=elsewhere))
        else:
            other = Score.objects.create(
                **{"scoring": row.other.scoring, "metric": "m", "convention": "paper", "gain": "linear", name: "x"},
                **{"k": 10, "value": 0.5, "low": 0.4, "high": 0.6},
            )
        return lambda: ScoreTest.objects.create(one=row.one, other=other)

    return prepare


def truth(**values: object) -> Truth:
    release = values.get("release") or Release.objects.create(project=ProjectFactory(), version=1)
    return Truth.objects.create(release=release, split="val", table="t", n_queries=1, n_moments=0)


def study(**values: object) -> EconomyStudy:
    release = values.get("release") or Release.objects.create(project=ProjectFactory(), version=1)
    return EconomyStudy.objects.create(release=release, split="val")


def features(**values: object) -> FeatureSet:
    fields = {"name": "pixels", "kind": "video", "extractor": "builtin-pixels", "path": "/f.h5"}
    return FeatureSet.objects.create(**{"project": values.get("project") or ProjectFactory(), **fields, **values})


def features_twice(**values: object) -> Prepare:
    def prepare() -> Write:
        feature_set = features()
        return lambda: features(project=feature_set.project, **{"name": "other", "path": "/other.h5", **values})

    return prepare


def board() -> Leaderboard:
    return Leaderboard.objects.create(project=ProjectFactory())


def release_of() -> Release:
    return Release.objects.create(project=ProjectFactory(), version=1)


def run_twice() -> Write:
    first_run = run()
    return lambda: Run.objects.create(
        project=first_run.project, release=first_run.release, system=first_run.system, split=first_run.split
    )


REFUSED: Refused = {
    "run_once_per_release_system_and_split": run_twice,
    "run_split_is_judged": change(run, split="train"),
    "run_scored_has_its_file": change(run, state="scored"),
    "run_name_once_per_owner_and_split": again(upload, owner=UserFactory, release=release_of),
    "run_one_at_work_per_owner": two_at_work,
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
    "score_test_once_per_pair": score_test_twice,
    "score_test_one_is_the_earlier_score": change(score_test, one=F("other")),
    "score_test_p_within_0_and_1": change(score_test, p=0.0),
    "score_test_interval_is_in_order": change(score_test, p=0.5, low=0.2, high=0.1),
    "truth_once_per_release_and_split": again(truth, release=release_of),
    "truth_split_is_judged": change(truth, split="train"),
    "truth_has_a_query": change(truth, n_queries=0),
    "leaderboard_takes_1_to_1000_uploads_a_day": change(board, uploads_per_day=0),
    "leaderboard_takes_1_to_10000_uploads_in_all": change(board, uploads_in_all=0),
    "leaderboard_least_queries_from_1_to_100000": change(board, least_queries=0),
    "leaderboard_ladder_is_known": change(board, ladder="some"),
    "leaderboard_alike_percent_from_0_to_100": change(board, alike_percent=101),
    "economy_study_one_at_work": again(study, release=release_of),
    "economy_study_split_is_judged": change(study, split="train"),
    "economy_study_done_within_total": change(study, done=1),
    "economy_study_failed_says_why": change(study, state="failed"),
    "feature_set_name_once_per_project": features_twice(name="pixels"),
    "feature_set_file_once_per_project_and_kind": features_twice(path="/f.h5"),
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
    f"scores of another {name} are not tested against each other": ("are not tested against", of_another(name))
    for name in ("release", "split", "metric", "convention", "gain")
}
TRIGGERS: set[str] = {"score_test_is_of_one_measure"}
