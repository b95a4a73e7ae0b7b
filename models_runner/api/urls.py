from django.urls import path

from models_runner.api import features, runs

urlpatterns = [
    path("projects/<uuid:project_uuid>/runs/", runs.Runs.as_view(), name="runs"),
    path("projects/<uuid:project_uuid>/leaderboard/", runs.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<uuid:project_uuid>/features/", features.FeatureSets.as_view(), name="features"),
    path("runs/<uuid:run_uuid>/", runs.OneRun.as_view(), name="run"),
]
