"""Hours and money: the lead's pages, and an annotator's own."""

from django.urls import path

from judging.views import forecast, hours, pay

urlpatterns = [
    path("pay/<uuid:project_uuid>/", pay.pay, name="pay"),
    path("pay/<uuid:project_uuid>/pay.csv", pay.pay_csv, name="pay-csv"),
    path("pay/<uuid:project_uuid>/rate/", pay.rate_set, name="pay-rate-set"),
    path("pay/<uuid:project_uuid>/correction/", pay.correct, name="hours-correct"),
    path("pay/<uuid:project_uuid>/annotators/<int:number>/", pay.person, name="pay-person"),
    path("pay/<uuid:project_uuid>/annotators/<int:number>/days.csv", pay.person_csv, name="pay-person-csv"),
    path("forecast/<uuid:project_uuid>/", forecast.forecast, name="forecast"),
    path("hours/<uuid:project_uuid>/", hours.hours, name="hours"),
    path("hours/<uuid:project_uuid>/days.csv", hours.hours_csv, name="hours-csv"),
]
