"""Figures of the judging."""

from django.urls import path

from judging.figures import tables, views

urlpatterns = [
    path("figures/<uuid:project_uuid>/", views.figures, name="figures"),
    path("figures/<uuid:project_uuid>/tables/", tables.tables, name="tables"),
    path("figures/<uuid:project_uuid>/tables.csv", tables.tables_csv, name="tables-csv"),
    path("figures/<uuid:project_uuid>/tables.tex", tables.tables_tex, name="tables-tex"),
    path("figures/<uuid:project_uuid>/<slug:name>/", views.figure, name="figure"),
    path("figures/<uuid:project_uuid>/<slug:name>.svg", views.figure_svg, name="figure-svg"),
    path("figures/<uuid:project_uuid>/<slug:name>.csv", views.figure_csv, name="figure-csv"),
]
