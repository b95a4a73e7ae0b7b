from django.urls import path

from judging.audit import views

urlpatterns = [
    path("audit/<uuid:project_uuid>/", views.audit, name="audit"),
    path("audit/<uuid:project_uuid>/audit.csv", views.audit_csv, name="audit-csv"),
    path("audit/<uuid:project_uuid>/versions/", views.versions, name="audit-versions"),
    path("audit/<uuid:project_uuid>/versions.csv", views.versions_csv, name="audit-versions-csv"),
]
