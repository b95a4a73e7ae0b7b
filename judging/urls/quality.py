"""Agreement and alerts."""

from django.urls import path

from judging.views import agreement

urlpatterns = [
    path("quality/<uuid:project_uuid>/agreement/", agreement.agreement, name="agreement"),
    path("quality/<uuid:project_uuid>/agreement/compute/", agreement.agreement_compute, name="agreement-compute"),
    path("quality/<uuid:project_uuid>/agreement/table.csv", agreement.agreement_csv, name="agreement-csv"),
    path("quality/<uuid:project_uuid>/agreement/<int:number>/", agreement.agreement_of, name="agreement-of"),
    path("quality/<uuid:project_uuid>/alerts/", agreement.alerts, name="alerts"),
    path("alerts/<uuid:alert_uuid>/", agreement.alert, name="alert"),
    path("alerts/<uuid:alert_uuid>/see/", agreement.alert_see, name="alert-see"),
]
