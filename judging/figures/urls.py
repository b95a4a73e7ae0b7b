from django.urls import path

from judging.figures import views

urlpatterns = [
    path("figures/<uuid:project_uuid>/", views.figures, name="figures"),
    path("figures/<uuid:project_uuid>/tables/", views.tables, name="tables"),
    path("figures/<uuid:project_uuid>/tables.csv", views.tables_csv, name="tables-csv"),
    path("figures/<uuid:project_uuid>/tables.tex", views.tables_tex, name="tables-tex"),
    path("figures/<uuid:project_uuid>/<slug:name>/", views.figure, name="figure"),
    path("figures/<uuid:project_uuid>/<slug:name>.svg", views.figure_svg, name="figure-svg"),
    path("figures/<uuid:project_uuid>/<slug:name>.csv", views.figure_csv, name="figure-csv"),
]
