from django.urls import path

from models_runner.experiments import api
from models_runner.features import api as features_api
from models_runner.leaderboard import api as leaderboard_api
from models_runner.search import api as search_api

urlpatterns = [
    path("projects/<uuid:project_uuid>/runs/", leaderboard_api.Runs.as_view(), name="runs"),
    path("projects/<uuid:project_uuid>/leaderboard/", leaderboard_api.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<uuid:project_uuid>/search/", search_api.Search.as_view(), name="search"),
    path("projects/<uuid:project_uuid>/features/", features_api.FeatureSets.as_view(), name="features"),
    path("runs/<uuid:run_uuid>/", leaderboard_api.OneRun.as_view(), name="run"),
    path("projects/<uuid:project_uuid>/experiments/", api.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:experiment_uuid>/", api.OneExperiment.as_view(), name="experiment"),
    path("trainings/<uuid:training_uuid>/cancel/", api.Cancel.as_view(), name="training-cancel"),
    path("trainings/<uuid:training_uuid>/resume/", api.Resume.as_view(), name="training-resume"),
]
