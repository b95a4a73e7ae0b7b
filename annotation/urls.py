from django.urls import path

from annotation import import_views, views

app_name = "annotation"
urlpatterns = [
    path("", import_views.corpora, name="corpora"),
    path("import/", import_views.import_new, name="import-new"),
    path("imports/<uuid:import_uuid>/", import_views.import_page, name="import"),
    path("imports/<uuid:import_uuid>/confirm/", import_views.import_confirm, name="import-confirm"),
    path("imports/<uuid:import_uuid>/discard/", import_views.import_discard, name="import-discard"),
    path("imports/<uuid:import_uuid>/report.csv", import_views.import_report, name="import-report"),
    path("<uuid:project_uuid>/", views.corpus, name="corpus"),
]
