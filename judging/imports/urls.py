from django.urls import path

from judging.imports import views

urlpatterns = [
    path("judgments/imports/", views.imports, name="judgment-imports"),
    path("judgments/imports/new/", views.import_new, name="judgment-import-new"),
    path("judgments/imports/<uuid:import_uuid>/", views.import_page, name="judgment-import"),
    path("judgments/imports/<uuid:import_uuid>/confirm/", views.import_confirm, name="judgment-import-confirm"),
    path("judgments/imports/<uuid:import_uuid>/discard/", views.import_discard, name="judgment-import-discard"),
    path("judgments/imports/<uuid:import_uuid>/report.csv", views.import_report, name="judgment-import-report"),
]
