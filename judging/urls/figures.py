"""Figures of the judging."""

from django.urls import path

from judging.views import tables
from judging.views.figures import pages

urlpatterns = [
    path("figures/<uuid:project_uuid>/", pages.figures, name="figures"),
    path("figures/<uuid:project_uuid>/tables/", tables.tables, name="tables"),
    path("figures/<uuid:project_uuid>/tables.csv", tables.tables_csv, name="tables-csv"),
    path("figures/<uuid:project_uuid>/tables.tex", tables.tables_tex, name="tables-tex"),
    path("figures/<uuid:project_uuid>/<slug:name>/", pages.figure, name="figure"),
    path("figures/<uuid:project_uuid>/<slug:name>.svg", pages.figure_svg, name="figure-svg"),
    path("figures/<uuid:project_uuid>/<slug:name>.csv", pages.figure_csv, name="figure-csv"),
]
