from django.urls import path

from models_runner.ground_truths import views

urlpatterns = [
    path("<uuid:project_uuid>/ground-truths/", views.ground_truths, name="ground-truths"),
    path("<uuid:project_uuid>/ground-truths/new/", views.ground_truth_new, name="ground-truth-new"),
    path("ground-truth/<uuid:truth_uuid>/", views.ground_truth, name="ground-truth"),
    path("ground-truth/<uuid:truth_uuid>/scores.csv", views.ground_truth_csv, name="ground-truth-csv"),
    path("ground-truth/<uuid:truth_uuid>/file/", views.ground_truth_file, name="ground-truth-file"),
    path("ground-truth/<uuid:truth_uuid>/delete/", views.ground_truth_delete, name="ground-truth-delete"),
    path("ground-truth/<uuid:truth_uuid>/upload/", views.truth_run_new, name="truth-run-new"),
    path("truth-run/<uuid:run_uuid>/", views.truth_run, name="truth-run"),
    path("truth-run/<uuid:run_uuid>/download/", views.truth_run_download, name="truth-run-download"),
    path("truth-run/<uuid:run_uuid>/withdraw/", views.truth_run_withdraw, name="truth-run-withdraw"),
]
