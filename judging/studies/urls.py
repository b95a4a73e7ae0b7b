from django.urls import path

from judging.studies import views

urlpatterns = [
    path("queries/<uuid:project_uuid>/coverage/", views.studies, name="coverage"),
    path("queries/<uuid:project_uuid>/coverage/new/", views.study_create, name="coverage-create"),
    path("coverage/<uuid:study_uuid>/", views.study, name="coverage-study"),
    path("coverage/<uuid:study_uuid>/open/", views.study_open, name="coverage-open"),
    path("coverage/<uuid:study_uuid>/discard/", views.study_discard, name="coverage-discard"),
    path("coverage/<uuid:study_uuid>/coverage.svg", views.study_svg, name="coverage-svg"),
    path("coverage/<uuid:study_uuid>/coverage.csv", views.study_csv, name="coverage-csv"),
]
