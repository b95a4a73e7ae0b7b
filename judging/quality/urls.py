"""Agreement and alerts."""

from django.urls import path

from judging.quality import views

urlpatterns = [
    path("quality/<uuid:project_uuid>/agreement/", views.agreement, name="agreement"),
    path("quality/<uuid:project_uuid>/agreement/compute/", views.agreement_compute, name="agreement-compute"),
    path("quality/<uuid:project_uuid>/agreement/table.csv", views.agreement_csv, name="agreement-csv"),
    path("quality/<uuid:project_uuid>/agreement/<int:number>/", views.agreement_of, name="agreement-of"),
    path("quality/<uuid:project_uuid>/alerts/", views.alerts, name="alerts"),
    path("alerts/<uuid:alert_uuid>/", views.alert, name="alert"),
    path("alerts/<uuid:alert_uuid>/see/", views.alert_see, name="alert-see"),
]
