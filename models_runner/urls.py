from django.urls import path

from models_runner import views

app_name = "models_runner"
urlpatterns = [
    path("<uuid:project_uuid>/", views.runs, name="runs"),
    path("<uuid:project_uuid>/new/", views.similarity_run_create, name="run-create"),
    path("<uuid:run_uuid>/download/", views.run_download, name="run-download"),
]
