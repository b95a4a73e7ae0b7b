from django.urls import path

from models_runner.experiments import api
from models_runner.features import api as features_api
from models_runner.ground_truths import api as ground_truths_api
from models_runner.leaderboard import api as leaderboard_api
from models_runner.pools import api as pools_api
from models_runner.search import api as search_api
from models_runner.tuning import api as tuning_api

urlpatterns = [
    path("projects/<uuid:project_uuid>/runs/", leaderboard_api.Runs.as_view(), name="runs"),
    path("projects/<uuid:project_uuid>/leaderboard/", leaderboard_api.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<uuid:project_uuid>/ground-truths/", ground_truths_api.GroundTruths.as_view(), name="ground-truths"),
    path("ground-truths/<uuid:truth_uuid>/", ground_truths_api.OneGroundTruth.as_view(), name="ground-truth"),
    path(
        "ground-truths/<uuid:truth_uuid>/scores/",
        ground_truths_api.GroundTruthScores.as_view(),
        name="ground-truth-scores",
    ),
    path("ground-truths/<uuid:truth_uuid>/runs/", ground_truths_api.TruthRuns.as_view(), name="truth-runs"),
    path("truth-runs/<uuid:run_uuid>/", ground_truths_api.OneTruthRun.as_view(), name="truth-run"),
    path("projects/<uuid:project_uuid>/search/", search_api.Search.as_view(), name="search"),
    path("projects/<uuid:project_uuid>/features/", features_api.FeatureSets.as_view(), name="features"),
    path("features/<uuid:set_uuid>/", features_api.OneFeatureSet.as_view(), name="feature-set"),
    path("features/<uuid:set_uuid>/cancel/", features_api.CancelFeatures.as_view(), name="features-cancel"),
    path("features/<uuid:set_uuid>/resume/", features_api.ResumeFeatures.as_view(), name="features-resume"),
    path("projects/<uuid:project_uuid>/pools/", pools_api.Pools.as_view(), name="pools"),
    path("pools/<uuid:pooling_uuid>/", pools_api.OnePool.as_view(), name="pool"),
    path("pools/<uuid:pooling_uuid>/open/", pools_api.OpenPool.as_view(), name="pool-open"),
    path("pools/<uuid:pooling_uuid>/discard/", pools_api.DiscardPool.as_view(), name="pool-discard"),
    path("runs/<uuid:run_uuid>/", leaderboard_api.OneRun.as_view(), name="run"),
    path("projects/<uuid:project_uuid>/experiments/", api.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:experiment_uuid>/", api.OneExperiment.as_view(), name="experiment"),
    path("trainings/<uuid:training_uuid>/cancel/", api.Cancel.as_view(), name="training-cancel"),
    path("trainings/<uuid:training_uuid>/resume/", api.Resume.as_view(), name="training-resume"),
    path(
        "projects/<uuid:project_uuid>/settings-searches/",
        tuning_api.SettingsSearches.as_view(),
        name="settings-searches",
    ),
    path("settings-searches/<uuid:search_uuid>/", tuning_api.OneSettingsSearch.as_view(), name="settings-search"),
    path(
        "settings-searches/<uuid:search_uuid>/cancel/",
        tuning_api.CancelSettingsSearch.as_view(),
        name="settings-search-cancel",
    ),
    path(
        "settings-searches/<uuid:search_uuid>/resume/",
        tuning_api.ResumeSettingsSearch.as_view(),
        name="settings-search-resume",
    ),
]
