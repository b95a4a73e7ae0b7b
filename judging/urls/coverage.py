"""Coverage studies live beside the queries they are of."""

from django.urls import path

from judging.views import coverage

urlpatterns = [
    path("queries/<uuid:project_uuid>/coverage/", coverage.studies, name="coverage"),
    path("queries/<uuid:project_uuid>/coverage/new/", coverage.study_create, name="coverage-create"),
    path("coverage/<uuid:study_uuid>/", coverage.study, name="coverage-study"),
    path("coverage/<uuid:study_uuid>/open/", coverage.study_open, name="coverage-open"),
    path("coverage/<uuid:study_uuid>/discard/", coverage.study_discard, name="coverage-discard"),
    path("coverage/<uuid:study_uuid>/coverage.svg", coverage.study_svg, name="coverage-svg"),
    path("coverage/<uuid:study_uuid>/coverage.csv", coverage.study_csv, name="coverage-csv"),
]
