from django.urls import path

from models_runner.api import runs, searching

urlpatterns = [
    path("projects/<uuid:project_uuid>/runs/", runs.Runs.as_view(), name="runs"),
    path("projects/<uuid:project_uuid>/leaderboard/", runs.Leaderboard.as_view(), name="leaderboard"),
    path("projects/<uuid:project_uuid>/search/", searching.Search.as_view(), name="search"),
    path("runs/<uuid:run_uuid>/", runs.OneRun.as_view(), name="run"),
]
