from django.urls import path

from models_runner.api import experiments, features, runs, searching

urlpatterns = [
    path("projects/<uuid:project_uuid>/runs/", runs.Runs.as_view(), name="runs"),
    path("projects/<uuid:project_uuid>/leaderboard/", runs.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<uuid:project_uuid>/search/", searching.Search.as_view(), name="search"),
    path("projects/<uuid:project_uuid>/features/", features.FeatureSets.as_view(), name="features"),
    path("runs/<uuid:run_uuid>/", runs.OneRun.as_view(), name="run"),
    path("projects/<uuid:project_uuid>/experiments/", experiments.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:experiment_uuid>/", experiments.OneExperiment.as_view(), name="experiment"),
    path("trainings/<uuid:training_uuid>/cancel/", experiments.Cancel.as_view(), name="training-cancel"),
    path("trainings/<uuid:training_uuid>/resume/", experiments.Resume.as_view(), name="training-resume"),
]
