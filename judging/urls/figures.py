"""Figures of the judging."""

from django.urls import path

from judging.views.figures import pages

urlpatterns = [
    path("figures/<uuid:project_uuid>/", pages.figures, name="figures"),
    path("figures/<uuid:project_uuid>/<slug:name>/", pages.figure, name="figure"),
    path("figures/<uuid:project_uuid>/<slug:name>.svg", pages.figure_svg, name="figure-svg"),
    path("figures/<uuid:project_uuid>/<slug:name>.csv", pages.figure_csv, name="figure-csv"),
]
