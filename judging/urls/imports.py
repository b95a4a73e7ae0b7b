"""Judgments of another tool, on their way into a project."""

from django.urls import path

from judging.views import imports

urlpatterns = [
    path("judgments/imports/", imports.imports, name="judgment-imports"),
    path("judgments/imports/new/", imports.import_new, name="judgment-import-new"),
    path("judgments/imports/<uuid:import_uuid>/", imports.import_page, name="judgment-import"),
    path("judgments/imports/<uuid:import_uuid>/confirm/", imports.import_confirm, name="judgment-import-confirm"),
    path("judgments/imports/<uuid:import_uuid>/discard/", imports.import_discard, name="judgment-import-discard"),
    path("judgments/imports/<uuid:import_uuid>/report.csv", imports.import_report, name="judgment-import-report"),
]
